// Package sim holds simulated models: deterministic programs that answer like a
// language model with known habits. They make every job of harnessbench run on a
// fresh machine without a key, and they say nothing about real models; whoever
// shows their results labels them as simulated.
//
//  1. A [Script] says how one scenario is solved: facts (patterns in what the
//     model can see), ordered rules (the first whose facts are there is done),
//     traps (places where a model errs) and guesses (what it does when no rule
//     applies). [ParseScript] reads it from YAML.
//  2. A [Profile] says how often a model errs, and how fast it is. The profiles
//     of [Profiles] range from sim/oracle, which never errs, to sim/trap-GUARD,
//     which always falls into the trap that the guard is for.
//  3. [New] binds both to a seed. Generate folds the request's parts into a small
//     state, chooses a rule from it and renders the answer.
//
// An answer is a pure function of (profile, script, seed, request). The model
// knows nothing but its request: a fact that was cut away, compacted or never
// fetched is not known, so a guard helps or hurts through what it does to the
// request, never by decree.
//
// Whether a trap closes is drawn once from (profile, seed, rule), whether a
// correction frees it from (profile, seed, rule, number of corrections heeded).
// The request takes no part in a draw: a looping model does not free itself by
// asking again. Only a message that names the mistake counts as a correction.
//
// An assistant message of the request is taken for what this model itself would
// have said at that place; that is how the fold counts what was done. The fold
// of a prefix is kept under its chain digest, so a turn costs what is new in it,
// also at turn 1,000; a fresh instance gives the same answers.
package sim
