"""What a request costs in this server, layer by layer and with each setting undone.

    python bench/cost.py [seconds per case]

Each case starts the server anew on the first CPU and loads it from the last one with 10 connections, each sending its
next request when it has the answer. CPU time is the server process's own, from /proc. Cases take turns, so that what
else the machine does hits all of them.
"""

import asyncio
import gc
import os
import socket
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

CONNECTIONS = 10
ROUNDS = 3
WARM_UP_SECONDS = 1.0
META = (
    '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},'
)
INITIALIZE = """{"jsonrpc":"2.0","id":0,"method":"initialize","params":
{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"""


@dataclass(frozen=True)
class Case:
    """One thing to measure: a request, and a server."""

    name: str
    tool: str = "simulate_db_query"
    arguments: str = '{"query":"q","delay_ms":0,"rows":1}'
    path: str = "/mcp"
    revision: str = "2025-11-25"
    sessions: str = "stateless"
    undo: str = "nothing"


CASES = [
    Case("GET /hello", path="/hello"),
    Case("POST /floor", path="/floor"),
    Case("stateless"),
    Case("stateful", sessions="stateful"),
    Case("2026-07-28", revision="2026-07-28"),
    Case("stateless, garbage collection untuned", undo="gc"),
    Case("2026-07-28, schema found by tools/list", revision="2026-07-28", undo="lookup"),
    Case("fibonacci 20", tool="calculate_fibonacci", arguments='{"n":20}'),
    Case("fibonacci 20, on the event loop", tool="calculate_fibonacci", arguments='{"n":20}', undo="thread"),
]


def serve(undo: str) -> None:
    """Run the server with one of its settings undone. Runs in the child process."""
    import uvicorn
    from fastmcp import FastMCP

    from mcp_parity_server import app, server, tools
    from mcp_parity_server.arguments import FibonacciArguments

    if undo == "thread":

        async def on_the_loop(arguments: FibonacciArguments) -> dict[str, int]:
            return {"n": arguments.n, "result": tools.fibonacci(arguments.n)}

        tools.calculate_fibonacci = on_the_loop
    if undo == "lookup":
        build = server.create_server

        def without_lookup(upstream_url: str) -> FastMCP:
            built = build(upstream_url)
            built._mcp_server.get_tool_input_schema = None
            return built

        app.create_server = without_lookup  # type: ignore[attr-defined]
    application = app.create_app()
    if undo == "gc":
        gc.unfreeze()
        gc.set_threshold(700, 10, 10)
    port = int(os.environ["PORT"])
    uvicorn.run(application, port=port, loop="uvloop", http="httptools", ws="none", access_log=False, log_config=None)


def request(case: Case, number: int, session: str, body: str | None = None) -> bytes:
    """Return one HTTP request as bytes."""
    if case.path == "/hello":
        return b"GET /hello HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    if body is None:
        meta = META if case.revision == "2026-07-28" else ""
        params = f'{{{meta}"name":"{case.tool}","arguments":{case.arguments}}}'
        body = f'{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{params}}}'
    return (
        f"POST {case.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {case.revision}\r\n"
        f"Mcp-Method: tools/call\r\nMcp-Name: {case.tool}\r\n{session}Content-Length: {len(body)}\r\n\r\n{body}"
    ).encode()


async def exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, message: bytes
) -> tuple[dict[str, str], bytes]:
    """Send a request and return headers and body of its answer, which must be a good one."""
    writer.write(message)
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
    body = await reader.readexactly(int(headers["content-length"]))
    if head[0].split(" ")[1] not in ("200", "202") or b'"isError":true' in body or b'"error":' in body:
        raise RuntimeError(f"not a good answer: {head[0]} {body.decode()}")
    return headers, body


async def client(case: Case, port: int, until: float, latencies: list[float]) -> None:
    """Send requests on one connection until the time is over."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    session = ""
    if case.sessions == "stateful":
        headers, _ = await exchange(reader, writer, request(case, 0, "", INITIALIZE))
        session = f"Mcp-Session-Id: {headers['mcp-session-id']}\r\n"
        initialized = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
        await exchange(reader, writer, request(case, 0, session, initialized))
    number = 0
    while (start := time.perf_counter()) < until:
        number += 1
        await exchange(reader, writer, request(case, number, session))
        latencies.append(time.perf_counter() - start)
    writer.close()


async def load(case: Case, port: int, seconds: float) -> list[float]:
    """Load the server and return the latency of each call in seconds."""
    latencies: list[float] = []
    until = time.perf_counter() + seconds
    await asyncio.gather(*(client(case, port, until, latencies) for _ in range(CONNECTIONS)))
    return sorted(latencies)


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(case: Case, seconds: float) -> tuple[float, float, float, float]:
    """Return CPU microseconds per request, requests per second, and p50 and p99 in milliseconds."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = os.environ | {"PORT": str(port), "MCP_SESSIONS": case.sessions, "LOG_LEVEL": "error"}
    cpus = sorted(os.sched_getaffinity(0))
    with subprocess.Popen([sys.executable, __file__, "serve", case.undo], env=environment) as server:
        try:
            os.sched_setaffinity(server.pid, cpus[:1])
            os.sched_setaffinity(0, cpus[-1:])
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except ConnectionRefusedError:
                    if server.poll() is not None:
                        raise RuntimeError("the server did not start") from None
                    time.sleep(0.05)
            asyncio.run(load(case, port, WARM_UP_SECONDS))
            before = cpu_seconds(server.pid)
            latencies = asyncio.run(load(case, port, seconds))
            used = cpu_seconds(server.pid) - before
        finally:
            server.kill()
            os.sched_setaffinity(0, cpus)
    count = len(latencies)
    return used / count * 1e6, count / seconds, latencies[count // 2] * 1e3, latencies[count * 99 // 100] * 1e3


def main() -> None:
    """Measure all cases and print the medians of the rounds."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 4.0
    rounds: dict[Case, list[tuple[float, float, float, float]]] = {case: [] for case in CASES}
    for number in range(ROUNDS):
        for case in CASES:
            sys.stderr.write(f"round {number + 1} of {ROUNDS}: {case.name}\n")
            rounds[case].append(measure(case, seconds))
    sys.stdout.write("| case | CPU µs/request | requests/s | p50 ms | p99 ms |\n| --- | --: | --: | --: | --: |\n")
    for case, results in rounds.items():
        cpu, rate, p50, p99 = (statistics.median(column) for column in zip(*results, strict=True))
        sys.stdout.write(f"| {case.name} | {cpu:.0f} | {rate:.0f} | {p50:.1f} | {p99:.1f} |\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2])
    else:
        main()
