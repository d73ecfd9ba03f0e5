"""PyPI mcp 2.x, in both eras. Used as: python client.py PROGRAM, with the server's settings in the environment, or with
the URL of a running server, which is reached through `PROGRAM bridge URL` where PROGRAM follows."""

import json
import os
import sys
import time
import urllib.request
import warnings
from typing import Any, ClassVar, Literal

import anyio
import mcp_types as types
from mcp.client.client import Client
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.shared.exceptions import MCPError

PATIENCE = 60
# The older of the two HTTP transports, which only the older era has.
OLDER_HTTP = sys.argv[1].endswith("/sse")
TOOLS = [
    "answers", "research_submit", "research_status", "research_result", "research", "research_cancel",
    "research_list", "status",
]


def server():
    target = sys.argv[1]
    if len(sys.argv) > 2:
        return StdioServerParameters(command=sys.argv[2], args=["bridge", target], env=dict(os.environ))
    token = os.environ.get("GLOVEBOX_TOKEN")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    if OLDER_HTTP:
        return sse_client(target, headers=headers)
    if target.startswith("http"):
        return streamable_http_client(target, http_client=create_mcp_http_client(headers)) if token else target
    return StdioServerParameters(command=target, args=["stdio"], env=dict(os.environ))


def done(what: str) -> None:
    print(f"ok {what}", flush=True)


def dropped_calls() -> int:
    with urllib.request.urlopen(f"{os.environ['GLOVEBOX_UPSTREAM']}/__sim/log") as reply:
        log = json.load(reply)
    records = log if isinstance(log, list) else log.get("requests") or log.get("records")
    return sum(1 for record in records if record["end"] == "dropped")


async def until(what, condition) -> None:
    end = time.monotonic() + PATIENCE
    while not await anyio.to_thread.run_sync(condition):
        assert time.monotonic() < end, f"{what} never came"
        await anyio.sleep(0.005)


async def refused(awaitable) -> None:
    try:
        await awaitable
    except MCPError:
        return
    raise AssertionError("not refused")


async def check(name: str, mode: str, version: str) -> None:
    async with Client(server(), mode=mode) as client:
        assert client.protocol_version == version, client.protocol_version
        listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == TOOLS
        assert all(tool.output_schema and tool.annotations for tool in listed.tools)
        done(f"{name}: list")

        # The client holds structured content against the output schema that it was given by the list.
        answer = await client.call_tool("answers", {"query": "what is known"})
        assert answer.structured_content["state"] == "done"
        assert "Sources" in answer.content[0].text
        for tool in ("status", "research_list"):
            assert (await client.call_tool(tool, {})).structured_content["state"]
        done(f"{name}: call, structured output")

        values: list[float] = []

        async def report(progress: float, total: float | None, message: str | None) -> None:
            assert total is None and message
            values.append(progress)

        researched = await client.call_tool("research", {"query": "progress please"}, progress_callback=report)
        assert researched.structured_content["state"] == "done"
        assert values and values == sorted(set(values)), values
        done(f"{name}: progress")

        before = dropped_calls()
        await refused(client.call_tool("answers", {"query": "sim:stall one"}, read_timeout_seconds=1))
        await until("the drop after a time-out", lambda: dropped_calls() == before + 1)
        done(f"{name}: time-out reaches the upstream")

        with anyio.move_on_after(0.5) as scope:
            await client.call_tool("answers", {"query": "sim:stall two"})
        assert scope.cancelled_caught
        await until("the drop after a cancellation", lambda: dropped_calls() == before + 2)
        done(f"{name}: cancellation reaches the upstream")

        wrong = await client.call_tool("research_submit", {"query": "", "depth": 3})
        assert wrong.is_error and "`query`" in wrong.content[0].text and "`depth`" in wrong.content[0].text
        await refused(client.call_tool("no_such_tool", {}))
        done(f"{name}: errors")

        submitted = await client.call_tool("research_submit", {"query": f"a job of {name}"})
        research = submitted.structured_content["research_id"]
        uri = f"research://{research}"
        if mode == "legacy":
            await client.subscribe_resource(uri)
            await client.unsubscribe_resource(uri)
        else:
            async with client.listen(resource_subscriptions=[uri]) as subscription:
                with anyio.fail_after(PATIENCE):
                    await anext(aiter(subscription))
        result = await client.call_tool("research_result", {"research_id": research, "wait_seconds": 50})
        assert result.structured_content["state"] == "done"
        assert result.structured_content["sources"]
        done(f"{name}: submit, follow, result")

        assert uri in [str(resource.uri) for resource in (await client.list_resources()).resources]
        templates = (await client.list_resource_templates()).resource_templates
        assert [template.uri_template for template in templates] == ["research://{id}", "research://{id}/stream"]
        whole = await client.read_resource(uri)
        assert [content.mime_type for content in whole.contents] == ["text/markdown", "application/json"]
        assert isinstance(json.loads(whole.contents[1].text)["thinking"], list)
        assert "[DONE]" in (await client.read_resource(f"{uri}/stream")).contents[0].text
        await refused(client.read_resource("research://none"))
        ids = await client.complete(
            types.ResourceTemplateReference(uri="research://{id}"), {"name": "id", "value": research[:8]}
        )
        assert research in ids.completion.values
        done(f"{name}: resources")

        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["deep_research", "cited_answer"]
        prompt = await client.get_prompt("cited_answer", {"question": "why", "country": "se"})
        assert "country se" in prompt.messages[0].content.text
        await refused(client.get_prompt("cited_answer", {}))
        done(f"{name}: prompts")


class TaskMade(types.Result):
    """What a tool gives back in place of its result."""

    result_type: Literal["task"]
    task_id: str
    status: str
    poll_interval_ms: int


class TaskNow(types.Result):
    """A task as it is now; its result once it has one."""

    task_id: str
    status: str
    result: dict[str, Any] | None = None


class GetTask(types.GetTaskRequest):
    """A request that names its task in a header, as the extension wants it over HTTP."""

    name_param: ClassVar[str | None] = "taskId"


class Tasks(ClientExtension):
    """The tasks extension, as a client's author would add it."""

    identifier = "io.modelcontextprotocol/tasks"
    followed = 0

    def claims(self):
        return [ResultClaim(result_type="task", model=TaskMade, resolve=self.follow)]

    async def follow(self, made: TaskMade, context: ClaimContext) -> types.CallToolResult:
        assert made.status == "working"
        params = types.GetTaskRequestParams(task_id=made.task_id)
        while True:
            self.followed += 1
            now = await context.session.send_request(GetTask(params=params), TaskNow)
            if now.status != "working":
                assert now.status == "completed", now
                return types.CallToolResult.model_validate(now.result)
            await anyio.sleep(0.05)


async def check_tasks() -> None:
    tasks = Tasks()
    async with Client(server(), extensions=[tasks]) as client:
        result = await client.call_tool("research", {"query": "as a task"})
        assert result.structured_content["state"] == "done" and tasks.followed > 0
        done("python: a tool's result through a task")


async def main() -> None:
    await check("python, older era", "legacy", "2025-11-25")
    if OLDER_HTTP:
        return
    await check_tasks()
    await check("python, newer era, probed", "auto", "2026-07-28")
    await check("python, newer era, pinned", "2026-07-28", "2026-07-28")


# The older era's own methods are to be tried, deprecated or not.
warnings.simplefilter("ignore")
anyio.run(main)
