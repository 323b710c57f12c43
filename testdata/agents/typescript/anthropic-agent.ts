// A small agent on the official @anthropic-ai/sdk package: messages, streamed.
// Endpoint and key come from ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY, as the package
// reads them.

import Anthropic from "@anthropic-ai/sdk";
import { type Call, type Conversation, type Result, run, showStatus, tools } from "./common.js";

class Messages implements Conversation {
  private readonly client = new Anthropic({ maxRetries: 4, fetch: showStatus });
  private readonly messages: Anthropic.MessageParam[];

  constructor(private readonly model: string, private readonly prompt: string, task: string) {
    this.messages = [{ role: "user", content: task }];
  }

  async ask(): Promise<{ text: string; calls: Call[] }> {
    const stream = this.client.messages.stream({
      model: this.model,
      max_tokens: 4096,
      system: this.prompt,
      messages: this.messages,
      tools: tools.map((t) => ({ name: t.name, description: t.description, input_schema: t.schema })),
    });
    const message = await stream.finalMessage();
    this.messages.push({ role: "assistant", content: message.content });
    let text = "";
    const calls: Call[] = [];
    for (const block of message.content) {
      if (block.type === "text") text += block.text;
      if (block.type === "tool_use") calls.push({ id: block.id, name: block.name, arguments: JSON.stringify(block.input) });
    }
    return { text, calls };
  }

  answer(results: Result[]): void {
    this.messages.push({
      role: "user",
      content: results.map((r) => ({ type: "tool_result" as const, tool_use_id: r.id, content: r.text })),
    });
  }
}

await run((model, prompt, task) => new Messages(model, prompt, task));
