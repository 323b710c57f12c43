// Package trial makes a ready loop from a scenario, an arm and a model, and runs
// it; or from a recorded session's header, for replay.
//
//  1. [Spec] names a trial. [Spec.Settings] is its frozen configuration: prompt,
//     tools, guards, limits, prices, checks; of a model that is not simulated its
//     [Card] says the rest.
//  2. [Run] lays the scenario's tree, binds the tools to it, runs the loop with a
//     simulated model, in virtual time, or with what a [Provider] gives, in real
//     time, records the session, and grades what was left.
//  3. [Rebuild] reads a configuration back from a session's header and opening
//     parts, so that a replay needs nothing but the session.
//  4. [Tally] counts what tables and graders need from the same events.
package trial
