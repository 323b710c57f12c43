"""A small agent: small.py TASK, in the folder it is started in."""

import json
import pathlib
import sys

import openai

PROMPT = "You do one task with the files of a folder. When it is done, answer without calling a tool."


def tool(name, description, *names):
    schema = {"type": "object", "properties": {n: {"type": "string"} for n in names}, "required": list(names)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TOOLS = [tool("read_file", "Reads a text file.", "path"), tool("write_file", "Writes a text file.", "path", "content")]


def run(name, args):
    path = pathlib.Path(args["path"])
    if name == "read_file":
        return path.read_text("utf-8")
    path.write_text(args["content"], "utf-8")
    return f"wrote {path}"


client = openai.OpenAI()  # OPENAI_BASE_URL and OPENAI_API_KEY
messages = [{"role": "system", "content": PROMPT}, {"role": "user", "content": sys.argv[1]}]
for turn in range(20):
    answer = client.chat.completions.create(model="gpt-5-mini", messages=messages, tools=TOOLS).choices[0].message
    messages.append(answer.model_dump(include={"role", "content", "tool_calls"}, exclude_none=True))
    if not answer.tool_calls:
        print(answer.content)
        break
    for call in answer.tool_calls:
        result = run(call.function.name, json.loads(call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
else:
    sys.exit("not done after 20 turns")
