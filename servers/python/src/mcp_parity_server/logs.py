"""Where log lines go and which are written."""

import logging.config

_LEVELS = {"debug": "DEBUG", "info": "INFO", "warn": "WARNING", "error": "ERROR"}


def configure(log_level: str) -> None:
    """Write log lines of `log_level` and above to standard error; standard output belongs to the stdio transport."""
    level = _LEVELS[log_level]
    # The SDK logs sessions at info and refused requests at warning: one line per request. What it logs as an error
    # is a fault of the server.
    sdk = {"level": level if level == "DEBUG" else "ERROR", "handlers": [], "propagate": True}
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
            "handlers": {
                "stderr": {"class": "logging.StreamHandler", "stream": "ext://sys.stderr", "formatter": "line"}
            },
            "loggers": {"mcp": sdk, "fastmcp": sdk},
            "root": {"level": level, "handlers": ["stderr"]},
        }
    )
