// Package report computes and prints the summary of a run.
//
// Its part of the pipeline:
//
//  1. The runner (or a reader of a run folder, or of any table of trials) says as
//     data what the suite wanted to know: [Meta], with its [Comparison] and
//     [Factor] values. The package knows nothing of arms but their names.
//  2. [Accumulator.Add] takes the trial rows one at a time and keeps a few words
//     of each; [Compute] does so for rows that are in memory.
//  3. [Accumulator.Summary] pools them per model and arm, and per model and
//     comparison, with the estimators and tests of results/stats; two models are
//     compared by scenario. p values are adjusted over families that the suite
//     fixed before the data, the answer is put into one line, gates are judged.
//     Scenarios tagged harms make a section of their own and are never pooled
//     with the others.
//  4. [Summary.WriteText], [Summary.WriteMarkdown] and [Summary.WriteJSON]
//     print it; [WriteFiles] puts report.md and report.json into a run folder.
//
// A summary is a pure function of its rows: no clock, no map order, and
// the draws of its tests come from the suite's seed, so that equal runs give equal
// bytes.
package report
