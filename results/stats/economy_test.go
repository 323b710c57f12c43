package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// Fieller's set by its definition: a ratio is in it when the t test of
// mean(y - ratio x) = 0 does not reject.
func TestFiellerByDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	open := 0
	for i := range 400 {
		n := 3 + r.IntN(12)
		x, y := make([]float64, n), make([]float64, n)
		most := 1 + r.IntN(6)
		for j := range x {
			x[j] = float64(r.IntN(most + 1))
			y[j] = r.Float64()
		}
		e, unbounded := Ratio(x, y)
		if e.Method != MethodFieller {
			continue
		}
		inside := func(ratio float64) bool {
			d := make([]float64, n)
			for j := range d {
				d[j] = y[j] - ratio*x[j]
			}
			mean, sd := meanSD(d)
			return math.Abs(mean)/(sd/math.Sqrt(float64(n))) <= distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Quantile(0.975)
		}
		if e.Lo != nil && *e.Lo > 0 && (inside(*e.Lo*0.999) || !inside(*e.Lo*1.001)) {
			t.Fatalf("%d: lower end %v", i, *e.Lo)
		}
		if e.Hi != nil && (inside(*e.Hi*1.001) || !inside(*e.Hi*0.999)) {
			t.Fatalf("%d: upper end %v", i, *e.Hi)
		}
		if unbounded != (e.Hi == nil) || unbounded != slices.Contains(e.Warnings, Unbounded) {
			t.Fatalf("%d: unbounded %v, %+v", i, unbounded, e)
		}
		if unbounded {
			open++
			if !inside(1e9) {
				t.Fatalf("%d: called unbounded, but 1e9 is not in it", i)
			}
		}
	}
	if open == 0 {
		t.Error("no case was unbounded: the test does not see them")
	}
}

func TestCostPerPassStates(t *testing.T) {
	in := []Totals{{"a", 2, 2, 1, ptr(0.5)}, {"b", 3, 2, 2, ptr(0.25)}, {"c", 2, 2, 0, ptr(0.75)}}
	p := CostPerPass(in)
	near(t, "cost of a pass", *p.Value, 0.5, 1e-12)
	if p.Infinite || p.Method != MethodFieller || !slices.Contains(p.Warnings, FewScenarios) {
		t.Errorf("%+v", p)
	}
	none := slices.Clone(in)
	none[0].Passed, none[1].Passed = 0, 0
	if p := CostPerPass(none); !p.Infinite || p.Value != nil {
		t.Errorf("nothing passed: %+v", p)
	}
	unknown := slices.Clone(in)
	unknown[1].CostUSD = nil
	if p := CostPerPass(unknown); p.Value != nil || p.Infinite || !slices.Contains(p.Warnings, UnknownCost) {
		t.Errorf("unknown cost: %+v", p)
	}
	if p := CostPerPass(nil); p.Value != nil || p.Infinite || !slices.Contains(p.Warnings, NoData) {
		t.Errorf("nothing: %+v", p)
	}
	free := []Totals{{"a", 1, 1, 1, ptr(0.0)}, {"b", 1, 1, 0, ptr(0.0)}, {"c", 1, 1, 1, ptr(0.0)}}
	if p := CostPerPass(free); *p.Value != 0 || p.Method != MethodNone {
		t.Errorf("free: %+v", p)
	}
}

// The frontier by its definition, and shares that are shares.
func TestFrontierByDefinition(t *testing.T) {
	for seed := range uint64(40) {
		arms := someArms(6, 8, 2, seed)
		arms[1].Scenarios = slices.Clone(arms[0].Scenarios) // two arms that are the same
		arms[1].Name = "twin"
		arms[5].Scenarios[3].CostUSD = nil
		type at struct{ cost, rate float64 }
		var points []at
		for _, a := range arms[:5] {
			var p at
			for _, s := range a.Scenarios {
				p.cost += *s.CostUSD / 16
				p.rate += float64(s.Passed) / 16
			}
			points = append(points, p)
		}
		for i, f := range Frontier(arms, 200, seed) {
			if i == 5 {
				if f.On || f.Cost != nil || f.Share != nil {
					t.Fatalf("an arm of unknown cost is placed: %+v", f)
				}
				continue
			}
			on := true
			for j, p := range points {
				q := points[i]
				if j != i && p.cost <= q.cost+1e-12 && p.rate >= q.rate-1e-12 && (p.cost < q.cost-1e-12 || p.rate > q.rate+1e-12) {
					on = false
				}
			}
			if f.On != on || (f.Beaten == "") != on || *f.Share < 0 || *f.Share > 1 {
				t.Fatalf("seed %d: %+v, want on = %v; %v", seed, f, on, points)
			}
		}
	}
}

