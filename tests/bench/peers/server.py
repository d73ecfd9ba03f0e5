"""A server with one tool, on FastMCP. Used as: python server.py; prints its port."""

import socket

import uvicorn
from fastmcp import FastMCP

server = FastMCP("peer")


@server.tool
def echo(text: str) -> str:
    return text


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
app = server.http_app(path="/mcp")
uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False)).run(sockets=[listener])
