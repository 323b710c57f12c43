"""A small agent on the official openai package.

    agent.py --workspace DIR [--api chat|responses] [--model ID] TASK

Endpoint and key come from OPENAI_BASE_URL and OPENAI_API_KEY, as the package reads
them. With --api responses the conversation lives at the server: each request names
the answer before it (previous_response_id) and sends what is new.

AGENT_PROMPT replaces the system prompt. AGENT_TWIST is appended to the result of the
first tool call: a tool that answers something else than it did when recorded.

Stdout is a transcript that is equal whenever the conversation is equal.
"""

import argparse
import json
import os
import pathlib
import re
import sys

import openai

TURNS = 12
PAGE_BYTES = 16 << 10
PAGE_LINES = 2000
PROMPT = """You complete one task in a workspace of files at /workspace.
Work with the tools you are given; nothing you say changes a file, only tools do.
When the task is complete, answer in plain text without calling a tool."""
TOOLS = json.loads((pathlib.Path(__file__).parent.parent / "tools.json").read_text("utf-8"))


class ToolError(Exception):
    """What a tool says when it fails."""


class Workspace:
    """A folder that the model knows as /workspace."""

    def __init__(self, root):
        self.root = pathlib.Path(root).resolve(strict=True)

    def at(self, path):
        """The host path of a path the model wrote, never outside of the folder."""
        rel = re.sub(r"^/workspace(/|$)", "", path)
        host = (self.root / rel).resolve()
        if host != self.root and self.root not in host.parents:
            raise ToolError(f"{path}: lies outside of /workspace")
        return host

    def shown(self, host):
        rel = host.relative_to(self.root).as_posix()
        return "/workspace" if rel == "." else "/workspace/" + rel

    def text(self, host):
        if not host.is_file():
            raise ToolError(f"{self.shown(host)}: {'is a folder' if host.is_dir() else 'does not exist'}")
        return host.read_bytes().decode("utf-8", "replace")

    def read_file(self, path, offset=1, limit=PAGE_LINES, start_byte=None):
        host = self.at(path)
        data = self.text(host)
        if start_byte is not None:
            data, offset = data.encode()[start_byte:].decode("utf-8", "replace"), 1
        if not data:
            return "[empty file]"
        lines = re.findall(r"[^\n]*\n|[^\n]+", data)
        if offset > len(lines):
            raise ToolError(f"{self.shown(host)}: offset {offset} is beyond the end; the file has {len(lines)} lines")
        page, size = [], 0
        for line in lines[offset - 1 : offset - 1 + limit]:
            size += len(line.encode())
            if page and size > PAGE_BYTES:
                break
            page.append(line)
        text, last = "".join(page), offset - 1 + len(page)
        if len(page) == len(lines):
            return text
        more = f"; read on with offset={last + 1}" if last < len(lines) else "; end of file"
        return text + ("" if text.endswith("\n") else "\n") + f"[lines {offset}-{last} of {len(lines)}{more}]"

    def write_file(self, path, content):
        host = self.at(path)
        host.parent.mkdir(parents=True, exist_ok=True)
        host.write_bytes(content.encode())
        return f"wrote {len(content.encode())} bytes to {self.shown(host)}"

    def list_dir(self, path="/workspace"):
        host = self.at(path)
        if not host.is_dir():
            raise ToolError(f"{self.shown(host)}: is not a folder")
        entries = sorted(host.iterdir(), key=lambda p: p.name)
        return "\n".join(p.name + "/" if p.is_dir() else f"{p.name} ({p.stat().st_size} bytes)" for p in entries) or "[empty folder]"

    def grep(self, pattern, path="/workspace", max_matches=50):
        host = self.at(path)
        regexp = re.compile(pattern)
        files = sorted(p for p in host.rglob("*") if p.is_file()) if host.is_dir() else [host]
        hits = []
        for file in files:
            for number, line in enumerate(self.text(file).removesuffix("\n").split("\n"), 1):
                if regexp.search(line):
                    hits.append(f"{self.shown(file)}:{number}:{line}")
        more = f"\n[first {max_matches} matches shown; there are more]" if len(hits) > max_matches else ""
        return "\n".join(hits[:max_matches]) + more or "no matches"

    def call(self, name, arguments):
        """Runs one tool call; whatever goes wrong is a result that the model sees."""
        if name not in {tool["name"] for tool in TOOLS}:
            return f"{name}: no such tool"
        try:
            return getattr(self, name)(**json.loads(arguments))
        except (ToolError, OSError, re.error, TypeError, ValueError) as error:
            return f"error: {error}"


