// Package fault wraps any tool in injected trouble: errors, hangs, results that
// are cut, garbled or late.
//
//  1. A [Fault] says what happens and to which calls of a tool: by the call's
//     number, which comes with the operation, and for flaky ones with a probability
//     that is drawn from the seed. A wrapper counts nothing, so a prefix that is
//     served from a recording shifts no fault behind it.
//  2. [First] finds the fault of a call. It is a function of (faults, seed, tool,
//     number).
//  3. [Tool] wraps one tool, [Runner] whatever runs operations. A call that no fault
//     strikes passes untouched. Error, flaky and hang take the place of the call:
//     the tool is not run and changes nothing. Slow, truncate and malformed spoil
//     how a call that was made looks.
//  4. What a fault takes is declared, or with Options.Wait really waited for, as
//     long as the call's context lasts.
//  5. A [Log] keeps what was injected, with the digests of what the tool gave and of
//     what the caller got instead, so that an observer can prove it.
//
// Mock tools meet their faults by the same rules, see package mock.
package fault
