// Package check proves scenarios by running trials of them on simulated models.
//
//  1. [Scenario] runs the simple agents: the oracle passes, one that does nothing
//     fails, one that only guesses fails (or what the scenario's lint says).
//  2. The graders judge what the oracle left several times over, and the oracle's
//     session is recorded twice: nothing may differ.
//  3. Each guard that the scenario stresses must fire for the model that falls
//     into its trap; each guard that it controls must stay silent for a perfect, a
//     weak and a strong model and for that very model.
//  4. Each bad setting that the scenario declares must hurt, and the good one not.
//  5. Nothing outside the workspace may be touched meanwhile.
//
// What a check finds is a [Finding]; an error means that it could not be made.
package check
