"""The ASGI application: the MCP endpoint and the plain ones beside it."""

import gc

from fastmcp.server.http import StarletteWithLifespan
from pydantic_core import from_json, to_json
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from . import logs, metrics, settings
from .guard import HostGuard, MessageGuard
from .server import create_server
from .settings import Settings

SESSION_IDLE_SECONDS = 300.0
"""How long a session lives without a request."""


async def healthz(_: Request) -> Response:
    """Answer as soon as uvicorn accepts connections, which is after the start of everything else."""
    return PlainTextResponse("ok")


async def hello(_: Request) -> Response:
    """Show what HTTP costs in this runtime and framework."""
    return PlainTextResponse("Hello!")


async def floor(request: Request) -> Response:
    """Answer a JSON-RPC request with its own params, without the SDK."""
    try:
        message = from_json(await request.body(), allow_inf_nan=False)
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": message.get("params", {})}
    except (ValueError, LookupError, TypeError, AttributeError):
        return PlainTextResponse("Bad Request: send a JSON-RPC request", 400)
    return Response(to_json(answer), media_type="application/json")


async def metrics_text(_: Request) -> Response:
    """Serve the metrics to Prometheus."""
    return Response(metrics.render(), media_type=metrics.content_type)


def create_app() -> Starlette:
    """Build the application from the environment; uvicorn calls this in each worker process."""
    config = settings.load()
    logs.configure(config.log_level)
    endpoint, route = _endpoint(config)
    app = Starlette(
        routes=[
            Route("/healthz", healthz),
            Route("/hello", hello),
            Route("/floor", floor, methods=["POST"]),
            Route("/metrics", metrics_text),
            route,
        ],
        lifespan=endpoint.lifespan,
    )
    _tune_garbage_collection()
    return app


def _tune_garbage_collection() -> None:
    """Spare the collector what lives as long as the process.

    A request of the SDK leaves reference cycles, so the collector runs often, and a full run through some hundred
    thousand objects of imported modules stops every call for tens of milliseconds. README.md has the figures.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)


def _endpoint(config: Settings) -> tuple[StarletteWithLifespan, BaseRoute]:
    """Return FastMCP's application, whose lifespan must be run, and the guarded route to it."""
    server = create_server(config.upstream_url)
    hosts = ["localhost", "127.0.0.1", "::1", *([config.host] if config.listens_on_one_address else [])]
    if config.transport == "sse":
        app = server.http_app(transport="sse", path="/sse")
        return app, Mount("/", HostGuard(app, hosts))
    stateless = config.sessions == "stateless"
    app = server.http_app(
        path="/mcp", json_response=True, stateless_http=stateless, session_idle_timeout=SESSION_IDLE_SECONDS
    )
    methods = ["POST"] if stateless else ["POST", "GET", "DELETE"]
    return app, Route("/mcp", HostGuard(MessageGuard(app, methods), hosts))
