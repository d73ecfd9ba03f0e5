"""A server on PyPI mcp 2.x. Used as: python server.py http|sse; prints its port."""

import json
import socket
import sys

import anyio
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

server = MCPServer("peer")
calls: dict[str, int] = {}


class Which(BaseModel):
    which: str


def note(name: str) -> None:
    calls[name] = calls.get(name, 0) + 1


@server.tool()
def echo(text: str) -> str:
    note("echo")
    return text


@server.tool()
def count(of: str) -> str:
    return str(calls.get(of, 0))


@server.tool()
async def ask(ctx: Context) -> str:
    note("ask")
    result = await ctx.elicit("Which?", Which)
    return json.dumps({"action": result.action, "which": result.data.which})


@server.tool()
async def steps(ctx: Context) -> str:
    note("steps")
    for step in (1, 2, 3):
        await ctx.report_progress(step, 3)
    return "done"


@server.tool()
async def wait() -> str:
    note("wait")
    try:
        await anyio.sleep_forever()
    except BaseException:
        note("aborted")
        raise
    return "never"


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
app = server.sse_app() if sys.argv[1] == "sse" else server.streamable_http_app()
uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False)).run(sockets=[listener])
