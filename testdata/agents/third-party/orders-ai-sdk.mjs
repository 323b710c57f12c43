// A small agent on the AI SDK.
//
//     orders-ai-sdk.mjs responses|chat|anthropic TASK
//
// Works in the folder it is started in. Packages are looked for as CommonJS does, so
// that NODE_PATH may name where they are.

import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const load = createRequire(import.meta.url);
const { generateText, streamText, stepCountIs, tool } = load("ai");
const { openai } = load("@ai-sdk/openai");
const { anthropic } = load("@ai-sdk/anthropic");
const { z } = load("zod");

const [api, prompt] = process.argv.slice(2);
const model = { responses: openai("sim-oracle"), chat: openai.chat("sim-oracle"), anthropic: anthropic("sim-oracle") }[api];
const tools = {
  read_file: tool({
    description: "Reads a text file.",
    inputSchema: z.object({ path: z.string() }),
    execute: async ({ path }) => readFileSync(path, "utf8"),
  }),
  list_files: tool({
    description: "Lists the files of the folder.",
    inputSchema: z.object({}),
    execute: async () => readdirSync(".").sort().join("\n"),
  }),
  write_file: tool({
    description: "Writes a text file.",
    inputSchema: z.object({ path: z.string(), content: z.string() }),
    execute: async ({ path, content }) => {
      writeFileSync(path, content);
      return `wrote ${path}`;
    },
  }),
};
const options = { model, tools, prompt, system: "You do sums.", stopWhen: stepCountIs(8) };

if (api === "responses") {
  console.log((await generateText(options)).text);
} else {
  let failed;
  const result = streamText({ ...options, onError: ({ error }) => (failed = error) });
  for await (const text of result.textStream) process.stdout.write(text);
  console.log();
  if (failed) throw failed;
}
