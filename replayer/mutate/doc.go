// Package mutate measures what a replay is worth as a test: it changes one thing
// of a recorded session at a time, seals the session again, and demands that the
// replay says no.
//
//  1. Enumerate: every value of every line gives changes of its type (another
//     digit or letter, a flipped truth value, an element more, less, or in another
//     place, the field taken away); every line can be missing, doubled or swapped.
//     Changes that mean nothing (order of keys, unknown fields and lines, labels)
//     are made too: these must not be caught.
//  2. Sample: of each class, that is the field of a line type and the kind of
//     change, a seeded choice over all sessions is made ([Options.Sample]); every
//     class that occurs is tried.
//  3. Try: the changed session is sealed and replayed. It is caught when the
//     verdict is not one of success and no line before the changed one is blamed.
//  4. Tell apart: where only a digest over the inputs objects, the digests are made
//     anew as well, as a careful forger would, and the session is replayed once
//     more. If the loop itself now finds no difference, the change was caught by
//     the digest alone. [Reasons] says for each such field why nothing depends on
//     it; a field that is missing there, or stands there and is caught by
//     behaviour, is reported.
package mutate