class Chat:
    """The conversation over /v1/chat/completions: all of it in every request."""

    def __init__(self, client, model, prompt, task):
        self.client, self.model = client, model
        self.messages = [{"role": "system", "content": prompt}, {"role": "user", "content": task}]
        self.tools = [
            {"type": "function", "function": {"name": t["name"], "description": t["description"], "parameters": t["schema"]}}
            for t in TOOLS
        ]

    def ask(self):
        """Streams one answer: its text and its calls as (id, name, arguments)."""
        text, calls = "", {}
        stream = self.client.chat.completions.create(
            model=self.model, messages=self.messages, tools=self.tools, stream=True, stream_options={"include_usage": True}
        )
        for chunk in stream:
            for choice in chunk.choices:
                text += choice.delta.content or ""
                for part in choice.delta.tool_calls or []:
                    call = calls.setdefault(part.index, {"id": "", "name": "", "arguments": ""})
                    call["id"] = part.id or call["id"]
                    if part.function:
                        call["name"] += part.function.name or ""
                        call["arguments"] += part.function.arguments or ""
        calls = [calls[i] for i in sorted(calls)]
        message = {"role": "assistant", "content": text or None}
        if calls:
            message["tool_calls"] = [
                {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}} for c in calls
            ]
        self.messages.append(message)
        return text, [(c["id"], c["name"], c["arguments"]) for c in calls]

    def answer(self, results):
        self.messages += [{"role": "tool", "tool_call_id": id, "content": result} for id, result in results]


class Responses:
    """The conversation over /v1/responses: the server remembers it."""

    def __init__(self, client, model, prompt, task):
        self.client, self.model, self.prompt = client, model, prompt
        self.input = [{"role": "user", "content": task}]
        self.previous = openai.omit
        self.tools = [
            {"type": "function", "name": t["name"], "description": t["description"], "parameters": t["schema"], "strict": False}
            for t in TOOLS
        ]

    def ask(self):
        stream = self.client.responses.create(
            model=self.model, instructions=self.prompt, input=self.input, tools=self.tools,
            previous_response_id=self.previous, stream=True,
        )
        text, calls = "", []
        for event in stream:
            if event.type == "response.output_text.delta":
                text += event.delta
            elif event.type == "response.output_item.done" and event.item.type == "function_call":
                calls.append((event.item.call_id, event.item.name, event.item.arguments))
            elif event.type in ("response.completed", "response.incomplete"):
                self.previous = event.response.id
            elif event.type in ("response.failed", "error"):
                sys.exit(f"the endpoint failed: {event.to_json()}")
        return text, calls

    def answer(self, results):
        self.input = [{"type": "function_call_output", "call_id": id, "output": result} for id, result in results]


def show_status(response):
    """Shows answers that the package retries behind our back."""
    if response.status_code != 200:
        print(f"http {response.status_code}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workspace", required=True)
    parser.add_argument("--api", choices=["chat", "responses"], default="chat")
    parser.add_argument("--model", default="sim/oracle")
    parser.add_argument("task")
    args = parser.parse_args()

    workspace = Workspace(args.workspace)
    client = openai.OpenAI(max_retries=4, http_client=openai.DefaultHttpxClient(event_hooks={"response": [show_status]}))
    kind = Chat if args.api == "chat" else Responses
    conversation = kind(client, args.model, os.environ.get("AGENT_PROMPT") or PROMPT, args.task)
    twist = os.environ.get("AGENT_TWIST", "")

    for turn in range(1, TURNS + 1):
        text, calls = conversation.ask()
        if text:
            print(f"{turn} say {json.dumps(text, ensure_ascii=False)}")
        if not calls:
            return
        results = []
        for id, name, arguments in calls:
            result, twist = workspace.call(name, arguments) + twist, ""
            results.append((id, result))
            print(f"{turn} call {name} {arguments}")
            print(f"{turn} result {json.dumps(result, ensure_ascii=False)}", flush=True)
        conversation.answer(results)
    sys.exit(f"no answer after {TURNS} turns")


if __name__ == "__main__":
    try:
        main()
    except openai.OpenAIError as error:
        sys.exit(f"{type(error).__name__}: {error}")
