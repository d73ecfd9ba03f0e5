"""PyPI mcp 2.x as a client that asks a person for approval, in both eras. Used as: python approve.py PROGRAM, with the
server's settings in the environment and a limit that every call is above, or with the URL of such a server."""

import json
import os
import sys
import urllib.request
import warnings

import anyio
import mcp_types as types
from mcp.client.client import Client
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

OLDER_HTTP = sys.argv[1].endswith("/sse")


def server():
    target = sys.argv[1]
    if OLDER_HTTP:
        return sse_client(target)
    if target.startswith("http"):
        return target
    return StdioServerParameters(command=target, args=["stdio"], env=dict(os.environ))


def done(what: str) -> None:
    print(f"ok {what}", flush=True)


async def paid() -> int:
    def read() -> int:
        with urllib.request.urlopen(f"{os.environ['GLOVEBOX_UPSTREAM']}/__sim/log") as reply:
            return len(json.load(reply))

    return await anyio.to_thread.run_sync(read)


class Person:
    """Answers what is asked, and remembers it."""

    def __init__(self, action: str, content: dict | None = None) -> None:
        self.action, self.content, self.asked = action, content, []

    async def __call__(self, context, params) -> types.ElicitResult:
        self.asked.append(params.message)
        if self.action == "silent":
            await anyio.sleep_forever()
        return types.ElicitResult(action=self.action, content=self.content)


APPROVES = {"approve": True}


async def check(name: str, mode: str) -> None:
    query = {"query": f"sim:plain {name}"}
    before = await paid()

    person = Person("accept", APPROVES)
    async with Client(server(), mode=mode, elicitation_callback=person) as client:
        answer = await client.call_tool("answers", query)
        assert not answer.is_error, answer
        assert len(person.asked) == 1 and query["query"] in person.asked[0], person.asked
    assert await paid() == before + 1
    done(f"{name}: approve")

    for action, content in (("decline", None), ("cancel", None), ("accept", {"approve": False})):
        person = Person(action, content)
        async with Client(server(), mode=mode, elicitation_callback=person) as client:
            refused = await client.call_tool("answers", query)
            assert refused.is_error and "confirm_over_usd" in refused.content[0].text, refused
            assert len(person.asked) == 1
    assert await paid() == before + 1
    done(f"{name}: refuse")

    async with Client(server(), mode=mode) as client:
        denied = await client.call_tool("answers", query)
        assert denied.is_error and "cannot ask" in denied.content[0].text, denied
    assert await paid() == before + 1
    done(f"{name}: a client that cannot ask")

    person = Person("silent")
    async with Client(server(), mode=mode, elicitation_callback=person) as client:
        with anyio.move_on_after(1) as scope:
            await client.call_tool("answers", query)
        assert scope.cancelled_caught and len(person.asked) == 1
    # The connection ends with the question open.
    assert await paid() == before + 1
    done(f"{name}: vanish")


async def replay() -> None:
    query = {"query": "sim:plain replayed"}
    yes = {"approval": types.ElicitResult(action="accept", content=APPROVES)}
    before = await paid()
    person = Person("accept", APPROVES)
    async with Client(server(), mode="2026-07-28", elicitation_callback=person) as client:
        asked = await client.session.call_tool("answers", query, allow_input_required=True)
        assert isinstance(asked, types.InputRequiredResult), asked
        answer = {"input_responses": yes, "request_state": asked.request_state}
        other = await client.session.call_tool("answers", {"query": "sim:plain another"}, **answer)
        assert other.is_error and "not given for this call" in other.content[0].text, other
        # Over HTTP there are no sessions in this era: the client is known by what it says of itself.
        named = types.Implementation(name="another", version="1")
        async with Client(server(), mode="2026-07-28", elicitation_callback=person, client_info=named) as elsewhere:
            stolen = await elsewhere.session.call_tool("answers", query, **answer)
            assert stolen.is_error and "not given for this call" in stolen.content[0].text, stolen
        assert await paid() == before
        bought = await client.session.call_tool("answers", query, **answer)
        assert not bought.is_error, bought
        for _ in range(3):
            again = await client.session.call_tool("answers", query, **answer)
            assert again.is_error and "used before" in again.content[0].text, again
    assert await paid() == before + 1
    done("replay: one call for one approval")


async def main() -> None:
    await check("older era", "legacy")
    if OLDER_HTTP:
        return
    await check("newer era", "2026-07-28")
    await replay()


warnings.simplefilter("ignore")
anyio.run(main)
