"""The client of the upstream service, against a server that answers what the test says."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from mcp_parity_server import upstream
from mcp_parity_server.upstream import MAX_BODY_BYTES, Upstream, UpstreamError


class Service:
    """A server that sends the same bytes to each request, and counts connections and requests."""

    def __init__(self, answer: bytes, *, delay: float = 0) -> None:
        self.answer = answer
        self.delay = delay
        self.connections = 0
        self.requests: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        self.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.requests.append(head)
                await asyncio.sleep(self.delay)
                if not self.answer:
                    break
                writer.write(self.answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def answer(body: bytes, status: str = "200 OK", headers: str = "") -> bytes:
    """Return an HTTP answer."""
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body


@asynccontextmanager
async def client_of(service: Service) -> AsyncIterator[Upstream]:
    """Start the service and return a client of it."""
    server = await asyncio.start_server(service.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    client = Upstream(f"http://127.0.0.1:{port}")
    try:
        yield client
    finally:
        await client.close()
        server.close()


def with_client(service: Service, test: Callable[[Upstream], Awaitable[None]]) -> None:
    """Run a test with a client of the service."""

    async def run() -> None:
        async with client_of(service) as client:
            await test(client)

    asyncio.run(run())


@pytest.mark.parametrize("status", ["200 OK", "201 Created", "404 Not Found", "500 Internal Server Error"])
def test_every_status_is_an_answer(status: str) -> None:
    async def test(client: Upstream) -> None:
        assert await client.fetch("/x") == (int(status[:3]), {"a": [1, None]})

    with_client(Service(answer(b'{"a":[1,null]}', status)), test)


def test_connections_are_kept() -> None:
    service = Service(answer(b"1"))

    async def test(client: Upstream) -> None:
        for _ in range(5):
            assert await client.fetch("/items/1") == (200, 1)

    with_client(service, test)
    assert service.connections == 1
    assert len(service.requests) == 5
    assert service.requests[0].startswith(b"GET /items/1 HTTP/1.1\r\n")


def test_redirects_are_not_followed() -> None:
    service = Service(answer(b"{}", "302 Found", "Location: /elsewhere\r\n"))

    async def test(client: Upstream) -> None:
        assert await client.fetch("/x") == (302, {})

    with_client(service, test)
    assert len(service.requests) == 1


def test_body_of_the_largest_size() -> None:
    text = "a" * (MAX_BODY_BYTES - 2)

    async def test(client: Upstream) -> None:
        assert await client.fetch("/x") == (200, text)

    with_client(Service(answer(f'"{text}"'.encode())), test)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'"' + b"a" * (MAX_BODY_BYTES - 1) + b'"', "larger than"),
        (b"<html>", "not JSON"),
        (b"", "not JSON"),
        (b"NaN", "not JSON"),
        (b'"\\ud800"', "not JSON"),
        (b'"\xff"', "not JSON"),
    ],
    ids=["too-large", "html", "empty", "nan", "lone-surrogate", "not-utf-8"],
)
def test_unusable_bodies(body: bytes, message: str) -> None:
    async def test(client: Upstream) -> None:
        with pytest.raises(UpstreamError, match=message):
            await client.fetch("/x")

    with_client(Service(answer(body)), test)


def test_closed_connection_is_no_answer_and_no_retry() -> None:
    service = Service(b"")

    async def test(client: Upstream) -> None:
        with pytest.raises(UpstreamError, match="broke off"):
            await client.fetch("/x")

    with_client(service, test)
    assert len(service.requests) == 1


def test_slow_upstream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream, "TIMEOUT_SECONDS", 0.1)

    async def test(client: Upstream) -> None:
        with pytest.raises(UpstreamError, match=r"within 0\.1 s"):
            await client.fetch("/x")

    with_client(Service(answer(b"1"), delay=5), test)


def test_refused_connection() -> None:
    async def run() -> None:
        async with client_of(Service(b"")) as client:
            pass
        again = Upstream(client._base_url)
        with pytest.raises(UpstreamError, match="reached"):
            await again.fetch("/x")
        await again.close()

    asyncio.run(run())
