package stats

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// Simulations of size and power call these 20,000 times a cell.

func BenchmarkSignFlip(b *testing.B) {
	fifths := func(r *rand.Rand) float64 { return float64(r.IntN(11)-5) / 5 }
	for _, c := range []struct {
		name string
		n    int
		draw func(*rand.Rand) float64
	}{
		{"12 scenarios, fifths", 12, fifths},
		{"100 scenarios, fifths", 100, fifths},
		{"20 scenarios, all different", 20, (*rand.Rand).NormFloat64},
		{"100 scenarios, all different", 100, (*rand.Rand).NormFloat64},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			d := make([]float64, c.n)
			for i := range d {
				d[i] = c.draw(r)
			}
			for b.Loop() {
				SignFlip(d, 1)
			}
		})
	}
}

func BenchmarkWhereFired(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	var in []Exposure
	for i := range 100 {
		x := Exposure{ID: fmt.Sprint(i)}
		for range 5 {
			x.Cells[r.IntN(3)][r.IntN(3)]++
		}
		in = append(in, x)
	}
	for b.Loop() {
		WhereFired(in, 1)
	}
}
