// Package ablations turns the plan of a suite into measured trials.
//
//  1. [Run] executes a plan (package design) with bounded concurrency, block after
//     block of one (scenario, model, repetition). Providers have places of their
//     own, so that one that stalls holds up no other. The arms of a block share
//     model answers while their requests are equal; every call is made inside the
//     budgets.
//  2. The trials of a block are journaled and synced together, when the last of
//     them is done and it is known who paid for what; only then they count.
//  3. A run that was interrupted is taken up from its lock, its journal and its
//     recordings, also within a trial.
//  4. [WriteTables] makes the six tables of a run folder; [Merge] puts shards
//     together; [Regrade] asks the graders again, on what the sessions left.
//
// What one trial is, is package ablations/trial's business.
package ablations
