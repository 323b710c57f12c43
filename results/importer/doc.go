// Package importer turns what other tools recorded into sessions and trials of
// ours.
//
//  1. [Formats] is the table of importers by name. Each reads one kind of file as
//     a stream and hands over one neutral [Session] after the other; to add one
//     is to write its reader and a row.
//  2. [Import] checks each session as a whole (every tool result answers a call,
//     no trial twice), plays it as events of the loop into the sink that the
//     caller opened for it, a recorder for example, and keeps its row.
//  3. [Result] holds what was read: the scenarios for the run's lock, the rows of
//     the journal ([Result.Entries]) and the counts to print ([Result.Counts]).
//
// What the other tool did not record stays unknown: tokens, costs and times are
// null in the rows, the session's header names them under "unknown", and there
// are no request lines, since nobody can say what was sent. Such sessions can be
// shown, graded and backtested; they cannot be replayed.
package importer
