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
// # scenario.yaml
//
// Only schema, id, summary and graders are required:
//
//	schema: harnessbench/scenario/v1
//	id: retry-trap                  # lower-case letters, digits, -
//	summary: one line
//	tags: [files]                   # harms = shows what a guard costs
//	stresses: [stuck]               # guards that should fire
//	controls: [spill]               # guards that must not
//	hurts: [{guard: stuck, set: {abort: 2}, model: sim/oracle, by: fail}]  # bad settings; by fail, tokens or time;
//	                                # of fallback also the models: fallback: [sim/weak]
//	cache: warm                     # fills the response cache by a trial before; other = by the next repetition
//	limits: {turns: 16, tool_calls: 64, tokens: 200000, cost_usd: 1, wall: 10m, context_window: 16000, max_tokens: 1024}
//	tools:
//	- read_file                     # a built-in tool
//	- name: lookup                  # a scripted one
//	  kind: mock
//	  version: 1
//	  description: for the model
//	  schema: {type: object, properties: {id: {type: string}}, required: [id]}
//	  effect: read                  # or write, external
//	  takes: 50ms                   # on the trial's clock
//	  paths: [file]                 # arguments that are workspace paths; likewise commands: and hosts:
//	  responses:                    # see [Response]
//	  - {at_call: 1-3, text: "queued"}
//	  - {when: {id: '^A'}, text: "${id} is there", files: []}
//	  - {generate: {lines: 1200, line: '{n:4} {pick:a|b} {int:1-9} {hex:8} {time:2026-01-01T00:00:00Z+1m}', seed: 7, insert: [{at: 900, text: needle}]}}
//	  - {error: no such thing}
//	faults:
//	- {tool: lookup, at_call: [1, 2], kind: hang}                       # see [FaultKinds]
//	- {model: true, at_turn: 2, at_attempt: 1, kind: rate_limit, retry_after: 2s}  # see [ModelFaultKinds]
//	- {model: true, purpose: summary, kind: server}                     # not a turn's call, but one for a summary
//	permissions: {read: [], write: [], deny: [], commands: [], network: none}
//	approvals: [{tool: pay, when: {amount: '^[0-9]{4}'}, decide: deny, takes: 30s, reason: too much}]  # allow, deny or expire
//	secrets: [correct-horse-battery]   # overwritten, besides keys of known shapes
//	user: {script: [{when: 'which room', say: Room A.}]}
//	acceptance: [{file_exists: report.md}]                              # package graders/check
//	seals: ["tests/**"]
//	graders: [{type: file_equals, path: answer.txt, want: "00900"}]     # packages graders/check, graders
//	lint: {oracle: pass, noop: fail, spam: fail}                        # the defaults
//	generate: [{path: logs/big.log, lines: 1200, line: "..."}]          # workspace files
//
// Durations are written 50ms, 90s, 2m30s; sizes 512, 24KiB, 2MiB.
//
// The package runs nothing. Package builtin holds the embedded scenarios;
// ablations/trial turns a scenario into a running loop.
package scenarios
