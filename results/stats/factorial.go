package stats

// Cell is one arm of a two-level design.
type Cell struct {
	Levels []int8             // -1 or +1, one per factor
	Rates  map[string]float64 // mean over repetitions, by scenario
}

// Effect is one contrast of a design: half the design against the other half.
type Effect struct {
	Factors  []int // indices of the factors, rising; one = main effect
	Estimate       // difference in pass rate, high minus low, mean over scenarios
	Test     Test
	Aliases  [][]int // effects that the design cannot tell from this one
}

// Factorial estimates main effects and interactions up to order (1, 2, ...) of a full or
// fractional two-level design. Scenarios that an arm lacks are left out.
func Factorial(factors int, cells []Cell, order int) ([]Effect, error) { panic("not built") }
