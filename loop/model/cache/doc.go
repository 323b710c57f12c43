// Package cache keeps model answers for requests that are asked again.
//
//  1. [KeyOf] names a request: its chain, its params (the model id among them), its
//     purpose, lane and occurrence, and the luck of the repetition, so that
//     repetitions never share an answer.
//  2. [Wrap] puts a [Store] before a model. What the store knows is answered from
//     it, unbilled and at once, and says so; what it does not know is asked and
//     stored. Errors are never stored, nor answers that came too late, that were cut
//     before they said anything, or that another model gave in a fallback.
//  3. A store that fails changes no answer. What went wrong stands beside the answer
//     ([model.Response].CacheFailed), in words that hold no path and no time.
//  4. A store reads what was there when it was opened: what a run stores is for later
//     runs, so the order in which its trials happen to run decides nothing.
//     [Memory] and [Files] are stores; package cachetest says what any must do.
package cache
