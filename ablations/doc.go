// Package ablations turns a suite into measured trials.
//
//  1. [ParseSuite] reads a suite file: scenarios, models, arms, a design,
//     repetitions. Mistakes are errors with file, line and column.
//  2. [Suite.Expand] makes the arms explicit: a leave-one-out design gives one
//     arm per guard with that guard in shadow, so that exposure is known in all
//     compared arms, and one [Comparison] per guard.
//  3. [NewPlan] crosses scenarios x models x arms x repetitions into trials in a
//     canonical order, and an order of execution shuffled by the seed and
//     interleaved over arms.
//  4. [Run] executes a plan with bounded concurrency: each trial's session is
//     written and its row journaled and synced before it counts.
//
// What one trial is, is package ablations/trial's business.
package ablations
