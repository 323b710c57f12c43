// Package modeltest is the conformance suite that every model.Model passes.
//
//  1. A [Subject] says how to make the model and what it promises beyond the
//     interface: that equal requests have equal answers, that it streams.
//  2. [Conversations] are requests of every shape the loop makes: a first turn, a
//     turn after results, a retry, a question without tools.
//  3. [Test] asks them and checks the contract: a complete response or an error, no
//     change to the request, an end with its context, use by several goroutines,
//     no counting of its own, and answers that stay as they were given.
//
// An adapter's tests call Test with a model over a local server, and
// faultserver.TestModel with the same model over one that fails; a simulated
// model's tests call Test with the model itself.
package modeltest
