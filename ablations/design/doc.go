// Package design says what is to be measured, before anything is.
//
//  1. [ParseSuite] reads a suite file: scenarios, models, arms, a design with
//     factors, limits, budgets, comparisons, gates. Mistakes are errors with file,
//     line and column; [JSONSchema] tells editors the same. [OpenSuite] also finds
//     the embedded suites and makes one of a single scenario.
//  2. [Suite.Expand] makes the arms explicit: those written and those of the
//     design, with every compared guard in shadow where an arm has it off, so that
//     exposure is known in all arms; and the comparisons.
//  3. [Suite.Use] looks models that are not simulated up in a models file.
//     [NewPlan] crosses scenarios x models x arms x repetitions into trials, in
//     blocks of one (scenario, model, repetition) that are shuffled by the seed.
//     [Plan.Shard] takes whole blocks, [Plan.Estimate] and [Plan.Covers] say what
//     the plan takes.
//  4. [Plan.Lock] says all of it with digests, and [PlanFromLock] makes the plan
//     of a lock again.
//
// Nothing here runs a trial; package ablations does.
package design
