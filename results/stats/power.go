package stats

// Design is how many trials a comparison of two arms has, and what is assumed of them.
type Design struct {
	Scenarios   int
	Repetitions int
	Rate        float64 // pass rate of the base, assumed, 0..1
	ICC         float64 // of repetitions within a scenario, 0..1
	Coupling    float64 // correlation of the two arms' trials of one repetition beside it, 0 = independent
	Alpha       float64 // two-sided, after adjustment
	Family      int     // comparisons in the family, for Holm's first step; 0 = 1
}

// Power is the chance to see an effect.
func (d Design) Power(effect float64) float64 { panic("not built") }

// SmallestEffect is the least difference in pass rate that is seen with the given power;
// NaN when none is.
func (d Design) SmallestEffect(power float64) float64 { panic("not built") }
