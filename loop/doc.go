// Package loop is the agent loop under test: it calls a model, runs the tools
// the model asks for, and decides when it is over.
//
//  1. [Freeze] turns [Settings] into an immutable [Config] with a digest.
//  2. [New] binds a Config to what it acts through ([Deps]): a model, tools, a
//     workspace, a clock, checks, and the one Sink that hears everything.
//  3. [Loop.Run] takes turns of eight stages: assemble, infer, parse, authorise,
//     execute, commit, evaluate, decide. The guards of package guard are
//     consulted inside them; what they decide is data that the stages perform.
//     The conversation grows at its end only, but where compaction makes room for
//     it (package prompt plans that); system prompt, tools and task never change.
//  4. Every end has a stop reason and evidence; every tool request has exactly
//     one terminal result, also when a stop comes in mid-batch.
//
// The loop reads no wall clock, no random source and no file: ids come from the
// seed, time from the trial's clock, and whoever drives it (a live model, a
// recording, a fork of one) cannot be told apart from inside.
package loop
