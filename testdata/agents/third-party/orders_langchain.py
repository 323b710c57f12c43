"""A small agent on LangChain.

    orders_langchain.py MODEL TASK

MODEL is openai:ID or anthropic:ID. Works in the folder it is started in.
"""

import os
import pathlib
import sys

from langchain.agents import create_agent
from langchain_core.tools import tool


@tool
def read_file(path: str) -> str:
    """Reads a text file."""
    return pathlib.Path(path).read_text("utf-8")


@tool
def list_files() -> str:
    """Lists the files of the folder."""
    return "\n".join(sorted(os.listdir()))


@tool
def write_file(path: str, content: str) -> str:
    """Writes a text file."""
    pathlib.Path(path).write_text(content, "utf-8")
    return f"wrote {path}"


agent = create_agent(sys.argv[-2], tools=[read_file, list_files, write_file], system_prompt="You do sums.")
result = agent.invoke({"messages": [{"role": "user", "content": sys.argv[-1]}]})
print(result["messages"][-1].text)
