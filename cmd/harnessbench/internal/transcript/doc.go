// Package transcript shows sessions to people and compares two of them.
//
//  1. [Show] streams a session and prints a transcript: what it was recorded
//     under, then turn by turn what the model said and called, what came back,
//     which guards fired (in the margin), and at the end how it came out. It
//     holds one turn's calls and counters, never the session.
//  2. [ShowJSON] prints the same lines decoded, one JSON object a line.
//  3. [Compare] reads two sessions side by side, a turn of each at a time, and
//     says what is equal, what differs, and what differs first.
//  4. All text passes through a printer that neutralises control characters,
//     wraps to the width and cuts what is long.
//
// What is printed depends on the session and the options alone.
package transcript
