"""A small agent on Pydantic AI.

    orders_pydantic_ai.py [--stream] MODEL TASK

MODEL is openai-chat:ID, openai-responses:ID or anthropic:ID. Works in the folder it
is started in.
"""

import asyncio
import os
import pathlib
import sys

from pydantic_ai import Agent

agent = Agent(sys.argv[-2], instructions="You do sums.")


@agent.tool_plain
def read_file(path: str) -> str:
    """Reads a text file."""
    return pathlib.Path(path).read_text("utf-8")


@agent.tool_plain
def list_files() -> str:
    """Lists the files of the folder."""
    return "\n".join(sorted(os.listdir()))


@agent.tool_plain
def write_file(path: str, content: str) -> str:
    """Writes a text file."""
    pathlib.Path(path).write_text(content, "utf-8")
    return f"wrote {path}"


async def watch(_, events):
    async for _ in events:
        pass


async def main(task):
    handler = watch if "--stream" in sys.argv else None
    print((await agent.run(task, event_stream_handler=handler)).output)


asyncio.run(main(sys.argv[-1]))
