package stats

import (
	"math"
	"testing"
)

// TestPowerOfOneRepetition compares with the sign test's power, counted by hand: 10
// scenarios that all differ, each upwards with chance 0.9. Two-sided 5 % allows one
// that goes down: 0.9^10 + 10 x 0.9^9 x 0.1.
func TestPowerOfOneRepetition(t *testing.T) {
	near(t, "power", signPower(10, 0.9, 0.05), math.Pow(0.9, 10)+10*math.Pow(0.9, 9)*0.1, 1e-12)
	near(t, "5 scenarios", signPower(5, 1, 0.05), 0, 0)
	near(t, "6 scenarios", signPower(6, 1, 0.05), 1, 0)
	// A base that never passes, and trials that are independent: a scenario differs
	// when b passes, and then upwards. At least 6 of 12 must.
	d := Design{Scenarios: 12, Repetitions: 1}
	want := 0.0
	for k := 6; k <= 12; k++ {
		want += choose(12, k) * math.Pow(0.5, 12)
	}
	near(t, "base 0", d.Power(0.5), want, 1e-9)
	d.Rate = 1
	near(t, "mirror", d.Power(-0.5), want, 1e-9)
}

func choose(n, k int) float64 {
	c := 1.0
	for i := range k {
		c *= float64(n-i) / float64(i+1)
	}
	return c
}

// TestLeastDiffering: the least p value of n flips is 2^(1-n). One scenario of
// twelve can never be significant; Holm over 8 needs nine (DESIGN section 10).
func TestLeastDiffering(t *testing.T) {
	for _, c := range []struct{ family, want int }{{0, 6}, {1, 6}, {2, 7}, {8, 9}, {24, 10}} {
		d := Design{Scenarios: c.want - 1, Repetitions: 50, Rate: 0.5, ICC: 0.4, Family: c.family}
		if got := d.LeastDiffering(); got != c.want {
			t.Errorf("family of %d: %d must differ, want %d", c.family, got, c.want)
		}
		if p := d.Power(0.45); p != 0 {
			t.Errorf("family of %d, %d scenarios: power %v, want 0", c.family, c.want-1, p)
		}
		if e := d.SmallestEffect(0.8); !math.IsNaN(e) {
			t.Errorf("family of %d, %d scenarios: smallest effect %v, want NaN", c.family, c.want-1, e)
		}
	}
}

// TestMoments: walk and moments against the closed form of the variance (Miller
// 2024, section 5): within / repetitions + variance of the scenarios' effects.
func TestMoments(t *testing.T) {
	d := Design{Scenarios: 1, Repetitions: 7, Rate: 0.3, Coupling: 0.6}
	m := d.moments(0.2, d.nodes())
	q := 0.5
	apart, alike := 0.3*(1-q)+0.7*q, 0.2
	second := (0.4*apart+0.6*alike-0.04)/7 + 0.04
	near(t, "mean", m.differ*m.by[0], 0.2, 1e-12)
	near(t, "second moment", m.differ*m.by[1], second, 1e-12)
	// Against the distribution itself.
	d = Design{Scenarios: 1, Repetitions: 9}
	m = d.moments(0.3, d.nodes())
	sum, by := 0.0, [4]float64{}
	for k, x := range walk(9, 0.3, 0) {
		sum += x
		for i := range by {
			by[i] += x * math.Pow(float64(k-9)/9, float64(i+1))
		}
	}
	near(t, "total", sum, 1, 1e-12)
	near(t, "differ", m.differ, 1-math.Pow(0.7, 9), 1e-12)
	for i := range by {
		near(t, "moment", m.differ*m.by[i], by[i], 1e-12)
	}
	near(t, "many steps", tie(mostWalked+1, 0.2, 0.15), walk(mostWalked+1, 0.2, 0.15)[mostWalked+1], 1e-3)
}

// TestManyRepetitions: nothing jumps where ties are no longer counted one by one,
// and any number is taken.
func TestManyRepetitions(t *testing.T) {
	d := Design{Scenarios: 20, Repetitions: mostWalked, Rate: 0.4, ICC: 0.4, Coupling: 0.5, Family: 3}
	more := d
	more.Repetitions++
	if a, b := d.SmallestEffect(0.8), more.SmallestEffect(0.8); b > a+0.001 || b < a-0.002 {
		t.Errorf("%d repetitions see %v, one more %v", mostWalked, a, b)
	}
	more.Repetitions = 1 << 30
	if e := more.SmallestEffect(0.8); !(e > 0 && e < 0.01) {
		t.Errorf("2^30 repetitions see %v", e)
	}
}

