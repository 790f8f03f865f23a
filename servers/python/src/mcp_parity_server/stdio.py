"""The stdio transport."""

import anyio

from . import logs
from .server import create_server
from .settings import Settings


def serve(config: Settings) -> None:
    """Serve one client on standard input and output until the input ends."""
    logs.configure(config.log_level)
    server = create_server(config.upstream_url)
    anyio.run(server.run_stdio_async, False)
