"""Start the server: python -m mcp_parity_server."""

import signal
import sys
from contextlib import nullcontext

import uvicorn

from . import logs, metrics, settings
from .settings import DRAIN_SECONDS, Settings, SettingsError

KEEP_ALIVE_SECONDS = 75
"""How long an idle connection stays open; longer than the pause of a client between two calls."""


def main() -> None:
    """Run until SIGTERM or the end of standard input. Exits with 2 if a variable has a wrong value."""
    # uvicorn finishes what is in flight and then raises the signal again, for the handler that was there before.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        config = settings.load()
    except SettingsError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
    logs.configure(config.log_level)
    if config.transport == "stdio":
        # Here and not above: it takes most of the time to start, and the parent of several workers never needs it.
        from . import stdio

        stdio.serve(config)
    else:
        _serve_http(config)


def _serve_http(config: Settings) -> None:
    with metrics.shared_by_processes() if config.workers > 1 else nullcontext():
        uvicorn.run(
            "mcp_parity_server.app:create_app",
            factory=True,
            host=config.host,
            port=config.port,
            workers=config.workers,
            loop="uvloop",
            http="httptools",
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=DRAIN_SECONDS,
        )


if __name__ == "__main__":
    main()
