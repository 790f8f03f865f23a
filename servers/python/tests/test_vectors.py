"""The `call` vectors of the contract, through the whole server but the socket."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from messages import BASE_URL, call, post
from starlette.testclient import TestClient
from vectors import Call, calls, expand

from mcp_parity_server.app import create_app


def needs_upstream(vector: Call) -> bool:
    """Whether the upstream service is asked: then the answer is its, and the gate's to check (see test_upstream.py)."""
    return vector.tool == "fetch_external_data" and vector.expect.get("tool_error") not in ("endpoint", "timeout")


VECTORS = [vector for vector in calls() if not needs_upstream(vector)]


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    """One server for all vectors: what one call leaves behind would show in the next."""
    with TestClient(create_app(), base_url=BASE_URL) as client:
        yield client


def test_there_are_vectors() -> None:
    assert len(VECTORS) > 100


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.vector)
def test_vector(client: TestClient, vector: Call) -> None:
    response = post(client, call(vector.tool, vector.arguments))
    choices = vector.expect.get("any_of", [vector.expect])
    faults = [fault(choice, response.status_code, response.json()) for choice in choices]
    assert None in faults, faults


def fault(expect: dict[str, Any], status: int, body: dict[str, Any]) -> str | None:
    """Say how an answer differs from what is expected; None if it does not."""
    if expect.get("bad_request"):
        return None if status == 400 and body["error"]["code"] in (-32700, -32600) else f"no bad request: {body}"
    if status not in expect.get("status", [200]):
        return f"status {status}: {body}"
    if "rpc_error" in expect:
        return None if body.get("error", {}).get("code") in expect["rpc_error"] else f"no such error: {body}"
    got = body["result"]
    [block] = got["content"]
    if "tool_error" in expect:
        named = re.search(rf"(?<!\w){re.escape(expect['tool_error'])}(?!\w)", block["text"])
        return None if got["isError"] and "structuredContent" not in got and named else f"no tool error: {body}"
    want = json.loads(expand(expect["result"]))
    if not same(got["structuredContent"], want):
        return f"structuredContent is {got['structuredContent']}"
    return None if same(json.loads(block["text"]), want) else f"the text is {block['text']}"


def same(got: Any, want: Any) -> bool:
    """Compare two JSON values: for Python True is 1, for JSON it is not."""
    match got, want:
        case dict(), dict():
            return got.keys() == want.keys() and all(same(got[key], want[key]) for key in want)
        case list(), list():
            return len(got) == len(want) and all(map(same, got, want))
        case bool(), _:
            return got is want
        case _, bool():
            return False
    return bool(got == want)
