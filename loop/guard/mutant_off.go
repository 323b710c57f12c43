//go:build !mutant_stuck

package guard

// stuckLate is how many rounds too late stuck nudges: none. The build tag
// mutant_stuck makes it one, to prove that a replay notices.
const stuckLate = 0
