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
