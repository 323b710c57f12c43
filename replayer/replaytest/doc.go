// Package replaytest makes recorded sessions the regression tests of an agent
// loop: it replays them in go test, without network or key, and fails where the
// loop no longer does what it did.
//
//  1. A loop of your own wraps its model with [Model], which answers from the
//     recording; the loop's tools run as they are. The first request that is not
//     the recorded one fails the test, and says which part of it differs.
//  2. A loop of package loop is built by a function, and [Test] replays many
//     sessions with it: model answers and tool results come from the recordings,
//     and everything else, firings of guards and the end included, is compared.
//  3. go test -update asks the real model, from the first difference on, records
//     the sessions again, and logs what changed: look at it as at any golden file.
//     Sessions that are as recorded stay, and nothing is asked for them.
//
// A recording holds what the model was told and what it said, and no key: keys are
// no part of a request. What a tool read stands in it, too, so look at a recording
// before you commit it.
package replaytest
