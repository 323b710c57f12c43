// Package dialect knows the three wire APIs that agents speak, in both
// directions: OpenAI's chat completions and Responses, and Anthropic's Messages.
// It has no network and no clock: bytes go in, bytes come out, and the same bytes
// always give the same.
//
//  1. [Route] says which API, or which auxiliary call, a method and path name.
//  2. [Decode] reads a request into the vocabulary of package model: the parts are
//     those that the loop itself would have made, so a simulated model behind the
//     endpoint sees what it sees in process. What is wrong is a [BadRequest] with a
//     JSON pointer, and its Reply.
//  3. [Encode] says a model's answer as JSON or as the frames of a stream, and
//     [EncodeError] an error, as the official clients expect them.
//  4. [Parse] reads a recorded answer back into the model's vocabulary; it is the
//     inverse of Encode and EncodeError, and takes what other providers send. The
//     forms that an endpoint may deviate in are those that the adapter
//     loop/model/openai takes too, and both read them alike.
//  5. [Events] splits a body into server-sent events with their places in it, for
//     whoever records, replays or cuts a stream.
//  6. [ModelList], [ModelInfo] and [CountTokens] answer the auxiliary calls.
//
// Sizes, nesting and the number of values are bounded in everything that is read
// (see [MaxBody], [MaxDepth] and [MaxValues]).
package dialect
