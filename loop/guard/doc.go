// Package guard holds the policies a harness consults, each in its own file.
//
//  1. [Table] lists every guard in the order in which their rewrites compose
//     and their stops win, with parameters, defaults and behaviour versions.
//  2. A [Profile] is a named set of settings: none, default, full. [Settings]
//     change single parameters, checked against the table.
//  3. A guard is a pure fold over events ([Guard]); a row marked Policy acts
//     inside a stage instead and has an interface of its own ([Retry], [Fallback],
//     [TruncatedEmpty], [ArgumentRepair]). Either is consulted in enforce and in shadow.
//  4. [Set] steps the guards over an event, records every firing and returns
//     what the loop has to do.
package guard
