"""What the four tools do. Nothing here knows MCP: arguments in, structured content out."""

import asyncio
from typing import Any

from .arguments import FetchArguments, FibonacciArguments, ProcessArguments, QueryArguments
from .upstream import Upstream

MAX_DEPTH = 64
"""How many levels of nested objects and arrays process_json_data takes."""

MAX_MAGNITUDE = 2**53 - 1
"""The largest magnitude of a number in process_json_data: beyond it not every language returns an integer unchanged."""


class ArgumentError(Exception):
    """An argument is as its schema wants it, but not as its tool does; the text names it."""


def fibonacci(n: int) -> int:
    """Return the n-th Fibonacci number by plain double recursion: it stands for CPU work."""
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


async def calculate_fibonacci(arguments: FibonacciArguments) -> dict[str, Any]:
    """Compute in a worker thread, so that other calls go on meanwhile."""
    return {"n": arguments.n, "result": await asyncio.to_thread(fibonacci, arguments.n)}


async def fetch_external_data(arguments: FetchArguments, upstream: Upstream) -> dict[str, Any]:
    """Ask the upstream service. Raises UpstreamError if it gives no usable answer."""
    status, body = await upstream.fetch(arguments.endpoint)
    return {"endpoint": arguments.endpoint, "status": status, "body": body}


async def process_json_data(arguments: ProcessArguments) -> dict[str, Any]:
    """Transform and count. Raises ArgumentError if `data` is too deep or has a number that is too large."""
    counts = dict.fromkeys(("objects", "arrays", "strings", "numbers", "booleans", "nulls"), 0)
    deepest = 0

    def upper(value: Any, depth: int) -> Any:
        nonlocal deepest
        match value:
            case str():
                counts["strings"] += 1
                # On bytes, upper() knows only ASCII: letters of other scripts stay as they are.
                return value.encode().upper().decode()
            case bool():
                counts["booleans"] += 1
            case int() | float():
                counts["numbers"] += 1
                if abs(value) > MAX_MAGNITUDE:
                    raise ArgumentError(f"data: a number is larger in magnitude than {MAX_MAGNITUDE}")
            case None:
                counts["nulls"] += 1
            case _:
                depth += 1
                deepest = max(deepest, depth)
                if depth > MAX_DEPTH:
                    raise ArgumentError(f"data: is nested more than {MAX_DEPTH} levels deep")
                if isinstance(value, dict):
                    counts["objects"] += 1
                    return {key: upper(member, depth) for key, member in value.items()}
                counts["arrays"] += 1
                return [upper(item, depth) for item in value]
        return value

    data = upper(arguments.data, 0)
    return {"keys": sorted(data), "data": data, "counts": counts, "depth": deepest}


async def simulate_db_query(arguments: QueryArguments) -> dict[str, Any]:
    """Wait like a database would, then return rows that depend only on their index."""
    await asyncio.sleep(arguments.delay_ms / 1000)
    rows = [{"id": i, "name": f"row-{i}", "value": (i * 37) % 1000} for i in range(arguments.rows)]
    return {"query": arguments.query, "delay_ms": arguments.delay_ms, "rows": rows}
