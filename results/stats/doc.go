// Package stats turns counts of passes into estimates with intervals.
//
// Its part of the pipeline:
//
//  1. results/report counts, per scenario, the trials that were graded and
//     passed in one arm ([Counts]) and what they cost ([Totals]), the repetitions
//     graded in both of two arms ([Pairs]), and what the firing of a guard exposed
//     in them ([Exposure]).
//  2. [PassRate], [PassHat], [PassAt], [ICC] and [CostPerPass] estimate one arm;
//     [PairedDifference], [MeanDifference] and [Ratio] compare two; [WhereFired]
//     compares two where a guard fired; [Factorial] takes a design apart.
//  3. [SignFlip], [McNemar], [PairedT] and [Margin] test; [Holm] adjusts a family.
//  4. [Resample] draws scenarios again, for the frontier and for ratios of costs.
//  5. [Design] says before a run what it could find.
//  6. Each result carries its value, its 95 % interval or p value, the name of the
//     method that gave it, and its warnings: a number that must be read with
//     care says so wherever it goes.
//
// The unit of analysis is the scenario. Repetitions of one scenario resemble
// each other, so treating them as independent gives intervals that are too
// short; the naive figures are kept beside the clustered ones to show by how
// much. (Miller, "Adding Error Bars to Evals", arXiv:2411.00640, 2024.)
//
// Everything is a pure function of its arguments; the order of scenarios does not
// matter, and what draws at random draws from the seed it is given.
package stats
