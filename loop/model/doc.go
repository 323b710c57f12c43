// Package model holds what the loop says to a language model and what it hears
// back, in one provider-neutral vocabulary.
//
//  1. A conversation is a list of [Part] values: tool specs, system prompts and
//     messages. A part is written once, is never changed, and has a canonical
//     JSON form (canon/1) and its SHA-256 digest.
//  2. A [Transcript] is the append-only list of the parts of one lane together
//     with the running chain digest after each of them.
//  3. A [Request] is a view of a transcript plus [Params]. Two requests are equal
//     exactly when their chain digest and their params digest are equal; the
//     first unequal chain index is where they part.
//  4. A [Model] turns a Request into a [Response] of typed [Item] values or an
//     [Error] that says what a retry policy needs to know.
//
// The package knows no provider. Adapters live below it.
package model
