// Package fault wraps any model in injected trouble: errors of its endpoint, slow
// and hanging answers.
//
//  1. A [Fault] says what happens and to which calls: by turn, by attempt within
//     the turn, and with a probability that is drawn from the seed.
//  2. [First] finds the fault of a request. It is a function of (faults, seed,
//     request): a wrapper counts nothing, so a prefix that is served from a
//     recording shifts no fault behind it.
//  3. [Model] passes on what no fault strikes, untouched. An error takes the place
//     of the call: the model is not asked, and nothing is billed. A slow or hanging
//     call is asked and takes longer: in declared time, or with Options.Wait in
//     real time, for as long as its context lasts.
//  4. A [Log] keeps what was injected, with the digests of what the model gave and
//     of what the caller got instead, so that an observer can prove it.
//
// A request that is no turn of the loop (a summary, the final synthesis) meets the
// faults of its purpose, and those that strike every call. Simulated models meet their scenario's faults by the same rules, see
// package sim.
package fault
