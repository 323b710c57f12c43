// Package results holds the rows that a run leaves behind, and the journal
// in which they are kept until the run is done.
//
// Its part of the pipeline:
//
//  1. A trial ends; whoever ran it turns its session and its graders' verdicts
//     into one [Trial] row and some [Verdict] and [GuardEvent] rows.
//  2. [Journal.Append] writes them as one line of journal.jsonl and syncs it;
//     only then does the trial count.
//  3. After a crash [ResumeJournal] reads the journal again, drops a torn last
//     line and tells which trials need not run any more.
//  4. When all trials are in, [IndexJournal] gives their entries in canonical
//     order, one at a time, so that equal runs give equal bytes whatever
//     finished first, however many there are. Package ablations reads the rows of
//     turns and calls ([Turn], [ModelCall], [ToolCall]) from the sessions beside,
//     and results/parquet writes all six tables.
//  5. results/report computes the summary from the same rows, with the
//     estimators of results/stats and the prices of results/pricing.
//
// Every column carries its name, its Parquet type and its documentation as
// struct tags; docs/results.md is generated from them (see [Columns]).
//
// The package knows nothing of loops, sessions or scenarios: a row is plain
// data, so other tools' tables can be imported as rows too.
package results
