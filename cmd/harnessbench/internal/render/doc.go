// Package render writes the reports of replays and runs for people and for CI systems.
//
//  1. [Session] and [Traffic] make a [Case] of a report: of a session of our own
//     loop, or of recorded traffic. All outputs are made of cases.
//  2. [Text] is one screen per case, [JUnit] a file that CI systems read,
//     [GitHub] annotations and the summary of a step.
//  3. [Run] is a run of a suite: its gates and errored trials go the same ways, by
//     [JUnitRun], [GitHub.AnnotateRun] and [GitHub.SummariseRun].
//  4. Whatever came from a session is untrusted: it may hold escape sequences,
//     characters that no XML holds, Markdown, or lines that a CI system would take
//     for commands. None of it leaves this package as such.
//
// Equal reports give equal bytes: no output holds a time, a duration or a host.
package render
