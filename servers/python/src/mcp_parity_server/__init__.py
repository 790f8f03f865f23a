"""The Python reference server of mcp-parity: FastMCP on the official SDK, served by uvicorn."""

import os

# Otherwise FastMCP adds a log handler of its own as soon as it is imported; logs.py says what is logged.
os.environ["FASTMCP_LOG_ENABLED"] = "false"
