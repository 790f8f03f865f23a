"""Prometheus metrics. With several workers each process writes to files, and a scrape adds them up."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, Counter, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

_DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"

tool_calls = Counter("mcp_tool_calls", "Calls of known tools, by tool and outcome (ok or error).", ["tool", "outcome"])

content_type = CONTENT_TYPE_LATEST


def render() -> bytes:
    """Return the metrics of all processes of this server in Prometheus text format."""
    if _DIRECTORY not in os.environ:
        return generate_latest(REGISTRY)
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)


@contextmanager
def shared_by_processes() -> Iterator[None]:
    """Give the worker processes that are started inside it a place to share their metrics."""
    with TemporaryDirectory(prefix="mcp-parity-metrics-") as directory:
        os.environ[_DIRECTORY] = directory
        try:
            yield
        finally:
            del os.environ[_DIRECTORY]
