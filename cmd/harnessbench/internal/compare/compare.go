package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/harnessbench/harnessbench/results/report"
	"github.com/harnessbench/harnessbench/results/stats"
)

// Warnings of comparisons beside those of their numbers.
const (
	warnLeftOut = "scenarios that one of the two did not grade were left out"
	warnDigests = "scenarios of one name differ between the inputs: they may be other tasks"
)

// compare is b against a.
func (x pair) compare(opt Options) (Comparison, error) {
	c := Comparison{A: x.a.label, B: x.b.label, Paired: "repetition", Test: stats.TestNone, CIMethod: stats.MethodNone, Warnings: []string{}}
	e := x.gather(opt.Metric)
	c.Scenario, c.TrialsA, c.TrialsB, c.OnlyA, c.OnlyB = e.shared, e.trialsA, e.trialsB, e.onlyA, e.onlyB
	if x.loose {
		c.Paired = "scenario"
	} else {
		c.Helped, c.Hurt = e.bOnly, e.aOnly
	}
	est := stats.PairedDifference(e.pairs)
	if opt.Metric == Score {
		est = clipped(stats.MeanDifference(e.diffs), -1, 1)
	}
	c.warn(est.Warnings...)
	if e.shared > 0 {
		c.RateA, c.RateB = &e.rateA, &e.rateB
		c.Diff, c.CI, c.CIMethod = est.Value, interval(est.Lo, est.Hi), est.Method
		if err := c.test(e, x, opt); err != nil {
			return c, err
		}
		c.money(e, x.a.in.Seed)
		if opt.Margin > 0 {
			m := stats.Margin(e.pairs, opt.Margin)
			c.Margin = &Margin{m.Margin, m.Answer, m.PNonInferior, m.Equivalent, m.PEquivalent, m.Method}
			c.warn(m.Warnings...)
		}
	}
	if len(e.onlyA)+len(e.onlyB) > 0 {
		c.warn(warnLeftOut)
	}
	if x.a.model != x.b.model {
		c.warn(report.NoteTwoModels)
	}
	for id := range x.a.runs {
		da, db := x.a.in.Digests[id], x.b.in.Digests[id]
		if x.b.runs[id] != nil && da != db && da != "" && db != "" {
			c.warn(warnDigests)
			break
		}
	}
	return c, nil
}

func (c *Comparison) warn(ws ...stats.Warning) {
	for _, w := range ws {
		if !slices.Contains(c.Warnings, string(w)) {
			c.Warnings = append(c.Warnings, string(w))
		}
	}
}

// test makes the p value that was asked for.
func (c *Comparison) test(e *evidence, x pair, opt Options) error {
	var t stats.Test
	switch opt.Test {
	case McNemar:
		if e.repeated {
			return &usage{fmt.Sprintf("--test mcnemar is for one repetition, and %s and %s have more", c.A, c.B),
				"use --test sign-flip, which takes the repetitions of a scenario together"}
		}
		t = stats.McNemar(e.aOnly, e.bOnly)
	case T:
		t = stats.PairedT(e.diffs)
		c.warn("the t test supposes that the mean difference is nearly normal: it does not always hold its size with few scenarios or one repetition")
	default:
		t = stats.SignFlip(e.diffs, report.SeedOf(x.a.in.Seed, report.PurposeOverAll))
	}
	c.Test, c.P = t.Method, t.P
	c.warn(t.Warnings...)
	return nil
}

// money compares costs; nothing is said where one is unknown.
func (c *Comparison) money(e *evidence, seed uint64) {
	pa, pb := stats.CostPerPass(e.totalA), stats.CostPerPass(e.totalB)
	c.CostOfPassA, c.CostOfPassB = pa.Value, pb.Value
	c.infinite = [2]bool{pa.Infinite, pb.Infinite}
	if slices.ContainsFunc(slices.Concat(e.costA, e.costB), math.IsNaN) {
		return
	}
	r, _ := stats.Ratio(e.costA, e.costB)
	c.CostRatio, c.CostRatioCI = r.Value, open(r)
	r = stats.PerPassRatio(e.totalA, e.totalB, stats.BootstrapDraws, report.SeedOf(seed, report.PurposeCost))
	c.PassRatio, c.PassRatioCI = r.Value, open(r)
}

func open(e stats.Estimate) *OpenInterval {
	if e.Lo == nil && e.Hi == nil {
		return nil
	}
	return &OpenInterval{e.Lo, e.Hi}
}

func interval(lo, hi *float64) *Interval {
	if lo == nil || hi == nil {
		return nil
	}
	return &Interval{*lo, *hi}
}

// clipped keeps an interval within what its value can be.
func clipped(e stats.Estimate, lo, hi float64) stats.Estimate {
	if e.Lo != nil && e.Hi != nil {
		l, h := max(*e.Lo, lo), min(*e.Hi, hi)
		e.Lo, e.Hi = &l, &h
	}
	return e
}
