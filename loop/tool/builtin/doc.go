// Package builtin holds the file tools.
//
//  1. Five tools work on a [workspace.Workspace]: read_file, write_file,
//     edit_file, list_dir and grep. [Tools] makes them for a trial; [Spec] and
//     [Canonical] describe them without a workspace, for replay.
//  2. Canonical rewrites the path argument to /workspace/..., and fills it in
//     where it was left out, so that two spellings of one call are one call. A
//     path outside of the workspace, or a change below its .harness folder, is
//     denied before anything runs.
//  3. Run gives text with bounds: a page of a file, fifty matches, 16 KiB. What
//     was left out, and how to get it, stands in a last line in brackets.
//
// Texts are the same on every platform and name paths as the agent knows them.
// A call takes [Took] on a virtual clock.
package builtin
