// Package check holds the predicates that acceptance and graders share: what a
// scenario can demand of a workspace and of a final answer.
//
//  1. A [Spec] declares one predicate. It is pure data, so scenarios can hold it
//     and session headers can carry it. It is decoded strictly: from a
//     scenario's YAML ([Spec.UnmarshalYAML], errors at line:column) or from its
//     canonical JSON ([Spec.UnmarshalJSON]), which [Spec.AppendJSON] writes.
//  2. [Acceptance] and [Graders] are the two lists a scenario has. Both accept
//     both spellings of an entry, {file_exists: report.md} and
//     {type: file_exists, path: report.md}, and refuse what has no meaning in
//     them (an acceptance check has no weight and sees no trajectory).
//  3. [Eval] decides a predicate about a [Subject]: a tree of files and a final
//     answer. What the agent did wrong is a [Result] with a reason that can be
//     given to a model as an instruction; only the checker's own trouble is an
//     error.
//  4. Package graders adds what needs a whole session: trajectories, weighted
//     groups, gates, and the trial's verdict.
//
// Deciding is a pure function of spec and subject: files are visited in sorted
// order, nothing reads a clock, and reasons are bounded and free of control
// characters. Everything a subject holds is taken as hostile: files are read up
// to [MaxFile], patterns are RE2 (linear time), nesting is bounded.
//
// # Texts
//
// The final answer is trimmed of white space at both ends before it is looked
// at. Two texts are compared as their trim says: "space" trims both sides at
// both ends, "newline" drops one final line break (LF or CRLF) of each, "none"
// compares bytes. The default is space for equals, newline for file_equals and
// none for tree_equals. A sha256 is always taken over the bytes as they are.
//
// # Numbers
//
// Numbers in JSON are compared by value, exactly and at any size: 25, 25.0 and
// 2.5e1 are equal, -0 equals 0, and 9007199254740993 differs from
// 9007199254740992 although both are the same float64. A number never equals a
// string. number_within computes |got - want| <= max(tolerance,
// relative*|want|) in exact rational arithmetic.
package check
