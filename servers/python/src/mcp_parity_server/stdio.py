"""The stdio transport."""

import os
import signal
from typing import Any

import anyio
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext

from .server import create_server
from .settings import DRAIN_SECONDS, Settings


class InFlight(Middleware):
    """Counts the requests that are being served."""

    def __init__(self) -> None:
        self.count = 0

    async def on_request(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        """Count one request while it is served."""
        self.count += 1
        try:
            return await call_next(context)
        finally:
            self.count -= 1


def serve(config: Settings) -> None:
    """Serve one client on standard input and output, until the input ends or SIGTERM."""
    anyio.run(_serve, config.upstream_url)


async def _serve(upstream_url: str) -> None:
    server = create_server(upstream_url)
    in_flight = InFlight()
    server.add_middleware(in_flight)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_exit_on_sigterm, in_flight)
        await server.run_stdio_async(show_banner=False)
        tasks.cancel_scope.cancel()


async def _exit_on_sigterm(in_flight: InFlight) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM) as signals:
        await anext(aiter(signals))
    with anyio.move_on_after(DRAIN_SECONDS):
        while in_flight.count:  # noqa: ASYNC110
            await anyio.sleep(0.02)
        # The SDK writes the last answer in a task of its own.
        await anyio.sleep(0.1)
    # The SDK's thread that waits for a line of input cannot be stopped, and a normal exit would wait for it.
    os._exit(0)
