// Package faultserver is a provider on loopback that fails as real ones do, for
// tests of model adapters and of what stands on them.
//
//  1. [New] starts a server that speaks chat completions, JSON and server-sent
//     events; an [Answer] says what it answers, [Echo] if nothing else does.
//     [Wrap] puts the same faults in front of any other handler.
//  2. A [Plan] says which request meets which [Fault]: by a script, or by rates
//     with a seed, drawn from the request's body and how often it came. So the
//     faults of a run do not depend on which of its calls came first. A token
//     bucket plays a provider's rate limit.
//  3. A fault spoils an answer (a status, a reset, a cut, silence), or only
//     changes how it travels (split UTF-8, CRLF, gzip, comments): then it must
//     arrive whole.
//  4. [Server.Counts] says what was injected and what was served, counted when it
//     was done, never when it was planned.
//  5. [TestModel] runs an adapter through all of it: the right kind of error, the
//     right wait, no answer that is cut, an end soon after the context's, and no
//     goroutine left.
package faultserver
