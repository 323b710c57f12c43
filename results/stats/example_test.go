package stats_test

import (
	"fmt"

	"github.com/harnessbench/harnessbench/results/stats"
)

// Six scenarios of four trials each: repetitions of a scenario resemble each
// other, so the clustered standard error is the larger one.
func ExamplePassRate() {
	var in []stats.Counts
	for i, passed := range []int{0, 1, 2, 2, 3, 4} {
		in = append(in, stats.Counts{ID: fmt.Sprint(i), Graded: 4, Passed: passed})
	}
	r := stats.PassRate(in)
	fmt.Printf("%.2f [%.2f, %.2f] by %s\n", *r.Value, *r.Lo, *r.Hi, r.Method)
	fmt.Printf("standard error %.3f, naive %.3f\n", *r.SEClustered, *r.SENaive)
	// Output:
	// 0.50 [0.13, 0.87] by Student t over scenarios
	// standard error 0.144, naive 0.102
}

func ExampleSignFlip() {
	// Eight scenarios: what the guard changed in each one's pass rate.
	t := stats.SignFlip([]float64{0.2, 0.4, 0, 0.6, 0.2, 0.2, 0.4, 0.2}, 1)
	fmt.Printf("p = %.4f (%s, %d differ)\n", *t.P, t.Method, t.N)
	// Output: p = 0.0156 (sign flips of scenarios, exact, 7 differ)
}

func ExampleHolm() {
	fmt.Println(stats.Holm([]float64{0.01, 0.04, 0.02}))
	// Output: [0.03 0.04 0.04]
}

func ExampleWhereFired() {
	// In ten repetitions of one scenario the guard fired in both arms: five passed
	// with it alone, four in both, one in neither.
	x := stats.Exposure{ID: "loop"}
	x.Cells[stats.ExposedFail][stats.ExposedPass] = 5
	x.Cells[stats.ExposedPass][stats.ExposedPass] = 4
	x.Cells[stats.ExposedFail][stats.ExposedFail] = 1
	f := stats.WhereFired([]stats.Exposure{x}, 1)
	fmt.Printf("%+.2f [%+.2f, %+.2f] %s, p = %.3f\n", *f.Value, *f.Lo, *f.Hi, f.Method, *f.Test.P)
	// Output: +0.50 [+0.08, +0.76] Tango score, p = 0.062
}
