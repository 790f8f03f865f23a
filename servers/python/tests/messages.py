"""JSON-RPC messages as text, so that numbers and escapes stay as they are written."""

import json
from typing import Any

import httpx2
from starlette.testclient import TestClient

BASE_URL = "http://127.0.0.1:8082"

HEADERS = {
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
    "MCP-Protocol-Version": "2025-11-25",
}

INITIALIZE = """{"jsonrpc":"2.0","id":0,"method":"initialize","params":
{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"""


def request(method: str, params: str | None = None, request_id: str = '"t-1"') -> str:
    """Return a request; `params` and `request_id` are JSON text."""
    member = "" if params is None else f',"params":{params}'
    return f'{{"jsonrpc":"2.0","id":{request_id},"method":{json.dumps(method)}{member}}}'


def call(tool: str, arguments: str | None) -> str:
    """Return a tools/call; `arguments` is JSON text."""
    member = "" if arguments is None else f',"arguments":{arguments}'
    return request("tools/call", f'{{"name":{json.dumps(tool)}{member}}}')


def post(client: TestClient, body: str | bytes, **headers: str) -> httpx2.Response:
    """POST a message to /mcp."""
    return client.post("/mcp", content=body, headers=HEADERS | headers)


def result(response: httpx2.Response) -> dict[str, Any]:
    """Return the result of a response that must be one."""
    assert response.status_code == 200
    body = response.json()
    assert body["id"] == "t-1"
    assert isinstance(body.get("result"), dict), body
    return dict(body["result"])
