package stats

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"
)

// someArms makes arms with random totals.
func someArms(arms, scenarios, repetitions int, seed uint64) []ArmTotals {
	r := rand.New(rand.NewPCG(seed, 0))
	out := make([]ArmTotals, arms)
	for a := range out {
		out[a].Name = fmt.Sprint("arm", a)
		for s := range scenarios {
			t := Totals{ID: fmt.Sprintf("s%06d", s), Trials: repetitions, Graded: repetitions, CostUSD: ptr(0.0)}
			for range repetitions {
				t.Passed += r.IntN(2)
				*t.CostUSD += 0.01 * float64(a+1) * r.Float64()
			}
			out[a].Scenarios = append(out[a].Scenarios, t)
		}
	}
	return out
}

// 10,000 draws over 100,000 trials, in several layouts; each under 2 s on 2 cores:
//
//	go test ./results/stats -run '^$' -bench Bootstrap100k
func BenchmarkBootstrap100k(b *testing.B) {
	for _, l := range []struct{ arms, scenarios, repetitions int }{{1, 1000, 100}, {2, 500, 100}, {20, 1000, 5}, {20, 5000, 1}, {2, 50_000, 1}, {1, 100_000, 1}} {
		b.Run(fmt.Sprintf("%darms_%dscenarios_%drepetitions", l.arms, l.scenarios, l.repetitions), func(b *testing.B) {
			arms := someArms(l.arms, l.scenarios, l.repetitions, 1)
			for b.Loop() {
				Frontier(arms, BootstrapDraws, 1)
			}
		})
	}
}

func TestDrawsDependOnTheSeedAlone(t *testing.T) {
	arms := someArms(3, 40, 3, 1)
	first := Frontier(arms, 500, 1)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(5))
	if second := Frontier(arms, 500, 1); !reflect.DeepEqual(first, second) {
		t.Errorf("the number of processors changed a bootstrap:\n%+v\n%+v", first, second)
	}
	if other := Frontier(arms, 500, 2); reflect.DeepEqual(first, other) {
		t.Error("the seed changes nothing")
	}
}

// What a draw adds up must not depend on which columns were left out.
func TestPackedSums(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for c := range 60 {
		n, arms := 1+r.IntN(30), 1+r.IntN(4)
		width := arms * sumsOf
		rows := make([]float64, n*width)
		for i := range n {
			for a := range arms {
				graded := 1 + c%3*r.IntN(4) // equal in a third of the cases
				passed := r.IntN(graded + 1)
				copy(rows[i*width+a*sumsOf:], []float64{r.Float64(), float64(graded + 1), float64(passed), float64(passed) / float64(graded), 1})
			}
		}
		times, want, got := make([]uint16, n), make([]float64, width), make([]float64, width)
		drawTimes(times, streamOf(uint64(c), 1))
		drawn := 0
		for i, k := range times {
			drawn += int(k)
			add(want, rows[i*width:(i+1)*width], float64(k))
		}
		p := pack(rows, n, width)
		p.sums(times, got)
		if drawn != n {
			t.Fatalf("%d scenarios drawn of %d", drawn, n)
		}
		for j := range want {
			near(t, fmt.Sprint("case ", c, " column ", j), got[j], want[j], 1e-9)
		}
	}
}
