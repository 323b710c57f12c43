// Package tape keeps recorded traffic: requests to a model's API and their
// answers, byte by byte, in a session v1 file; and it answers the same requests
// from it again, strictly.
//
//  1. [Create] begins a recording. [Recorder.Begin] gives each request its number
//     in the order in which the requests came, its lane ([Lanes]), turn and
//     attempt; [Recorder.Add] writes an exchange when it is over: the parts of the
//     request that no line carried before, the request, the answer as package
//     dialect reads it, and the wire line with the answer's bytes.
//     Exchanges stand in the file in the order of their ends, each in lines of its
//     own, so that a crash loses only what is in flight.
//  2. [Load] reads a recording back and checks all of it: chain, digests, request
//     chains, blobs. Conversations that share their beginning share its parts in
//     memory.
//  3. A [Player] answers requests from a tape. Within a lane a request is answered
//     by the first recorded exchange, not served yet, with equal API, request chain
//     and params. The first request without one is the [Divergence]; from then on
//     nothing is served.
//  4. [Player.Report] says how it came out, in the verdicts of package replayer.
//
// The package knows no network and no clock.
package tape
