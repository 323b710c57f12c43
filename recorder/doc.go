// Package recorder writes a session as a sink of the loop's events.
//
//  1. An [Encoder] turns each event into a line's type and payload bytes, keeps
//     the inputs digest, and writes nothing. A replay uses it alone: it encodes
//     what the loop does now and compares bytes with what was recorded.
//  2. A [Recorder] is a Sink: it encodes, hands the payload to a
//     [session.Writer], which numbers, chains and buffers it, and flushes at the
//     end of each turn.
//  3. Contents too large for a line go to the blob store before the line that
//     names them is sealed.
//
// Nothing of an event is kept after Emit, and a turn costs the same at turn
// 1,000 as at turn 1.
package recorder
