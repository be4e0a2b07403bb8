"""A server of one tool with the official SDK for Python or with FastMCP, which
the first argument names: over stdio, or over HTTP at the port that the second
one names."""

import sys

import fastmcp
from mcp.server.mcpserver import MCPServer

which, port = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
server = fastmcp.FastMCP("adder") if which == "fastmcp" else MCPServer("adder")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    if a < 0:
        raise ValueError("too cold")
    return a + b


options = {"show_banner": False} if which == "fastmcp" else {}
if port:
    server.run(transport="http" if which == "fastmcp" else "streamable-http", port=port, **options)
else:
    server.run(transport="stdio", **options)
