// Package cli is what all commands share, so that each command is one small
// file.
//
//  1. A command reads its arguments; [Sessions] expands files, folders and globs.
//  2. While it works, [Progress] says on stderr how far it is, and [Interrupts]
//     tells it when to stop.
//  3. It prints data on stdout: text through [Sanitize], so that nothing a model
//     said reaches the terminal as a control sequence, or JSON with [WriteJSON].
//  4. It returns nil or an [Exit]: the exit code with the error to print. [Worst]
//     combines the codes of many inputs.
package cli