func TestPerPassRatio(t *testing.T) {
	var a, b []Totals
	for i := range 12 {
		a = append(a, Totals{fmt.Sprint(i), 4, 4, 1 + i%3, ptr(1.0)})
		b = append(b, Totals{fmt.Sprint(i), 4, 4, 2 + i%3, ptr(0.5)})
	}
	e := PerPassRatio(a, b, 2000, 1)
	near(t, "ratio", *e.Value, (6.0/36)/(12.0/24), 1e-12)
	if !(*e.Lo < *e.Value && *e.Value < *e.Hi) || e.Method != MethodBootstrap {
		t.Errorf("%+v [%v, %v]", e, *e.Lo, *e.Hi)
	}
	for i := range b {
		b[i].Passed = count(i == 0) // many draws without a pass of b
	}
	if e := PerPassRatio(a, b, 2000, 1); e.Hi != nil || e.Lo == nil || !slices.Contains(e.Warnings, Unbounded) {
		t.Errorf("b hardly passes: %+v", e)
	}
	b[0].Passed = 0
	if e := PerPassRatio(a, b, 2000, 1); e.Value != nil {
		t.Errorf("b never passes: %+v", e)
	}
}

func TestMargin(t *testing.T) {
	pairs := func(n, reps, aOnly, bOnly int) []Pairs {
		var out []Pairs
		for i := range n {
			p := Pairs{ID: fmt.Sprint(i), N: reps, Both: reps / 2}
			if i < aOnly {
				p.AOnly = 1
			} else if i < aOnly+bOnly {
				p.BOnly = 1
			}
			out = append(out, p)
		}
		return out
	}
	for _, c := range []struct {
		in     []Pairs
		margin float64
		answer string
		equal  bool
	}{
		{pairs(100, 5, 3, 3), 0.1, NotInferior, true},
		{pairs(100, 5, 0, 60), 0.05, NotInferior, false},
		{pairs(100, 1, 60, 0), 0.05, Inferior, false},
		{pairs(10, 1, 0, 0), 0.05, Inconclusive, false}, // all agree, of few
		{pairs(30, 1, 2, 3), 0.05, Inconclusive, false},
	} {
		m := Margin(c.in, c.margin)
		if m.Answer != c.answer || m.Equivalent != c.equal {
			t.Errorf("got %s, equivalent %v; want %s, %v: %+v [%v, %v]", m.Answer, m.Equivalent, c.answer, c.equal, m, *m.Lo, *m.Hi)
		}
		if (*m.PNonInferior < 0.025) != (m.Answer == NotInferior) || (*m.PEquivalent < 0.025) != m.Equivalent {
			t.Errorf("p values disagree with the interval: %+v, %v, %v", m, *m.PNonInferior, *m.PEquivalent)
		}
	}
	if m := Margin(nil, 0.1); m.Answer != "" || m.Method != MethodNone {
		t.Errorf("nothing: %+v", m)
	}
}

// Pairs of every trial with every other are worth no more than there are trials: a
// margin must not be taken for met because of their number.
func TestMarginOfCrossPairs(t *testing.T) {
	var crossed, counted []Pairs
	for i := range 12 {
		a, b := Counts{fmt.Sprint(i), 10, 5}, Counts{fmt.Sprint(i), 10, 5}
		if i == 0 {
			b.Passed = 6
		}
		p := CrossPairs(a, b)
		if p.N != 100 || p.Worth != 10 || p.Both+p.AOnly != a.Passed*10 || p.Both+p.BOnly != b.Passed*10 {
			t.Fatalf("%+v", p)
		}
		crossed = append(crossed, p)
		p.Worth = 0
		counted = append(counted, p)
	}
	m, wrong := Margin(crossed, 0.1), Margin(counted, 0.1)
	if !(*m.Lo < *wrong.Lo && *m.Hi > *wrong.Hi) {
		t.Errorf("[%v, %v] is not wider than with every pair counted, [%v, %v]", *m.Lo, *m.Hi, *wrong.Lo, *wrong.Hi)
	}
	// As wide as 120 independent pairs are.
	if lo, _ := Tango(30.5, 29.5, 120); *m.Lo > lo+0.01 {
		t.Errorf("lower end %v; 120 pairs give %v", *m.Lo, lo)
	}
}

func TestFactorialRefusesAndWarns(t *testing.T) {
	for _, c := range []struct {
		factors int
		cells   []Cell
	}{{0, nil}, {17, nil}, {2, []Cell{{Levels: []int8{1}}}}, {1, []Cell{{Levels: []int8{0}}}}} {
		if _, err := Factorial(c.factors, c.cells, 1); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
	full := []Cell{
		{[]int8{-1, -1}, map[string]float64{"s": 0, "t": 0.5}}, {[]int8{-1, 1}, map[string]float64{"s": 0.5, "t": 0.5}},
		{[]int8{1, -1}, map[string]float64{"s": 0.5, "t": 1}}, {[]int8{1, 1}, map[string]float64{"s": 1, "t": 1}},
	}
	es, err := Factorial(2, full, 2)
	if err != nil || len(es) != 3 || len(es[0].Aliases) != 0 {
		t.Fatalf("%+v, %v", es, err)
	}
	near(t, "first", *es[0].Value, 0.5, 1e-12)
	near(t, "second", *es[1].Value, 0.25, 1e-12)
	near(t, "interaction", *es[2].Value, 0, 1e-12)
	es, err = Factorial(2, full[:3], 1)
	if err != nil || !slices.Contains(es[0].Warnings, NotOrthogonal) {
		t.Errorf("three of four cells: %+v, %v", es, err)
	}
	delete(full[0].Rates, "s")
	es, _ = Factorial(2, full, 1)
	if !slices.Contains(es[0].Warnings, UnsharedArms) || es[0].N != 1 {
		t.Errorf("a scenario that one arm lacks: %+v", es[0])
	}
}
