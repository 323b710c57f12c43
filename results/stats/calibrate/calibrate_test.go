package main

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/results/stats"
)

// TestQuick is the command over few cells and suites: all bounds hold, and the
// output is the same on one core as on many.
func TestQuick(t *testing.T) {
	args := []string{"-suites", "200", "-cells", "quick"}
	var out, again, stderr bytes.Buffer
	if code := run(args, &out, &stderr); code != 0 || stderr.Len() > 0 {
		t.Fatalf("exit %d\n%s%s", code, stderr.String(), out.String())
	}
	args = []string{"-suites", "300", "-cells", "quick", "-tables", "power"}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	out.Reset()
	run(args, &out, &stderr)
	runtime.GOMAXPROCS(3)
	run(args, &again, &stderr)
	if again.String() != out.String() || !strings.Contains(out.String(), "| 30 | 5 |") {
		t.Errorf("one core:\n%s\nthree:\n%s", out.String(), again.String())
	}
}

func TestBadCommandLine(t *testing.T) {
	for _, args := range [][]string{{"-suites", "5"}, {"-cells", "some"}, {"-tables", "none"}, {"x"}, {"-nope"}} {
		var out, stderr bytes.Buffer
		if code := run(args, &out, &stderr); code != 2 || stderr.Len() == 0 || out.Len() > 0 {
			t.Errorf("%v: exit %d, stdout %q, stderr %q", args, code, out.String(), stderr.String())
		}
	}
}

// TestBreachesAreFound: bounds that nothing can break would prove nothing.
func TestBreachesAreFound(t *testing.T) {
	c := cell{30, 5, 0.4, 0.5, false}
	if c.breach(signFlip, share{20_000, 1000}) != "" || c.breach(signFlip, share{20_000, 1200}) == "" {
		t.Error("6 % is no breach of 5 %, or 5 % is one")
	}
	if c.breach(studentT, share{20_000, 1100}) != "" || c.breach(studentT, share{20_000, 700}) == "" || c.breach(studentT, share{20_000, 1300}) == "" {
		t.Error("the t test is not held to 4..6 %")
	}
	if c.breach(mcnemar, share{}) != "" {
		t.Error("what was not tested breaks a bound")
	}
	rates := []float64{0.5}
	low := []tally{{}}
	low[0].shares[passRate] = share{20_000, 18_500}
	if len(coverageBreach([2]int{30, 5}, low, rates, 0.925)) != 1 || len(coverageBreach([2]int{30, 1}, low, rates, 0.925)) != 1 || len(coverageBreach([2]int{30, 1}, low, rates, 0.95)) != 0 {
		t.Error("92.5 % coverage is judged wrongly")
	}
	// A test that takes twins for independent trials rejects too often.
	bad := job{"naive", func(r *rand.Rand, _ uint64, t *tally) {
		var a, b, n float64
		for range 10 {
			p, q := beta(r, 0.5, 0.4), beta(r, 0.5, 0.4)
			for range 5 {
				n++
				if r.Float64() < p {
					a++
				}
				if r.Float64() < q {
					b++
				}
			}
		}
		m := (a + b) / (2 * n)
		t.shares[signFlip].add(math.Abs(a-b)/n > 1.96*math.Sqrt(2*m*(1-m)/n))
	}}
	if got := simulate([]job{bad}, 1000, 1)[0].shares[signFlip]; c.breach(signFlip, got) == "" {
		t.Errorf("the naive test rejects %s %% and is not caught", percent(got))
	}
}

// TestBeta: mean and intra-class correlation are those asked for.
func TestBeta(t *testing.T) {
	r := stream(1, "beta", 0)
	for _, c := range []struct{ mean, icc float64 }{{0.5, 0.4}, {0.1, 0.4}, {0.9, 0.05}, {0.3, 0.9}, {0.3, 0}, {0.3, 1}} {
		var m mean
		for range 40_000 {
			m.add(beta(r, c.mean, c.icc))
		}
		if math.Abs(m.value()-c.mean) > 5*m.se()+1e-9 {
			t.Errorf("%v: mean %v", c, m.value())
		}
		if v := float64(m.n) * m.se() * m.se(); math.Abs(v-c.icc*c.mean*(1-c.mean)) > 0.004 {
			t.Errorf("%v: variance %v, want %v", c, v, c.icc*c.mean*(1-c.mean))
		}
		if v := shifted(0.2, c.mean, -c.mean/2); math.Abs(v-0.1) > 1e-12 {
			t.Errorf("half the passes of 0.2: %v", v)
		}
	}
}

// TestHopeless: what is not tried could not have been significant.
func TestHopeless(t *testing.T) {
	r := stream(1, "hopeless", 0)
	skipped := 0
	for n := range 400 {
		d := make([]float64, 1+r.IntN(25))
		for i := range d {
			d[i] = float64(r.IntN(11)-5) / 5 * float64(1+r.IntN(3))
		}
		if hopeless(d) {
			if skipped++; *stats.SignFlip(d, uint64(n)).P < 0.15 {
				t.Errorf("p = %v of %v was not tried", *stats.SignFlip(d, uint64(n)).P, d)
			}
		}
	}
	if skipped < 100 {
		t.Errorf("only %d skipped", skipped)
	}
}

// TestExposures: under shared-prefix a guard fires in both arms or in none, and
// some scenarios have none at all.
func TestExposures(t *testing.T) {
	for _, shared := range []bool{false, true} {
		c := cell{30, 5, 0.4, 0.5, shared}
		apart, silent := 0, 0
		for _, x := range c.exposures(stream(1, fmt.Sprint(shared), 0), helps, nil) {
			for k := 1; k < 3; k++ {
				apart += x.Cells[0][k] + x.Cells[k][0]
			}
			if x.Cells[0][0] == 5 {
				silent++
			}
		}
		if (apart == 0) != shared || silent < 10 {
			t.Errorf("shared %v: %d repetitions exposed in one arm, %d scenarios without exposure", shared, apart, silent)
		}
	}
}
