// Package compare compares the arms of runs and of tables of trials.
//
//  1. The command reads each input, a run folder or a table of any tool, into an
//     [Input]: rows sorted by model, arm, scenario and repetition.
//  2. [Compute] says which arms are compared: every arm against a base in one
//     input, like with like in two. It calls the estimators and tests of
//     results/stats as results/report does, so that both say the same of one run,
//     on rows a fifth of the size.
//  3. The [Report] is written as text, Markdown, CSV or JSON, and
//     [Comparison.Lookup] gives its values to the conditions of --fail-if.
package compare
