// What both agents share: arguments, the four file tools, and the loop.
//
//     node out/openai-agent.js --workspace DIR [--model ID] TASK
//
// AGENT_PROMPT replaces the system prompt. AGENT_TWIST is appended to the result of
// the first tool call: a tool that answers something else than it did when recorded.
// Stdout is a transcript that is equal whenever the conversation is equal.

import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";

export interface Tool {
  name: string;
  description: string;
  schema: { type: "object"; [key: string]: unknown };
}

export interface Call {
  id: string;
  name: string;
  arguments: string; // JSON
}

export interface Result {
  id: string;
  text: string;
}

/** A conversation with a model, over whatever API. */
export interface Conversation {
  ask(): Promise<{ text: string; calls: Call[] }>;
  answer(results: Result[]): void;
}

const TURNS = 12;
const PAGE_BYTES = 16 << 10;
const PAGE_LINES = 2000;
const PROMPT = `You complete one task in a workspace of files at /workspace.
Work with the tools you are given; nothing you say changes a file, only tools do.
When the task is complete, answer in plain text without calling a tool.`;

/** The tools as a model sees them. */
export const tools: Tool[] = JSON.parse(readFileSync(new URL("../../tools.json", import.meta.url), "utf8"));

class ToolError extends Error {}

/** A folder that the model knows as /workspace. */
class Workspace {
  private readonly root: string;

  constructor(root: string) {
    this.root = realpathSync(root);
  }

  /** The host path of a path the model wrote, never outside of the folder. */
  private at(name: string): string {
    const host = path.resolve(this.root, name.replace(/^\/workspace(\/|$)/, ""));
    let real = host; // of the deepest folder that exists: links must not lead out
    while (!existsSync(real)) real = path.dirname(real);
    for (const p of [host, realpathSync(real)]) {
      if (p !== this.root && !p.startsWith(this.root + path.sep)) throw new ToolError(`${name}: lies outside of /workspace`);
    }
    return host;
  }

  private shown(host: string): string {
    return path.posix.join("/workspace", path.relative(this.root, host).split(path.sep).join("/"));
  }

  private text(host: string): string {
    if (!existsSync(host)) throw new ToolError(`${this.shown(host)}: does not exist`);
    if (!statSync(host).isFile()) throw new ToolError(`${this.shown(host)}: is a folder`);
    return readFileSync(host, "utf8");
  }

  private read_file(a: { path: string; offset?: number; limit?: number; start_byte?: number }): string {
    const host = this.at(a.path);
    let data = this.text(host);
    if (a.start_byte !== undefined) data = Buffer.from(data).subarray(a.start_byte).toString("utf8");
    if (data === "") return "[empty file]";
    const offset = a.start_byte === undefined ? (a.offset ?? 1) : 1;
    const lines = data.match(/[^\n]*\n|[^\n]+$/g) ?? [];
    if (offset > lines.length) {
      throw new ToolError(`${this.shown(host)}: offset ${offset} is beyond the end; the file has ${lines.length} lines`);
    }
    const page: string[] = [];
    let size = 0;
    for (const line of lines.slice(offset - 1, offset - 1 + (a.limit ?? PAGE_LINES))) {
      size += Buffer.byteLength(line);
      if (page.length > 0 && size > PAGE_BYTES) break;
      page.push(line);
    }
    const text = page.join("");
    if (page.length === lines.length) return text;
    const last = offset - 1 + page.length;
    const more = last < lines.length ? `; read on with offset=${last + 1}` : "; end of file";
    return `${text}${text.endsWith("\n") ? "" : "\n"}[lines ${offset}-${last} of ${lines.length}${more}]`;
  }

  private write_file(a: { path: string; content: string }): string {
    const host = this.at(a.path);
    mkdirSync(path.dirname(host), { recursive: true });
    writeFileSync(host, a.content);
    return `wrote ${Buffer.byteLength(a.content)} bytes to ${this.shown(host)}`;
  }

  private list_dir(a: { path?: string }): string {
    const host = this.at(a.path ?? "/workspace");
    if (!existsSync(host) || !statSync(host).isDirectory()) throw new ToolError(`${this.shown(host)}: is not a folder`);
    const line = (name: string) => {
      const info = statSync(path.join(host, name));
      return info.isDirectory() ? `${name}/` : `${name} (${info.size} bytes)`;
    };
    return readdirSync(host).sort().map(line).join("\n") || "[empty folder]";
  }

  private files(host: string): string[] {
    if (!statSync(host).isDirectory()) return [host];
    return readdirSync(host).sort().flatMap((name) => this.files(path.join(host, name)));
  }

  private grep(a: { pattern: string; path?: string; max_matches?: number }): string {
    const host = this.at(a.path ?? "/workspace");
    const regexp = new RegExp(a.pattern, "u");
    const max = a.max_matches ?? 50;
    const hits: string[] = [];
    for (const file of existsSync(host) ? this.files(host) : [host]) {
      this.text(file).replace(/\n$/, "").split("\n").forEach((line, i) => {
        if (regexp.test(line)) hits.push(`${this.shown(file)}:${i + 1}:${line}`);
      });
    }
    const more = hits.length > max ? `\n[first ${max} matches shown; there are more]` : "";
    return hits.slice(0, max).join("\n") + more || "no matches";
  }

  /** Runs one tool call; whatever goes wrong is a result that the model sees. */
  call(name: string, args: string): string {
    try {
      const a = JSON.parse(args);
      switch (name) {
        case "read_file": return this.read_file(a);
        case "write_file": return this.write_file(a);
        case "list_dir": return this.list_dir(a);
        case "grep": return this.grep(a);
        default: return `${name}: no such tool`;
      }
    } catch (error) {
      return `error: ${(error as Error).message}`;
    }
  }
}

/** fetch that shows the answers which an SDK retries behind our back. */
export const showStatus: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  if (response.status !== 200) console.log(`http ${response.status}`);
  return response;
};

/** Runs an agent to its end; the exit code is 1 when it has none. */
export async function run(open: (model: string, prompt: string, task: string) => Conversation): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { workspace: { type: "string" }, model: { type: "string", default: "sim/oracle" } },
    allowPositionals: true,
  });
  const task = positionals[0];
  if (values.workspace === undefined || task === undefined || positionals.length > 1) {
    console.error("usage: agent --workspace DIR [--model ID] TASK");
    process.exit(2);
  }
  try {
    const conversation = open(values.model, process.env.AGENT_PROMPT || PROMPT, task);
    if (!(await loop(new Workspace(values.workspace), conversation))) throw new Error(`no answer after ${TURNS} turns`);
  } catch (error) {
    console.error(String(error));
    process.exitCode = 1;
  }
}

async function loop(workspace: Workspace, conversation: Conversation): Promise<boolean> {
  let twist = process.env.AGENT_TWIST ?? "";
  for (let turn = 1; turn <= TURNS; turn++) {
    const { text, calls } = await conversation.ask();
    if (text !== "") console.log(`${turn} say ${JSON.stringify(text)}`);
    if (calls.length === 0) return true;
    conversation.answer(
      calls.map((call) => {
        const result = workspace.call(call.name, call.arguments) + twist;
        twist = "";
        console.log(`${turn} call ${call.name} ${call.arguments}`);
        console.log(`${turn} result ${JSON.stringify(result)}`);
        return { id: call.id, text: result };
      }),
    );
  }
  return false;
}
