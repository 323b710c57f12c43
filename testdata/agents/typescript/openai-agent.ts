// A small agent on the official openai package: chat completions, streamed. Endpoint
// and key come from OPENAI_BASE_URL and OPENAI_API_KEY, as the package reads them.

import OpenAI from "openai";
import { type Call, type Conversation, type Result, run, showStatus, tools } from "./common.js";

class Chat implements Conversation {
  private readonly client = new OpenAI({ maxRetries: 4, fetch: showStatus });
  private readonly messages: OpenAI.ChatCompletionMessageParam[];

  constructor(private readonly model: string, prompt: string, task: string) {
    this.messages = [{ role: "system", content: prompt }, { role: "user", content: task }];
  }

  async ask(): Promise<{ text: string; calls: Call[] }> {
    const stream = await this.client.chat.completions.create({
      model: this.model,
      messages: this.messages,
      tools: tools.map((t) => ({
        type: "function" as const,
        function: { name: t.name, description: t.description, parameters: t.schema },
      })),
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = "";
    const calls: Call[] = [];
    for await (const chunk of stream) {
      const delta = chunk.choices[0]?.delta;
      text += delta?.content ?? "";
      for (const part of delta?.tool_calls ?? []) {
        const call = (calls[part.index] ??= { id: "", name: "", arguments: "" });
        call.id = part.id ?? call.id;
        call.name += part.function?.name ?? "";
        call.arguments += part.function?.arguments ?? "";
      }
    }
    this.messages.push({
      role: "assistant",
      content: text || null,
      ...(calls.length > 0 && {
        tool_calls: calls.map((c) => ({
          id: c.id,
          type: "function" as const,
          function: { name: c.name, arguments: c.arguments },
        })),
      }),
    });
    return { text, calls };
  }

  answer(results: Result[]): void {
    for (const r of results) this.messages.push({ role: "tool", tool_call_id: r.id, content: r.text });
  }
}

await run((model, prompt, task) => new Chat(model, prompt, task));
