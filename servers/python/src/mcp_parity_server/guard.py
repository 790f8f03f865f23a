"""The contract's checks on an HTTP request, in its order, before the SDK sees it.

The SDK checks much of this too, but answers with other statuses, accepts more (a batch as an invalid parameter, NaN as
JSON, one of the two media types) or less (a missing Accept header).
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from mcp_types import INVALID_REQUEST, PARSE_ERROR
from pydantic_core import from_json
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY_BYTES = 4_194_304
"""How large the body of a request may be."""

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:/?#@\[\]]+)(:[0-9]*)?")

# The SDK compares media types letter by letter and wants a header where the contract does not. What has passed the
# checks here is passed on in the form that it knows.
_CANONICAL = [(b"accept", b"application/json, text/event-stream"), (b"content-type", b"application/json")]


class HostGuard:
    """Refuses a foreign Host or Origin with 403, which stops DNS rebinding."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the request and pass it on."""
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if _host_name(host) not in self._hosts:
            await PlainTextResponse("Forbidden: foreign Host", 403)(scope, receive, send)
        elif origin is not None and _origin_name(origin) not in self._hosts:
            await PlainTextResponse("Forbidden: foreign Origin", 403)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


class MessageGuard:
    """Checks method, Accept, Content-Type, size and JSON-RPC form of a request to the Streamable HTTP endpoint."""

    def __init__(self, app: ASGIApp, methods: Iterable[str]) -> None:
        self._app = app
        self._methods = frozenset(methods)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the request and pass it on, its body read."""
        if scope["method"] not in self._methods:
            allow = {"Allow": ", ".join(sorted(self._methods))}
            await PlainTextResponse("Method Not Allowed", 405, allow)(scope, receive, send)
            return
        if scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        refusal = _check_headers(Headers(scope=scope))
        if refusal is None:
            body = await _read(receive)
            if body is None:  # the client is gone
                return
            refusal = _check_message(body) if len(body) <= MAX_BODY_BYTES else _too_large()
        if refusal is not None:
            await refusal(scope, receive, send)
            return

        pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return pending.pop() if pending else await receive()

        headers = [header for header in scope["headers"] if header[0] not in (b"accept", b"content-type")]
        await self._app({**scope, "headers": headers + _CANONICAL}, replay, send)


@lru_cache(maxsize=256)
def _host_name(host: str) -> str | None:
    match = _HOST.fullmatch(host)
    return match[1].strip("[]").lower() if match else None


@lru_cache(maxsize=256)
def _origin_name(origin: str) -> str | None:
    try:
        return urlsplit(origin).hostname
    except ValueError:
        return None


def _check_headers(headers: Headers) -> Response | None:
    accept = headers.getlist("accept")
    if accept and not _accepts_both(", ".join(accept)):
        return PlainTextResponse("Not Acceptable: allow application/json and text/event-stream", 406)
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return PlainTextResponse("Unsupported Media Type: send application/json", 415)
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length) > MAX_BODY_BYTES:
        return _too_large()
    return None


@lru_cache(maxsize=256)
def _accepts_both(accept: str) -> bool:
    """Whether the header allows JSON and SSE; the most specific media range decides (RFC 9110, section 12.5.1)."""
    ranges: dict[str, bool] = {}
    for item in accept.lower().split(","):
        media_range, *parameters = (part.strip() for part in item.split(";"))
        ranges[media_range] = not any(re.fullmatch(r"q\s*=\s*0(\.0*)?", parameter) for parameter in parameters)
    any_type = ranges.get("*/*", False)
    return ranges.get("application/json", ranges.get("application/*", any_type)) and ranges.get(
        "text/event-stream", ranges.get("text/*", any_type)
    )


async def _read(receive: Receive) -> bytes | None:
    """Read the body, but no more than one chunk beyond the limit; None if the client went away."""
    body = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        chunk: bytes = message.get("body", b"")
        body = body + chunk if body else chunk
        if not message.get("more_body", False) or len(body) > MAX_BODY_BYTES:
            return body


def _too_large() -> Response:
    return PlainTextResponse(f"Content Too Large: a message has at most {MAX_BODY_BYTES} bytes", 413)


def _check_message(body: bytes) -> Response | None:
    try:
        message = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        return _rejected(PARSE_ERROR, f"Parse error: {error}")
    if not isinstance(message, dict):
        return _rejected(INVALID_REQUEST, "Invalid Request: not one JSON-RPC message (batches left the protocol)")
    if message.get("jsonrpc") != "2.0":
        return _rejected(INVALID_REQUEST, 'Invalid Request: jsonrpc is not "2.0"')
    if "id" in message and (isinstance(message["id"], bool) or not isinstance(message["id"], str | int)):
        return _rejected(INVALID_REQUEST, "Invalid Request: id is neither a string nor an integer")
    if "method" in message:
        well_formed = isinstance(message["method"], str)
    else:
        well_formed = "id" in message and ("result" in message or "error" in message)
    return None if well_formed else _rejected(INVALID_REQUEST, "Invalid Request: neither a request nor a response")


def _rejected(code: int, text: str) -> Response:
    error: dict[str, Any] = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": text}}
    return JSONResponse(error, 400)
