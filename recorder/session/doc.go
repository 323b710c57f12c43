// Package session is the versioned format of a session file, v1: what a line
// is, how lines are chained, read, written and edited. docs/session-format.md
// is its specification; the tables there are made from [Fields].
//
//  1. A session is one JSON object a line. Each line names its sequence number
//     and type first and ends with a piece of the running SHA-256 over all lines
//     so far. A [Writer] seals payloads into lines; [Create] puts them into a
//     file that appears under its name only when it is complete.
//  2. Large contents stand beside the file in a folder of [Blobs], named by
//     their digest and shared by the sessions of that folder.
//  3. A [Reader] streams lines back, plain or zstd. It checks syntax, sequence
//     and chain of every line, never decodes a payload by itself, and tells a
//     torn last line (recoverable) from damage (an error that names the line).
//  4. Typed decoders ([Line.Response], [Line.ToolResult], ...) decode one line
//     on demand; unknown types and fields are kept in the raw bytes.
//  5. [Inputs] is the running digest of everything a replay is served, as
//     state lines and the footer carry it; [Conversation] recomputes every
//     request from the lines before it.
//  6. A session may also be recorded traffic ([Header.IsWire]): [Wire] lines say
//     what passed between a client and a model's API, byte by byte.
//  7. [Edit] rewrites lines and seals the session again, for tests and tools.
//
// Events are turned into payloads one level up, in package recorder.
package session
