// Package openai asks models behind any endpoint that speaks OpenAI's chat
// completions: OpenAI itself, OpenRouter, Groq, vLLM, llama.cpp, Ollama, and our
// own serve command. It is the only importer of go-openai.
//
//  1. [New] checks [Options] once. All models of a process share one HTTP
//     transport, which is fit for hundreds of calls at a time to one host.
//  2. A request becomes a chat completion: go-openai writes the body, and what its
//     types cannot say (an empty text, a temperature of 0, a provider's own
//     parameters) is spliced in below it.
//  3. The call goes out under a watch with four limits: connect, first byte,
//     silence between bytes, the whole. Redirects are not followed, so a key
//     reaches no host but the one it was given for.
//  4. The answer is repaired before go-openai reads it: endpoints leave out ids,
//     write arguments as objects, put errors into a 200, send bytes that are no
//     UTF-8. Each payload is reduced to the few fields that are needed, in the
//     types that are expected. Server-sent events are read here as well: CR, LF
//     and CRLF, comments, data of several lines.
//  5. The pieces of a stream are put together: reasoning, texts, and calls by
//     their index, or by their id where there is none. A stream that ends without
//     a finish reason and without [DONE] is an error, never an answer.
//  6. What went wrong becomes a [model.Error] of the right kind with the
//     provider's own words, without the key.
package openai
