package stats

import "math"

// MethodMN names the interval of [StratifiedMN].
const MethodMN = "Miettinen-Nurminen score, stratified"

// Stratum is two groups of trials in one scenario.
type Stratum struct{ NA, PassA, NB, PassB int }

// weight is the Mantel-Haenszel weight of a risk difference.
func (s Stratum) weight() float64 {
	na, nb := float64(s.NA), float64(s.NB)
	return na * nb / (na + nb)
}

// StratifiedMN returns the 95 % score interval of the common difference of two
// independent proportions (b - a) over strata, weighted n_a n_b/(n_a+n_b). Strata
// with an empty group say nothing; without any other the interval is [-1, 1].
// (Miettinen and Nurminen, "Comparative analysis of two rates", Statistics in
// Medicine 4, 1985: equations 8 to 10, and 16 for strata.)
func StratifiedMN(in []Stratum) (lo, hi float64) {
	var d, weights float64
	for _, s := range in {
		if s.NA > 0 && s.NB > 0 {
			w := s.weight()
			d += w * (float64(s.PassB)/float64(s.NB) - float64(s.PassA)/float64(s.NA))
			weights += w
		}
	}
	if weights == 0 {
		return -1, 1
	}
	d /= weights
	return bisect(-1, d, func(x float64) bool { return mnScore(in, x) > z95 }),
		bisect(d, 1, func(x float64) bool { return mnScore(in, x) >= -z95 })
}

// mnScore is the score statistic of the hypothesis that all strata differ by
// delta: falling in delta.
func mnScore(in []Stratum, delta float64) float64 {
	var num, v float64
	for _, s := range in {
		if s.NA == 0 || s.NB == 0 {
			continue
		}
		na, nb, w := float64(s.NA), float64(s.NB), s.weight()
		pa := restricted(s, delta)
		pb := clip(pa+delta, 0, 1)
		num += w * (float64(s.PassB)/nb - float64(s.PassA)/na - delta)
		v += w * w * (pb*(1-pb)/nb + pa*(1-pa)/na) * (na + nb) / (na + nb - 1)
	}
	switch {
	case v > 0:
		return num / math.Sqrt(v)
	case num > 0:
		return math.Inf(1)
	case num < 0:
		return math.Inf(-1)
	}
	return 0
}

// restricted is the maximum likelihood estimate of group a's proportion under
// the hypothesis that b's is higher by delta: the root of a cubic that lies in
// bounds, in the closed form of the paper's appendix.
func restricted(s Stratum, delta float64) float64 {
	n1, x1 := float64(s.NB), float64(s.PassB)
	n0, x0 := float64(s.NA), float64(s.PassA)
	n, x := n1+n0, x1+x0
	l3 := n
	l2 := (n1+2*n0)*delta - n - x
	l1 := (n0*delta-n-2*x0)*delta + x
	l0 := x0 * delta * (1 - delta)
	b := l2 / (3 * l3)
	q := b*b*b - l1*l2/(6*l3*l3) + l0/(2*l3)
	p := math.Copysign(math.Sqrt(max(b*b-l1/(3*l3), 0)), q)
	root := -b
	if p != 0 {
		a := (math.Pi + math.Acos(clip(q/(p*p*p), -1, 1))) / 3
		root = 2*p*math.Cos(a) - b
	}
	return clip(root, max(0, -delta), min(1, 1-delta))
}
