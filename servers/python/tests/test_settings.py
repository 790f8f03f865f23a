"""The environment variables: defaults, values, and what is said about wrong ones."""

import subprocess
import sys

import pytest

from mcp_parity_server import settings
from mcp_parity_server.settings import SettingsError


def test_defaults() -> None:
    config = settings.load()
    assert config.model_dump() == {
        "host": "127.0.0.1",
        "port": 8082,
        "upstream_url": "http://127.0.0.1:8090",
        "sessions": "stateless",
        "transport": "http",
        "workers": 1,
        "log_level": "info",
    }


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HOST", ""),
        ("HOST", "no host"),
        ("PORT", ""),
        ("PORT", "0"),
        ("PORT", "65536"),
        ("PORT", "http"),
        ("UPSTREAM_URL", "ftp://127.0.0.1"),
        ("UPSTREAM_URL", "http://"),
        ("UPSTREAM_URL", "http://127.0.0.1:8090/"),
        ("UPSTREAM_URL", "http://127.0.0.1:99999"),
        ("UPSTREAM_URL", "http://127.0.0.1:8090?x=1"),
        ("MCP_SESSIONS", "sticky"),
        ("MCP_TRANSPORT", "tcp"),
        ("WORKERS", "0"),
        ("WORKERS", "-1"),
        ("WORKERS", "two"),
        ("LOG_LEVEL", "INFO"),
    ],
)
def test_wrong_value_names_variable_value_and_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError) as caught:
        settings.load()
    assert str(caught.value).startswith(f"{variable} is {value!r}: use ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("variable", "value"), [("MCP_SESSIONS", "stateful"), ("MCP_TRANSPORT", "stdio")])
def test_several_workers_have_no_sessions(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.setenv("WORKERS", "2")
    assert settings.load().workers == 2
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError, match=r"^WORKERS is '2': use "):
        settings.load()


def test_every_wrong_value_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", "x")
    monkeypatch.setenv("LOG_LEVEL", "y")
    with pytest.raises(SettingsError, match=r"^PORT .*\nLOG_LEVEL ") as caught:
        settings.load()
    assert len(str(caught.value).splitlines()) == 2


@pytest.mark.parametrize(
    ("host", "one"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False)]
)
def test_whether_the_host_is_one_address(monkeypatch: pytest.MonkeyPatch, host: str, one: bool) -> None:
    monkeypatch.setenv("HOST", host)
    assert settings.load().listens_on_one_address is one


def test_exit_code_is_2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_TRANSPORT", "carrier-pigeon")
    run = subprocess.run([sys.executable, "-m", "mcp_parity_server"], capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert run.stderr == "MCP_TRANSPORT is 'carrier-pigeon': use http, sse or stdio\n"
    assert run.stdout == ""
