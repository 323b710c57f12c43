// Package stats turns counts of passes into estimates with intervals.
//
// Its part of the pipeline:
//
//  1. results/report counts, per scenario, the trials that were graded and
//     passed in one arm ([Counts]), the repetitions graded in both of two arms
//     ([Pairs]), and the trials in which a guard fired ([Exposure]).
//  2. [PassRate], [PassHat], [PassAt] estimate one arm; [PairedDifference] and
//     [MeanDifference] compare two; [WhereFired] compares two where a guard
//     fired.
//  3. Each result carries its value, its 95 % interval, the name of the method
//     that gave the interval, and its warnings: a number that must be read with
//     care says so wherever it goes.
//
// The unit of analysis is the scenario. Repetitions of one scenario resemble
// each other, so treating them as independent gives intervals that are too
// short; the naive figures are kept beside the clustered ones to show by how
// much. (Miller, "Adding Error Bars to Evals", arXiv:2411.00640, 2024.)
//
// Everything is a pure function of its arguments; the order of the arguments
// does not matter, and no random source is used.
package stats
