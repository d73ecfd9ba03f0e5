"""An agent of pydantic-ai: `pydantic_agent.py MODEL_URL HISTORY PROMPT`, the entry of the server in GLOVEBOX_ENTRY.

HISTORY is a file that keeps the conversation; an existing one is continued.
"""

import asyncio
import json
import os
import pathlib
import sys

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


async def main(url: str, history: pathlib.Path, prompt: str) -> None:
    entry = json.loads(os.environ["GLOVEBOX_ENTRY"])
    transport = StdioTransport(command=entry["command"], args=entry["args"], env=entry.get("env") or {}, keep_alive=False)
    model = OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=f"{url}/v1", api_key="none"))
    agent = Agent(model, toolsets=[MCPToolset(transport)])
    before = ModelMessagesTypeAdapter.validate_json(history.read_bytes()) if history.exists() else []
    async with agent:
        result = await agent.run(prompt, message_history=before)
    history.write_bytes(result.all_messages_json())
    print(result.output)


asyncio.run(main(sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]))
