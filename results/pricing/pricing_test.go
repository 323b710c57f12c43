package pricing

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func ptr[T any](v T) *T { return &v }

func usage(in, read, write, out int64) Usage { return Usage{&in, &read, &write, &out} }

func TestCost(t *testing.T) {
	table := Simulated()
	if err := table.Validate(); err != nil {
		t.Fatal(err)
	}
	noCache := Price{Model: "m", Input: ptr(Micro(1_000_000)), Output: ptr(Micro(2_000_000))}
	for _, c := range []struct {
		name string
		got  *float64
		want float64 // NaN = unknown
	}{
		{"a million of each, weak", table.Cost("sim/weak", usage(1e6, 1e6, 1e6, 1e6)), 0.25 + 0.025 + 0.3125 + 2},
		{"medium", table.Cost("sim/medium", usage(1000, 0, 0, 100)), 0.0015},
		{"strong", table.Cost("sim/strong", usage(1, 0, 0, 0)), 3e-6},
		{"other simulated models by prefix", table.Cost("sim/trap-stuck", usage(0, 0, 0, 1e6)), 2},
		{"nothing used", table.Cost("sim/weak", usage(0, 0, 0, 0)), 0},
		{"no such model", table.Cost("openai/x", usage(1, 0, 0, 1)), math.NaN()},
		{"no table", (*Table)(nil).Cost("sim/weak", usage(1, 0, 0, 1)), math.NaN()},
		{"unknown count", table.Cost("sim/weak", Usage{InputUncached: ptr(int64(5))}), math.NaN()},
		{"negative count", table.Cost("sim/weak", usage(-1, 0, 0, 0)), math.NaN()},
		{"no price for a class in use", noCache.Cost(usage(1, 1, 0, 1)), math.NaN()},
		{"no price for a class not in use", noCache.Cost(usage(1e6, 0, 0, 1e6)), 3},
		{"too much", table.Cost("sim/strong", usage(1e18, 0, 0, 0)), math.NaN()},
		{"sum too much", table.Cost("sim/strong", usage(6e11, 6e11, 6e11, 6e11)), math.NaN()},
	} {
		switch {
		case math.IsNaN(c.want) && c.got != nil:
			t.Errorf("%s: %v, want unknown", c.name, *c.got)
		case !math.IsNaN(c.want) && (c.got == nil || *c.got != c.want):
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}

func TestLookup(t *testing.T) {
	table := &Table{Prices: []Price{{Model: "a/*"}, {Model: "a/b*"}, {Model: "a/bc"}, {Model: "*"}}}
	for model, want := range map[string]string{"a/bc": "a/bc", "a/bcd": "a/b*", "a/x": "a/*", "z": "*"} {
		if p, ok := table.Lookup(model); !ok || p.Model != want {
			t.Errorf("%s has the price of %q, want %q", model, p.Model, want)
		}
	}
}

// TestSumIgnoresOrder: floats added as they come would differ.
func TestSumIgnoresOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	amounts := make([]*float64, 10_000)
	for i := range amounts {
		amounts[i] = ptr(float64(rng.IntN(1e9)) / 1e12)
	}
	want := Sum(amounts)
	for range 20 {
		rng.Shuffle(len(amounts), func(i, j int) { amounts[i], amounts[j] = amounts[j], amounts[i] })
		if got := Sum(amounts); *got != *want {
			t.Fatalf("sum %v, then %v", *want, *got)
		}
	}
	if got := Sum(nil); got == nil || *got != 0 {
		t.Errorf("sum of nothing is %v, want 0", got)
	}
	for _, bad := range [][]*float64{{ptr(1.0), nil}, {ptr(math.NaN())}, {ptr(math.Inf(1))}, {ptr(9e6), ptr(9e6)}} {
		if got := Sum(bad); got != nil {
			t.Errorf("sum is %v, want unknown", *got)
		}
	}
}

func TestParsePrice(t *testing.T) {
	for _, s := range []string{"0", "0.25", "3", "15.000001", "1000000"} {
		m, err := ParsePrice(s)
		if err != nil || m.String() != s {
			t.Errorf("%q reads as %v, %v", s, m, err)
		}
	}
	if m, err := ParsePrice(""); m != nil || err != nil {
		t.Errorf("empty: %v, %v; want unknown", m, err)
	}
	for _, s := range []string{"-1", "1e3", "0.0000001", ".5", "1000001", "99999999", "NaN", "1.2.3", " 1", "+1"} {
		if m, err := ParsePrice(s); err == nil {
			t.Errorf("%q reads as %v, want an error", s, m)
		}
	}
}

func FuzzParsePrice(f *testing.F) {
	f.Add("0.25")
	f.Add("1000000")
	f.Fuzz(func(t *testing.T, s string) {
		m, err := ParsePrice(s)
		if err != nil || m == nil {
			return
		}
		again, err := ParsePrice(m.String())
		if err != nil || *again != *m {
			t.Fatalf("%q reads as %v, written %q, read again %v, %v", s, *m, m.String(), again, err)
		}
	})
}

func TestValidate(t *testing.T) {
	for want, table := range map[string]*Table{
		"priced twice": {Prices: []Price{{Model: "a"}, {Model: "a"}}},
		"empty":        {Prices: []Price{{}}},
		"want 0 to":    {Prices: []Price{{Model: "a", Input: ptr(Micro(-1))}}},
	} {
		if err := table.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
