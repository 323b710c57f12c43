// Package scenarios reads scenarios: tasks for an agent, as pure data.
//
//  1. A scenario is a folder, or a txtar archive with the same names in it:
//     scenario.yaml, instruction.md, workspace/ (the tree the agent finds),
//     graders/ (files the agent never sees) and oracle.yaml (how simulated models
//     solve it). [Load], [LoadFS] and [LoadTxtar] read either form.
//  2. Names are checked before contents: no links, no special files, nothing
//     outside the folder, bounded counts and sizes.
//  3. scenario.yaml is decoded strictly (package strictyaml): unknown keys, wrong
//     types and duplicate keys are errors with file, line and column.
//  4. Declared generators are expanded: large workspace files and tool answers are
//     a few lines in the file and a pure function of them.
//  5. [Scenario.Digest] names the whole, whatever form it was read from.
//
// The package runs nothing. Package builtin holds the embedded scenarios;
// ablations/trial turns a scenario into a running loop.
package scenarios
