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

// 10,000 draws over 100,000 trials, in three layouts:
//
//	go test ./results/stats -run '^$' -bench Bootstrap100k
func BenchmarkBootstrap100k(b *testing.B) {
	for _, l := range []struct{ arms, scenarios, repetitions int }{{2, 500, 100}, {20, 1000, 5}, {2, 50_000, 1}} {
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
