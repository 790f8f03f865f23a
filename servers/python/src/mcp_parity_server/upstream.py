"""The upstream service that fetch_external_data asks."""

import asyncio
from typing import Any

import httpx2
from pydantic_core import from_json

TIMEOUT_SECONDS = 5.0
"""How long the whole exchange may take, from the first byte sent to the last one read."""

MAX_BODY_BYTES = 1_048_576
"""How large the body of an answer may be, decoded."""

# More than the clients of a load test, so that no call waits for a connection or opens one that is thrown away.
_POOL_SIZE = 256


class UpstreamError(Exception):
    """The upstream gave no usable answer; the text says why."""


class Upstream:
    """One HTTP client with pooled keep-alive connections, for the whole process."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url
        self._client = httpx2.AsyncClient(
            # The contract limits the whole exchange, which `fetch` does; the client's own timeouts are per read.
            timeout=None,
            limits=httpx2.Limits(max_connections=_POOL_SIZE, max_keepalive_connections=_POOL_SIZE, keepalive_expiry=60),
            follow_redirects=False,
            # No proxy, no .netrc: the one host that is ever asked is the configured one.
            trust_env=False,
        )

    async def fetch(self, path: str) -> tuple[int, Any]:
        """GET `path` and return the HTTP status and the parsed JSON body.

        Raises UpstreamError if the upstream cannot be reached, is too slow, or its body is too large or not JSON.
        """
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                async with self._client.stream("GET", self._base_url + path) as response:
                    body = bytearray()
                    async for chunk in response.aiter_bytes():
                        body += chunk
                        if len(body) > MAX_BODY_BYTES:
                            raise UpstreamError(f"the upstream's body is larger than {MAX_BODY_BYTES} bytes")
        except TimeoutError as error:
            raise UpstreamError(f"the upstream did not answer within {TIMEOUT_SECONDS:g} s") from error
        except httpx2.HTTPError as error:
            raise UpstreamError(f"the upstream could not be reached or broke off: {error}") from error
        try:
            return response.status_code, from_json(bytes(body), allow_inf_nan=False)
        except ValueError as error:
            raise UpstreamError(f"the upstream's body is not JSON: {error}") from error

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()
