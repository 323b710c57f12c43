package design

import "github.com/harnessbench/harnessbench/results"

// WorstOf is the most that a trial can take.
func WorstOf(t *Trial) Need { return (&Plan{Suite: &Suite{}}).worstOf(t) }

// NeedOf is what a trial took.
func NeedOf(t *results.Trial) Need {
	var one mean
	one.add(t)
	return one.need()
}
