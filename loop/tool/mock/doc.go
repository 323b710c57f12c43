// Package mock holds tools whose behaviour is written down.
//
//  1. A [Spec] is plain data, as a scenario spells it: what the model is told,
//     responses, faults, durations. [New] checks it once, with every regular
//     expression and every path, and gives a [Tool].
//  2. [Tool.With] binds a tool to a trial: its seed and its workspace. The tool
//     itself is shared between trials.
//  3. For a call the response is chosen by the arguments (When), then by the
//     call's index (AtCall, or its place in a sequence). Its text is a template
//     over the arguments.
//  4. A [Fault] then spoils what the response gave, keyed by the call's index and
//     for flaky ones by the seed.
//
// A tool counts nothing: the call's index comes with the call, so what it says is
// a function of (spec, seed, operation) and a served prefix of a recording shifts
// nothing. Durations are declared, never waited for.
package mock
