"""What all tests share."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from messages import BASE_URL
from starlette.testclient import TestClient

from mcp_parity_server.app import create_app

Start = Callable[..., TestClient]


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HOST", "PORT", "UPSTREAM_URL", "MCP_SESSIONS", "MCP_TRANSPORT", "WORKERS", "LOG_LEVEL"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Return a function that starts the application in this process, with variables, and returns a client of it."""
    with ExitStack() as running:

        def started(**environment: str) -> TestClient:
            for variable, value in environment.items():
                monkeypatch.setenv(variable, value)
            return running.enter_context(TestClient(create_app(), base_url=BASE_URL))

        yield started
