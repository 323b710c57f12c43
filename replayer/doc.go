// Package replayer drives the loop from a recorded session and finds the first
// place where the two disagree.
//
//  1. A tape reads the session line by line, one line ahead.
//  2. [trial.Rebuild] makes the loop's configuration from header and opening
//     parts (or the caller gives today's: [Options.Current]).
//  3. The loop and its guards run for real. Its model and its tools are served
//     from the tape; workspace changes are applied to a tree in memory.
//  4. Every event the loop emits is encoded as it would be recorded and compared
//     with the tape's next line: bytes first, then, where these differ, field by
//     field. The first difference ends the replay and is the [Divergence].
//
// A session is read once, front to back; memory does not depend on its length.
package replayer