func TestPowerRises(t *testing.T) {
	d := Design{Scenarios: 20, Repetitions: 5, Rate: 0.4, ICC: 0.4, Coupling: 0.3, Family: 4}
	last := 0.0
	for e := 0.02; e < 0.6; e += 0.02 {
		p := d.Power(e)
		if !(p >= last && p <= 1) {
			t.Fatalf("power %v at %v, after %v", p, e, last)
		}
		last = p
	}
	for name, more := range map[string]Design{
		"scenarios":   {Scenarios: 40, Repetitions: 5, Rate: 0.4, ICC: 0.4, Coupling: 0.3, Family: 4},
		"repetitions": {Scenarios: 20, Repetitions: 10, Rate: 0.4, ICC: 0.4, Coupling: 0.3, Family: 4},
		"coupling":    {Scenarios: 20, Repetitions: 5, Rate: 0.4, ICC: 0.4, Coupling: 0.9, Family: 4},
		"family":      {Scenarios: 20, Repetitions: 5, Rate: 0.4, ICC: 0.4, Coupling: 0.3, Family: 1},
	} {
		if more.Power(0.15) <= d.Power(0.15) {
			t.Errorf("better %s: power %v, not above %v", name, more.Power(0.15), d.Power(0.15))
		}
		if more.SmallestEffect(0.8) >= d.SmallestEffect(0.8) {
			t.Errorf("better %s: smallest effect %v, not below %v", name, more.SmallestEffect(0.8), d.SmallestEffect(0.8))
		}
	}
	e := d.SmallestEffect(0.8)
	if p := d.Power(e); p < 0.8 || d.Power(e-0.001) >= 0.8 {
		t.Errorf("smallest effect %v has power %v", e, p)
	}
	if math.Abs(d.mirrored().Power(-0.2)-d.Power(0.2)) > 1e-3 {
		t.Errorf("a loss from 0.6 %v, a gain from 0.4 %v", d.mirrored().Power(-0.2), d.Power(0.2))
	}
}

func TestPowerOutOfRange(t *testing.T) {
	ok := Design{Scenarios: 10, Repetitions: 5, Rate: 0.5, ICC: 0.4}
	for name, change := range map[string]func(*Design){
		"scenarios": func(d *Design) { d.Scenarios = 0 }, "repetitions": func(d *Design) { d.Repetitions = -1 },
		"rate": func(d *Design) { d.Rate = 1.1 }, "NaN": func(d *Design) { d.Rate = math.NaN() }, "icc": func(d *Design) { d.ICC = -0.1 },
		"coupling": func(d *Design) { d.Coupling = 2 }, "alpha": func(d *Design) { d.Alpha = 1 },
	} {
		d := ok
		change(&d)
		if p := d.Power(0.1); !math.IsNaN(p) {
			t.Errorf("%s: power %v, want NaN", name, p)
		}
		if e := d.SmallestEffect(0.8); !math.IsNaN(e) {
			t.Errorf("%s: smallest effect %v, want NaN", name, e)
		}
	}
	for _, e := range []float64{0, 0.6, -0.6, math.NaN()} {
		if p := ok.Power(e); !math.IsNaN(p) {
			t.Errorf("effect %v: power %v, want NaN", e, p)
		}
	}
	// From 0.95 no gain can be seen by few scenarios, but a loss.
	high := Design{Scenarios: 10, Repetitions: 5, Rate: 0.95, ICC: 0.4}
	if e := high.SmallestEffect(0.8); !(e < -0.1) {
		t.Errorf("rate 0.95: smallest effect %v, want a loss", e)
	}
	for _, icc := range []float64{0, 1e-9, 1} {
		if e := (Design{Scenarios: 50, Repetitions: 5, Rate: 0.5, ICC: icc}).SmallestEffect(0.8); !(e > 0 && e < 0.5) {
			t.Errorf("ICC %v: smallest effect %v", icc, e)
		}
	}
}

func TestCheapest(t *testing.T) {
	d := Design{Rate: 0.5, ICC: 0.4, Family: 3}
	trials := func(s, r int) float64 { return float64(2 * s * r) }
	best, ok := d.Cheapest(0.15, 0.8, Numbers(2, 400), Numbers(1, 20), trials)
	if !ok || best.Power(0.15) < 0.8 {
		t.Fatalf("%+v %v", best, ok)
	}
	for s := 2; s < best.Scenarios; s++ { // none of the same repetitions with fewer scenarios
		if (Design{Scenarios: s, Repetitions: best.Repetitions, Rate: 0.5, ICC: 0.4, Family: 3}).Power(0.15) >= 0.8 {
			t.Errorf("%d scenarios are enough, not %d", s, best.Scenarios)
		}
	}
	// New scenarios that cost as much as 50 repetitions make repetitions the better buy.
	dear, ok := d.Cheapest(0.15, 0.8, Numbers(2, 400), Numbers(1, 20), func(s, r int) float64 { return trials(s, r) + float64(100*s) })
	if !ok || dear.Repetitions <= best.Repetitions || dear.Scenarios >= best.Scenarios {
		t.Errorf("cheapest %+v, with dear scenarios %+v", best, dear)
	}
	loss, ok := d.Cheapest(-0.15, 0.8, Numbers(2, 400), Numbers(1, 20), trials)
	if !ok || loss.Rate != 0.5 || loss.Scenarios != best.Scenarios {
		t.Errorf("a loss: %+v %v, a gain %+v", loss, ok, best)
	}
	if _, ok := d.Cheapest(0.15, 0.8, []int{5}, Numbers(1, 20), trials); ok {
		t.Error("5 scenarios are enough in a family of 3")
	}
}
