"""A small agent on the OpenAI Agents SDK.

    orders_openai_agents.py [--chat] [--stream] TASK

Works in the folder it is started in. Responses API, or chat completions.
"""

import asyncio
import os
import pathlib
import sys

from agents import Agent, Runner, function_tool, set_default_openai_api


@function_tool
def read_file(path: str) -> str:
    """Reads a text file."""
    return pathlib.Path(path).read_text("utf-8")


@function_tool
def list_files() -> str:
    """Lists the files of the folder."""
    return "\n".join(sorted(os.listdir()))


@function_tool
def write_file(path: str, content: str) -> str:
    """Writes a text file."""
    pathlib.Path(path).write_text(content, "utf-8")
    return f"wrote {path}"


async def main(task):
    if "--chat" in sys.argv:
        set_default_openai_api("chat_completions")
    agent = Agent(name="orders", instructions="You do sums.", tools=[read_file, list_files, write_file], model="sim-oracle")
    if "--stream" in sys.argv:
        result = Runner.run_streamed(agent, task)
        async for _ in result.stream_events():
            pass
    else:
        result = await Runner.run(agent, task)
    print(result.final_output)


asyncio.run(main(sys.argv[-1]))
