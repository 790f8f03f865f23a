"""The application in this process: plain endpoints, protocol, sessions, revision 2026-07-28."""

import json
import logging

import anyio
import mcp_types
import pytest
from conftest import Start
from messages import HEADERS, INITIALIZE, call, post, request, result
from starlette.testclient import TestClient
from vectors import CONTRACT

from mcp_parity_server import app as application
from mcp_parity_server.server import ContractTool

FIBONACCI = {"n": 10, "result": 55}


def test_plain_endpoints(start: Start) -> None:
    client = start()
    assert client.get("/healthz").status_code == 200
    hello = client.get("/hello")
    assert (hello.status_code, hello.text) == (200, "Hello!")
    assert hello.headers["content-type"].startswith("text/plain")
    assert client.get("/nowhere").status_code == 404


def test_floor(start: Start) -> None:
    client = start()
    got = client.post("/floor", content='{"jsonrpc":"2.0","id":"f","method":"m","params":{"a":[1,null]}}')
    assert got.headers["content-type"] == "application/json"
    assert got.json() == {"jsonrpc": "2.0", "id": "f", "result": {"a": [1, None]}}
    assert client.post("/floor", content="[").status_code == 400
    assert client.post("/floor", content="[]").status_code == 400


def test_metrics_count_calls(start: Start) -> None:
    client = start()

    def count(outcome: str) -> float:
        name = f'mcp_tool_calls_total{{outcome="{outcome}",tool="calculate_fibonacci"}} '
        lines = client.get("/metrics").text.splitlines()
        return float(next(line for line in lines if line.startswith(name)).removeprefix(name))

    good, bad = count("ok"), count("error")
    result(post(client, call("calculate_fibonacci", '{"n":1}')))
    result(post(client, call("calculate_fibonacci", '{"n":-1}')))
    assert (count("ok"), count("error")) == (good + 1, bad + 1)


def test_tools_list_is_the_contract(start: Start) -> None:
    client = start()
    want = [json.loads(file.read_text(encoding="utf-8")) for file in sorted((CONTRACT / "tools").glob("*.json"))]
    assert result(post(client, request("tools/list"))) == {"tools": want}


@pytest.mark.parametrize("cursor", ['"bogus"', '"MQ=="', "1"])
def test_unknown_cursor(start: Start, cursor: str) -> None:
    got = post(start(), request("tools/list", f'{{"cursor":{cursor}}}'))
    assert got.json()["error"]["code"] == -32602


def test_unknown_tool_is_a_protocol_error(start: Start) -> None:
    got = post(start(), call("no_such_tool", "{}"))
    assert (got.status_code, got.json()["error"]["code"]) == (200, -32602)


@pytest.mark.parametrize("arguments", ["null", "[]", '"{}"', "1"])
def test_arguments_that_are_no_object(start: Start, arguments: str) -> None:
    got = post(start(), call("calculate_fibonacci", arguments))
    assert got.json()["error"]["code"] == -32602


@pytest.mark.parametrize("method", ["no/such/method", "resources/list", "prompts/list", "logging/setLevel"])
def test_unknown_method(start: Start, method: str) -> None:
    got = post(start(), request(method, "{}" if method != "logging/setLevel" else '{"level":"info"}'))
    assert (got.status_code, got.json()["error"]["code"]) == (200, -32601)


def test_initialize_offers_tools_only(start: Start) -> None:
    got = post(start(), INITIALIZE).json()["result"]
    assert got["protocolVersion"] == "2025-11-25"
    assert list(got["capabilities"]) == ["tools"]


def test_ids_come_back_exactly(start: Start) -> None:
    client = start()
    for request_id in ("0", "-7", '"10"', "9007199254740993", '"\\u0000ß"'):
        got = post(client, request("ping", request_id=request_id)).json()
        assert got == {"jsonrpc": "2.0", "id": json.loads(request_id), "result": {}}


