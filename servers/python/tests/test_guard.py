"""The checks on an HTTP request that need no SDK: each refusal, its order, and what is passed on."""

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from mcp_parity_server.guard import MAX_BODY_BYTES, HostGuard, MessageGuard

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
GOOD = {"host": "127.0.0.1:8082", "accept": "application/json, text/event-stream", "content-type": "application/json"}


class App:
    """Stands for the SDK: answers 200 and keeps what it was given."""

    def __init__(self) -> None:
        self.headers: dict[bytes, bytes] = {}
        self.body = b""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        self.headers = dict(scope["headers"])
        message = await receive()
        assert not message["more_body"]
        self.body = message["body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


def status(
    chunks: Iterable[bytes] = (PING,), method: str = "POST", methods: Iterable[str] = ("POST",), **headers: str | None
) -> tuple[int, App]:
    """Send a request through the guards; a header that is None is left out."""
    app = App()
    sent: list[Message] = []
    parts = list(chunks)
    pending: list[Message] = [
        {"type": "http.request", "body": part, "more_body": i < len(parts) - 1} for i, part in enumerate(parts)
    ]
    given = GOOD | {name.replace("_", "-"): value for name, value in headers.items()}
    scope: Scope = {
        "type": "http",
        "method": method,
        "path": "/mcp",
        "headers": [(name.encode(), value.encode()) for name, value in given.items() if value is not None],
    }

    async def receive() -> Message:
        return pending.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    guard = HostGuard(MessageGuard(app, methods), ["localhost", "127.0.0.1", "::1"])
    asyncio.run(guard(scope, receive, send))
    return int(sent[0]["status"]), app


def test_a_good_request_is_passed_on() -> None:
    code, app = status([PING[:10], PING[10:]])
    assert code == 200
    assert app.body == PING


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]", "[::1]:80", "localhost:"])
def test_local_hosts(host: str) -> None:
    assert status(host=host)[0] == 200


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        "evil.example",
        "localhost.evil.example:80",
        "127.0.0.1.evil.example",
        "evil@localhost",
        "::1",
        "localhost:80:80",
    ],
)
def test_foreign_hosts(host: str | None) -> None:
    assert status(host=host)[0] == 403


@pytest.mark.parametrize("origin", [None, "http://localhost:6274", "https://127.0.0.1", "http://[::1]:3000"])
def test_local_origins(origin: str | None) -> None:
    assert status(origin=origin)[0] == 200


@pytest.mark.parametrize(
    "origin",
    ["null", "", "https://evil.example", "http://localhost.evil.example", "http://localhost@evil.example", "http://["],
)
def test_foreign_origins(origin: str) -> None:
    assert status(origin=origin)[0] == 403


@pytest.mark.parametrize(
    "accept",
    [
        None,
        "*/*",
        "application/*, text/*",
        "text/event-stream;q=0.5, application/json; q=0.9",
        "Application/JSON, Text/Event-Stream",
        "application/json, */*;q=0.1",
    ],
)
def test_accept_allows_both(accept: str | None) -> None:
    assert status(accept=accept)[0] == 200


@pytest.mark.parametrize(
    "accept",
    [
        "",
        "application/json",
        "text/event-stream",
        "text/html",
        "application/json;q=0, */*",
        "*/*;q=0.0",
        "application/jsonx, text/*",
    ],
)
def test_accept_lacks_one(accept: str) -> None:
    assert status(accept=accept)[0] == 406


@pytest.mark.parametrize(
    "content_type", ["application/json; charset=utf-8", "Application/JSON", "application/json ;x=y"]
)
def test_json_content_types(content_type: str) -> None:
    code, app = status(content_type=content_type)
    assert code == 200
    assert app.headers[b"content-type"] == b"application/json"


@pytest.mark.parametrize("content_type", [None, "", "text/plain", "application/jsonx", "application/json-rpc"])
def test_other_content_types(content_type: str | None) -> None:
    assert status(content_type=content_type)[0] == 415


def test_the_sdk_gets_the_accept_header_that_it_wants() -> None:
    _, app = status(accept=None)
    assert app.headers[b"accept"] == b"application/json, text/event-stream"


def test_size() -> None:
    largest = PING + b" " * (MAX_BODY_BYTES - len(PING))
    assert status([largest], content_length=str(len(largest)))[0] == 200
    assert status([], content_length=str(len(largest) + 1))[0] == 413
    assert status([largest, b" "])[0] == 413
    # The rest is not waited for: there would be no more chunk to pop.
    assert status([largest + b" ", b""])[0] == 413


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS", "HEAD"])
def test_other_methods(method: str) -> None:
    assert status(method=method)[0] == 405


def test_methods_with_sessions() -> None:
    methods = ["POST", "GET", "DELETE"]
    assert status([b""], "GET", methods, content_type=None, accept="text/event-stream")[0] == 200
    assert status([b""], "DELETE", methods, content_type=None, accept=None)[0] == 200
    assert status([b""], "PUT", methods)[0] == 405


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"null",
        b"[]",
        b"[" + PING + b"]",
        b'"ping"',
        PING + b" x",
        PING[:-1],
        b"\xef\xbb\xbf" + PING,
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\\ud800"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\xff"}}',
        b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
        b'{"jsonrpc":2.0,"id":1,"method":"ping"}',
        b'{"id":1,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1}',
        b'{"jsonrpc":"2.0","id":1,"method":1}',
        b'{"jsonrpc":"2.0","result":{}}',
        b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":{},"method":"ping"}',
    ],
)
def test_malformed_messages(body: bytes) -> None:
    assert status([body])[0] == 400


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"2.0","id":"1","method":"ping"}',
        b'{"jsonrpc":"2.0","id":-9007199254740993,"method":"ping"}',
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":1e400}}',
    ],
)
def test_well_formed_messages(body: bytes) -> None:
    assert status([body])[0] == 200


def test_the_order_of_the_checks() -> None:
    wrong: dict[str, Any] = {
        "host": "evil.example",
        "origin": "null",
        "accept": "text/html",
        "content_type": "text/plain",
        "content_length": "9999999",
    }
    seen = [status([b""], "PUT", **wrong)[0]]
    for header in ("host", "origin"):
        del wrong[header]
        seen.append(status([b""], "PUT", **wrong)[0])
    for header in ("accept", "content_type", "content_length"):
        seen.append(status([b""], **wrong)[0])
        del wrong[header]
    seen.append(status([b""])[0])
    assert seen == [403, 403, 405, 406, 415, 413, 400]
