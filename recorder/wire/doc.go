// Package wire is the local endpoint: it speaks the OpenAI and Anthropic APIs on
// loopback, so that an agent loop in any language is simulated, recorded and
// replayed by a change of its base URL.
//
//  1. [Listen] opens an [Endpoint]: an HTTP server that serves one handler to
//     this machine alone, and ends in order: what is being answered is cut off,
//     and handlers have returned, before Stop does.
//  2. [NewSim] answers with simulated models. What the request shows is made the
//     same parts as the loop makes, so answers and usage are those of a run in
//     process.
//  3. [NewProxy] passes requests on to a provider and answers back, byte for
//     byte, flushed as they come.
//  4. [NewRecord] wraps either and writes what passes to a tape: canonical
//     request, raw frames, their times. Keys are passed on, and never written.
//  5. [NewReplay] answers from a tape, strictly: the first request that was not
//     recorded is told where it departs, and nothing is answered after it.
//
// The shapes of the APIs are package dialect's, equality of requests is package
// canon's, the file and the rules of replay are package tape's. What is left
// here is HTTP.
package wire
