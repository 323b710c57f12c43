// A small agent: small.js TASK, in the folder it is started in.

import { readFileSync, writeFileSync } from "node:fs";

import OpenAI from "openai";

const PROMPT = "You do one task with the files of a folder. When it is done, answer without calling a tool.";

function tool(name: string, description: string, ...names: string[]): OpenAI.ChatCompletionFunctionTool {
  const properties = Object.fromEntries(names.map((n) => [n, { type: "string" }]));
  return { type: "function", function: { name, description, parameters: { type: "object", properties, required: names } } };
}

const TOOLS = [tool("read_file", "Reads a text file.", "path"), tool("write_file", "Writes a text file.", "path", "content")];

function run(name: string, args: { path: string; content: string }): string {
  if (name === "read_file") return readFileSync(args.path, "utf8");
  writeFileSync(args.path, args.content);
  return `wrote ${args.path}`;
}

const [task = ""] = process.argv.slice(2);
const client = new OpenAI(); // OPENAI_BASE_URL and OPENAI_API_KEY
const messages: OpenAI.ChatCompletionMessageParam[] = [
  { role: "system", content: PROMPT },
  { role: "user", content: task },
];
for (let turn = 1; ; turn++) {
  if (turn > 20) throw new Error("not done after 20 turns");
  const stream = client.chat.completions.stream({ model: "gpt-5-mini", messages, tools: TOOLS });
  const { role, content, tool_calls = [] } = await stream.finalMessage();
  messages.push({ role, content, ...(tool_calls.length > 0 && { tool_calls }) });
  if (tool_calls.length === 0) {
    console.log(content);
    break;
  }
  for (const call of tool_calls) {
    if (call.type !== "function") continue;
    messages.push({ role: "tool", tool_call_id: call.id, content: run(call.function.name, JSON.parse(call.function.arguments)) });
  }
}
