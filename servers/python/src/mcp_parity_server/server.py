"""The MCP server: the contract's tool definitions on FastMCP."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from typing import Any

import mcp_types
from fastmcp import FastMCP
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import Tool, ToolResult
from mcp.shared.exceptions import MCPError
from prometheus_client import Counter
from pydantic import PrivateAttr, ValidationError
from pydantic_core import to_json

from . import contract, tools
from .arguments import (
    Arguments,
    FetchArguments,
    FibonacciArguments,
    ProcessArguments,
    QueryArguments,
    describe,
)
from .metrics import tool_calls
from .tools import ArgumentError
from .upstream import Upstream, UpstreamError


class ContractTool(Tool):
    """A tool that is listed exactly as the contract defines it and checks its own arguments."""

    _definition: mcp_types.Tool = PrivateAttr()
    _arguments: type[Arguments] = PrivateAttr()
    _function: Callable[[Any], Awaitable[dict[str, Any]]] = PrivateAttr()
    _succeeded: Counter = PrivateAttr()
    _failed: Counter = PrivateAttr()

    def __init__(
        self,
        definition: mcp_types.Tool,
        arguments: type[Arguments],
        function: Callable[[Any], Awaitable[dict[str, Any]]],
    ) -> None:
        super().__init__(
            name=definition.name,
            title=definition.title,
            description=definition.description,
            parameters=definition.input_schema,
            output_schema=definition.output_schema,
            annotations=definition.annotations,
        )
        self._definition = definition
        self._arguments = arguments
        self._function = function
        self._succeeded = tool_calls.labels(definition.name, "ok")
        self._failed = tool_calls.labels(definition.name, "error")

    def to_mcp_tool(self, **_overrides: Any) -> mcp_types.Tool:
        """Return the contract's definition itself: nothing is built for each tools/list."""
        return self._definition

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Call the tool. What is wrong with a call is its result: an exception would be logged by FastMCP."""
        try:
            answer = await self._function(self._arguments.model_validate(arguments))
        except ValidationError as error:
            return self._failure(describe(error))
        except (ArgumentError, UpstreamError) as error:
            return self._failure(str(error))
        self._succeeded.inc()
        return ToolResult(content=[_text(to_json(answer).decode())], structured_content=answer)

    def _failure(self, text: str) -> ToolResult:
        self._failed.inc()
        return ToolResult(content=[_text(text)], is_error=True)


def _text(text: str) -> mcp_types.TextContent:
    return mcp_types.TextContent(type="text", text=text)


class StrictToolCalls(Middleware):
    """Refuses, as a protocol error, what FastMCP would take or fold into a tool error."""

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """Raise MCPError (-32602) for an unknown tool and for `arguments` that is null; pass on all others."""
        if context.message.name not in contract.definitions():
            raise MCPError(code=mcp_types.INVALID_PARAMS, message=f"Unknown tool: {context.message.name!r}")
        # FastMCP reads null as {}, so only the parameters as they were sent tell them apart.
        request = context.fastmcp_context and context.fastmcp_context.request_context
        sent = request and request._srctx.params  # noqa: SLF001
        if sent and sent.get("arguments", {}) is None:
            raise MCPError(code=mcp_types.INVALID_PARAMS, message="arguments is null: send an object or leave it out")
        return await call_next(context)


def create_server(upstream_url: str) -> FastMCP:
    """Build the MCP server. Its lifespan closes the connections to the upstream service."""
    upstream = Upstream(upstream_url)
    functions: dict[str, tuple[type[Arguments], Callable[[Any], Awaitable[dict[str, Any]]]]] = {
        "calculate_fibonacci": (FibonacciArguments, tools.calculate_fibonacci),
        "fetch_external_data": (FetchArguments, partial(tools.fetch_external_data, upstream=upstream)),
        "process_json_data": (ProcessArguments, tools.process_json_data),
        "simulate_db_query": (QueryArguments, tools.simulate_db_query),
    }

    @asynccontextmanager
    async def lifespan(_: FastMCP) -> AsyncIterator[None]:
        yield
        await upstream.close()

    server: FastMCP = FastMCP(
        "mcp-parity-python",
        version=version("mcp-parity-server"),
        tools=[ContractTool(definition, *functions[name]) for name, definition in contract.definitions().items()],
        middleware=[StrictToolCalls()],
        lifespan=lifespan,
        # One page for all, but with paging on, so that an unknown cursor is refused.
        list_page_size=len(functions),
        # The contract's schemas have no $ref.
        dereference_schemas=False,
    )
    _serve_only_tools(server)
    return server


def _serve_only_tools(server: FastMCP) -> None:
    """Mend what FastMCP's public API has no option for, on the SDK's server inside it."""
    sdk = server._mcp_server  # noqa: SLF001
    # FastMCP serves and advertises these whether or not there are any; without a handler the SDK does neither.
    for method in (
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "prompts/list",
        "prompts/get",
        "logging/setLevel",
    ):
        del sdk._request_handlers[method]  # noqa: SLF001
    # On revision 2026-07-28 the SDK compares headers with the schema of the called tool, which it would find by a
    # tools/list of its own for each call.
    sdk.get_tool_input_schema = {name: tool.input_schema for name, tool in contract.definitions().items()}.get
