// Package pricing turns token counts into money.
//
// Its part of the pipeline:
//
//  1. A [Table] holds dated prices per million tokens, by model; [Simulated]
//     is the one built in, with fictitious prices, and users write others into
//     a file ([Load]). A [Book] asks several in turn.
//  2. [Table.Cost] prices the usage of one model call, or of many added up. A
//     run prices each call twice: as if its arm had made it alone (cost_usd),
//     and, where arms share answers, as what was really spent (spent_usd).
//  3. [Sum] adds the costs of many trials.
//
// What is unknown stays unknown: a missing price or token count makes the cost
// nil, never 0. Amounts are integers of pico-dollars inside, so that sums do
// not depend on the order in which trials finished.
package pricing
