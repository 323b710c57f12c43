// Package mutant makes wrong builds of the loop, by which tests prove that a
// replay notices.
//
//  1. A mutant is one wrong decision at one place of the loop or of a guard: a
//     branch under [Is] with its name.
//  2. In an ordinary build Is is false for every name and known to be when it is
//     compiled: nothing of a mutant is in the program.
//  3. Under the build tag mutants one of them is chosen by HARNESSBENCH_MUTANT; with
//     none the program is right.
package mutant
