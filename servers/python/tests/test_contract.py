"""What the server has of the contract is the contract's."""

import json
from pathlib import Path
from typing import Any

import pytest
from vectors import CONTRACT

import mcp_parity_server
from mcp_parity_server import contract
from mcp_parity_server.arguments import (
    Arguments,
    FetchArguments,
    FibonacciArguments,
    ProcessArguments,
    QueryArguments,
)


def test_tool_files_are_copies() -> None:
    copies = Path(mcp_parity_server.__file__).parent / "tools"
    want = {file.name: file.read_bytes() for file in (CONTRACT / "tools").glob("*.json")}
    assert want
    assert {file.name: file.read_bytes() for file in copies.iterdir()} == want


def test_definitions_are_sorted_and_complete() -> None:
    names = list(contract.definitions())
    assert names == sorted(file.stem for file in (CONTRACT / "tools").glob("*.json"))
    for name, definition in contract.definitions().items():
        want = json.loads((CONTRACT / "tools" / f"{name}.json").read_text(encoding="utf-8"))
        assert definition.model_dump(mode="json", by_alias=True, exclude_none=True) == want


@pytest.mark.parametrize(
    ("tool", "model"),
    [
        ("calculate_fibonacci", FibonacciArguments),
        ("fetch_external_data", FetchArguments),
        ("process_json_data", ProcessArguments),
        ("simulate_db_query", QueryArguments),
    ],
)
def test_arguments_have_the_limits_of_the_schema(tool: str, model: type[Arguments]) -> None:
    got = _limits(model.model_json_schema())
    # A dict of anything is written as an object whose other members may be anything.
    for member in got["properties"].values():
        if member.get("type") == "object":
            assert member.pop("additionalProperties") is True
    assert got == _limits(contract.definitions()[tool].input_schema)


def _limits(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema without what is only for readers."""
    limits = {key: value for key, value in schema.items() if key not in ("title", "description")}
    limits["properties"] = {
        name: {key: value for key, value in member.items() if key not in ("title", "description")}
        for name, member in schema["properties"].items()
    }
    return limits
