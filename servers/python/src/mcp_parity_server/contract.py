"""The tool definitions of the contract, as they stand in contract/tools of this repository."""

from functools import cache
from importlib.resources import files

from mcp_types import Tool


@cache
def definitions() -> dict[str, Tool]:
    """Return the tool definitions by name, sorted by name.

    The files in `tools/` are copies of contract/tools; a test proves that they are equal.
    """
    folder = files(__package__) / "tools"
    tools = [Tool.model_validate_json(file.read_bytes()) for file in folder.iterdir() if file.name.endswith(".json")]
    return {tool.name: tool for tool in sorted(tools, key=lambda tool: tool.name)}
