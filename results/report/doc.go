// Package report computes and prints the summary of a run.
//
// Its part of the pipeline:
//
//  1. The runner (or a reader of a run folder) hands over the trial and verdict
//     rows, and says as data what the suite wanted to know: [Meta], with its
//     [Comparison] values. The package knows nothing of arms but their names.
//  2. [Compute] pools the rows per model and arm, and per model and comparison,
//     with the estimators of results/stats. Scenarios tagged harms make a
//     section of their own and are never pooled with the others.
//  3. [Summary.WriteText], [Summary.WriteMarkdown] and [Summary.WriteJSON]
//     print it; [WriteFiles] puts report.md and report.json into a run folder.
//
// A summary is a pure function of its rows: no clock, no map order, and floats
// are rounded to what anybody reads, so that equal runs give equal bytes.
package report
