//go:build mutant_stuck

package guard

// stuckLate makes stuck nudge one round too late: a wrong build, by which a test
// proves that replays catch it.
const stuckLate = 1
