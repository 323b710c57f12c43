package stats

// PassHatK is the unbiased estimate of the chance that k trials out of k pass,
// from c passes in n trials: C(c,k)/C(n,k). ok is false when n < k or the
// counts are impossible. (Yao et al., "tau-bench", arXiv:2406.12045, 2024,
// section 3.)
func PassHatK(n, c, k int) (v float64, ok bool) {
	if k < 1 || n < k || c < 0 || c > n {
		return 0, false
	}
	v = 1
	for i := range k {
		if c-i <= 0 {
			return 0, true
		}
		v *= float64(c-i) / float64(n-i)
	}
	return v, true
}

// PassAtK is the unbiased estimate of the chance that at least one of k trials
// passes: 1 - C(n-c,k)/C(n,k). ok is as for [PassHatK]. (Chen et al.,
// "Evaluating Large Language Models Trained on Code", arXiv:2107.03374, 2021,
// equation 1.)
func PassAtK(n, c, k int) (v float64, ok bool) {
	none, ok := PassHatK(n, n-c, k)
	return 1 - none, ok
}

// PassHat is the mean over scenarios of [PassHatK], with the interval that
// [PassRate] describes, on the scenarios' values. It has no value when a
// scenario has fewer than k graded trials.
func PassHat(in []Counts, k int) Estimate { return overScenarios(in, k, PassHatK) }

// PassAt is the mean over scenarios of [PassAtK]; otherwise as [PassHat].
func PassAt(in []Counts, k int) Estimate { return overScenarios(in, k, PassAtK) }

func overScenarios(in []Counts, k int, f func(n, c, k int) (float64, bool)) Estimate {
	none := Estimate{Method: MethodNone, Warnings: []Warning{NoData}}
	cs := graded(in)
	if len(cs) == 0 || len(cs) < len(in) {
		return none
	}
	values, single := make([]float64, len(cs)), true
	for i, c := range cs {
		v, ok := f(c.Graded, c.Passed, k)
		if !ok {
			return none
		}
		values[i] = v
		// With exactly k trials the value is one yes or no per scenario.
		single = single && c.Graded == k
	}
	e := valueInterval(values, single)
	e.Warnings = countWarnings(in, *e.Value)
	return e
}
