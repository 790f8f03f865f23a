"""Where log lines go and which are written."""

import logging.config

_LEVELS = {"debug": "DEBUG", "info": "INFO", "warn": "WARNING", "error": "ERROR"}


def configure(log_level: str) -> None:
    """Write log lines of `log_level` and above to standard error; standard output belongs to the stdio transport."""
    level = _LEVELS[log_level]
    # Libraries log at info what happens in every request: sessions, refusals, calls of the upstream service. What they
    # log as an error is a fault of the server.
    libraries = level if level == "DEBUG" else "ERROR"
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
            "handlers": {
                "stderr": {"class": "logging.StreamHandler", "stream": "ext://sys.stderr", "formatter": "line"}
            },
            "root": {"level": libraries, "handlers": ["stderr"]},
            "loggers": {
                # Start and stop; it has no line per request, since uvicorn's access log is off.
                "uvicorn.error": {"level": level},
            },
        }
    )
