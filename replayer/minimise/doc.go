// Package minimise makes a small session that shows the same as a large one, for
// a bug report or a test.
//
//  1. The session is replayed. What it shows is the signature of its report: the
//     verdict and, where it diverged, line, type, stage, turn and pointer. A session
//     that comes out as recorded shows nothing, and is refused.
//  2. What follows the turn of the divergence is cut off, and a footer put in its
//     place that says so.
//  3. Files of the initial tree are taken away, and texts (prompts, descriptions of
//     tools, answers, results, contents of files) are replaced by short ones, or by
//     placeholders of the same length: of all first, then of as many as can be
//     (delta debugging, Zeller and Hildebrandt 2002).
//  4. Each try is sealed with all that follows from the lines made to fit: digests,
//     request chains, inputs, counts. It is replayed, and kept when the signature is
//     the same. So the result is a sound session, and shows the same under the same
//     build and configuration. What the loop derives in other ways (evidence of
//     guards, canonical arguments) stays as recorded: a change that the loop would
//     feel there fails the replay and is not kept.
//
// The result is smaller, not smallest: single texts are not shortened further, no
// turn before the divergence is taken out (ids and times of all later ones depend
// on it), and the number of replays is bounded.
package minimise