def test_nothing_is_logged_per_request(
    start: Start, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = start(MCP_SESSIONS="stateful", UPSTREAM_URL="http://127.0.0.1:1")
    # The application has replaced the handlers of the root logger, this one too.
    monkeypatch.setattr(logging.getLogger(), "handlers", [caplog.handler])
    session = open_session(client)
    for body in (
        call("calculate_fibonacci", '{"n":1}'),
        call("calculate_fibonacci", "{}"),
        call("fetch_external_data", '{"endpoint":"/x"}'),
        call("no_such_tool", "{}"),
        request("no/such/method"),
        "x",
    ):
        post(client, body, **session)
    post(client, request("ping"), **{"Mcp-Session-Id": "unknown"})
    assert [record for record in caplog.records if record.levelno >= logging.INFO] == []


def open_session(client: TestClient) -> dict[str, str]:
    """Return the header of a new session."""
    got = post(client, INITIALIZE)
    assert got.status_code == 200
    session = {"Mcp-Session-Id": got.headers["mcp-session-id"]}
    assert post(client, '{"jsonrpc":"2.0","method":"notifications/initialized"}', **session).status_code == 202
    return session


def test_sessions(start: Start) -> None:
    client = start(MCP_SESSIONS="stateful")
    session = open_session(client)
    body = call("calculate_fibonacci", '{"n":10}')
    assert result(post(client, body, **session))["structuredContent"] == FIBONACCI
    assert post(client, body).status_code == 400
    assert post(client, body, **{"Mcp-Session-Id": "unknown"}).status_code == 404
    assert client.delete("/mcp", headers=HEADERS | session).status_code == 200
    assert post(client, body, **session).status_code == 404


def test_an_idle_session_ends(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    assert application.SESSION_IDLE_SECONDS == 300
    monkeypatch.setattr(application, "SESSION_IDLE_SECONDS", 0.2)
    client = start(MCP_SESSIONS="stateful")
    session = open_session(client)
    assert post(client, request("ping"), **session).status_code == 200
    anyio.run(anyio.sleep, 0.5)
    assert post(client, request("ping"), **session).status_code == 404


def test_stateless_ignores_session_ids(start: Start) -> None:
    client = start()
    assert "mcp-session-id" not in post(client, INITIALIZE).headers
    assert post(client, request("ping"), **{"Mcp-Session-Id": "left-over"}).status_code == 200


META = (
    '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
)


def modern(method: str, name: str | None = None) -> dict[str, str]:
    """Return the headers that revision 2026-07-28 wants."""
    named = {} if name is None else {"Mcp-Name": name}
    return {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method} | named


def test_revision_2026_07_28(start: Start) -> None:
    client = start()
    params = f'{{{META},"name":"calculate_fibonacci","arguments":{{"n":10}}}}'
    got = post(client, request("tools/call", params), **modern("tools/call", "calculate_fibonacci"))
    assert result(got)["structuredContent"] == FIBONACCI
    got = post(client, request("tools/call", params), **modern("tools/call"))
    assert (got.status_code, got.json()["error"]["code"]) == (400, -32020)
    got = post(client, request("server/discover", f"{{{META}}}"), **modern("server/discover"))
    assert list(result(got)["capabilities"]) == ["tools", "extensions"]
    got = post(client, request("ping", f"{{{META}}}"), **modern("ping"))
    assert (got.status_code, got.json()["error"]["code"]) == (404, -32601)


def test_a_call_of_revision_2026_07_28_lists_no_tools(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[str] = []
    definition = ContractTool.to_mcp_tool

    def counted(tool: ContractTool, **overrides: object) -> mcp_types.Tool:
        listed.append(tool.name)
        return definition(tool, **overrides)

    monkeypatch.setattr(ContractTool, "to_mcp_tool", counted)
    client = start()
    params = f'{{{META},"name":"calculate_fibonacci","arguments":{{"n":10}}}}'
    got = post(client, request("tools/call", params), **modern("tools/call", "calculate_fibonacci"))
    assert result(got)["structuredContent"] == FIBONACCI
    assert listed == []
    post(client, request("tools/list", f"{{{META}}}"), **modern("tools/list"))
    assert len(listed) == 4


def test_the_value_of_host_is_a_local_name(start: Start) -> None:
    client = start(HOST="127.0.0.2")
    assert post(client, request("ping"), Host="127.0.0.2:8082").status_code == 200
    assert post(client, request("ping"), Host="127.0.0.3:8082").status_code == 403
