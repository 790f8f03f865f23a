"""The Python reference server of mcp-parity: FastMCP on the official SDK, served by uvicorn."""
