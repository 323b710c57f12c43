// Package graders says of a finished session whether the task was solved.
//
//  1. A scenario declares its graders as check.Graders: predicates about the
//     final answer and the files, trajectories, and groups of these.
//  2. Whoever ran or read a session sums it up as a [Finished]: the answer, the
//     tool calls, the counts, the stop reason, and the tree that was left. A
//     recorded session holds all of it, so grading again needs no new run.
//  3. [Grade] decides every grader on its own and returns one [Verdict] each,
//     parts of groups included, and the [Overall] verdict of the trial.
//
// Grading is a pure function of the graders and the Finished session. Each
// verdict carries the grader's type, its version (raised when a type's meaning
// changes) and the SHA-256 digest of its canonical declaration, so that verdicts
// of different days can be compared or told apart.
//
// # Three verdicts
//
// pass and fail are about the session. ungraded is about the grader: it could
// not read what it needed, it was cancelled, or it broke down. An ungraded
// grader says nothing, neither pass nor fail, and its reason says why.
//
// # The trial's verdict
//
// The graders that decide are those in the scenario's own list without a weight,
// and gates. In this order:
//
//  1. a gate failed: fail, whatever else;
//  2. a deciding grader is ungraded: ungraded. Also beside a failure: if trials
//     whose grader broke counted when they failed and not when they passed, a
//     flaky grader would lower pass rates;
//  3. a deciding grader failed: fail;
//  4. else pass. Without any grader: ungraded.
//
// The trial's score is the mean of the scores of all graders of the list,
// weighted by their weights (1 where none is given), ungraded ones left out; 0
// when a gate failed. A grader with a weight that is no gate observes: it counts
// in the score alone.
//
// Groups follow the same order: a failed gate among the members fails the group;
// an ungraded member makes it ungraded; then all passes when all members pass,
// any when one does, weighted when the weighted mean score reaches pass_at (1
// unless given). The score of all and weighted is that mean, of any the best
// member's.
package graders
