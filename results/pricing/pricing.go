package pricing

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Micro is a price in micro-USD per million tokens, which is the same number
// as pico-USD per token: 0.25 USD per million tokens is 250000.
type Micro int64

// MaxPrice bounds a price: 1,000,000 USD per million tokens.
const MaxPrice Micro = 1e12

// picoPerUSD is the number of pico-USD in a USD.
const picoPerUSD = 1e12

// Price is what one model costs. A nil price is unknown.
type Price struct {
	Model      string // provider/name, or a prefix that ends in "*"
	Input      *Micro // input tokens that no prompt cache served
	CacheRead  *Micro // input tokens read from a prompt cache
	CacheWrite *Micro // input tokens written to a prompt cache
	Output     *Micro // output tokens, reasoning included
}

// Usage is the number of tokens of each class. nil is unknown.
type Usage struct {
	InputUncached *int64
	CacheRead     *int64
	CacheWrite    *int64
	Output        *int64
}

// Table is a dated list of prices.
type Table struct {
	Date       string  // the day on which the prices were read, YYYY-MM-DD
	Source     string  // where they were read
	Fictitious bool    // true when the prices are made up
	Prices     []Price // at most one a model
}

// Simulated returns the prices of the simulated models. They are made up, so
// that cost and cost per solved task can be shown without a real model, and
// are labelled so wherever they appear.
func Simulated() *Table {
	return &Table{
		Date:       "2026-01-01",
		Source:     "declared by the project; no provider charges them",
		Fictitious: true,
		Prices: []Price{
			simPrice("sim/weak", 250_000, 2_000_000),
			simPrice("sim/medium", 1_000_000, 5_000_000),
			simPrice("sim/strong", 3_000_000, 15_000_000),
			simPrice("sim/*", 250_000, 2_000_000),
		},
	}
}

// simPrice has the usual shape of a price list: reading a cache costs a tenth
// of input, writing it a quarter more.
func simPrice(model string, input, output Micro) Price {
	read, write := input/10, input*5/4
	return Price{Model: model, Input: &input, CacheRead: &read, CacheWrite: &write, Output: &output}
}

// Lookup returns the price of a model: an exact entry, else the longest prefix
// that fits. ok is false when the table has none.
func (t *Table) Lookup(model string) (p Price, ok bool) {
	if t == nil {
		return Price{}, false
	}
	best := -1
	for _, q := range t.Prices {
		if q.Model == model {
			return q, true
		}
		prefix, wild := strings.CutSuffix(q.Model, "*")
		if wild && strings.HasPrefix(model, prefix) && len(prefix) > best {
			best, p = len(prefix), q
		}
	}
	return p, best >= 0
}

// Cost prices usage at the model's price, in USD. It is nil when the model has
// no price, or a class of tokens has no price or no count; a class that is
// known to be 0 needs no price.
func (t *Table) Cost(model string, u Usage) *float64 {
	p, ok := t.Lookup(model)
	if !ok {
		return nil
	}
	return p.Cost(u)
}

// Cost prices usage in USD; nil when a price or count is unknown, or when the
// sum passes 9 million USD (2^63 pico-USD).
func (p Price) Cost(u Usage) *float64 {
	var total int64
	for _, c := range []struct {
		tokens *int64
		price  *Micro
	}{
		{u.InputUncached, p.Input}, {u.CacheRead, p.CacheRead}, {u.CacheWrite, p.CacheWrite}, {u.Output, p.Output},
	} {
		switch {
		case c.tokens == nil || *c.tokens < 0:
			return nil
		case *c.tokens == 0:
			continue
		case c.price == nil || *c.price < 0:
			return nil
		}
		hi, lo := bits.Mul64(uint64(*c.tokens), uint64(*c.price))
		if hi != 0 || lo > math.MaxInt64-uint64(total) {
			return nil
		}
		total += int64(lo)
	}
	usd := float64(total) / picoPerUSD
	return &usd
}

// Sum adds amounts in USD exactly to the pico-dollar, so the order does not
// matter. It is nil when an amount is nil or not finite; the sum of nothing is
// 0.
func Sum(amounts []*float64) *float64 {
	var total int64
	for _, a := range amounts {
		if a == nil || math.IsNaN(*a) || math.Abs(*a) >= math.MaxInt64/picoPerUSD {
			return nil
		}
		pico := int64(math.Round(*a * picoPerUSD))
		if sum := total + pico; (sum > total) == (pico > 0) {
			total = sum
			continue
		}
		return nil
	}
	usd := float64(total) / picoPerUSD
	return &usd
}

// ParsePrice reads a price in USD per million tokens, as "0.25": a decimal
// number >= 0 with at most 6 decimals, no exponent. An empty string is an
// unknown price (nil).
func ParsePrice(s string) (*Micro, error) {
	if s == "" {
		return nil, nil
	}
	whole, frac, _ := strings.Cut(s, ".")
	if len(frac) > 6 || len(whole) > 7 || whole == "" || strings.Trim(whole+frac, "0123456789") != "" {
		return nil, fmt.Errorf("price %q: want USD per million tokens as a decimal number with at most 6 decimals, for example 0.25", s)
	}
	n, err := strconv.ParseInt(whole+frac+strings.Repeat("0", 6-len(frac)), 10, 64)
	if err != nil || Micro(n) > MaxPrice {
		return nil, fmt.Errorf("price %q: want 0 to 1000000 USD per million tokens", s)
	}
	m := Micro(n)
	return &m, nil
}

// String gives the price as [ParsePrice] reads it: "0.25".
func (m Micro) String() string {
	s := fmt.Sprintf("%d.%06d", m/1e6, m%1e6)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// Validate reports the first thing that is wrong with the table: a model named
// twice or a price out of range.
func (t *Table) Validate() error {
	seen := make(map[string]bool, len(t.Prices))
	for i, p := range t.Prices {
		if p.Model == "" || seen[p.Model] {
			return fmt.Errorf("prices[%d]: model %q is empty or priced twice; keep one entry", i, p.Model)
		}
		seen[p.Model] = true
		for _, m := range []*Micro{p.Input, p.CacheRead, p.CacheWrite, p.Output} {
			if m != nil && (*m < 0 || *m > MaxPrice) {
				return fmt.Errorf("prices[%d]: model %q has the price %v; want 0 to 1000000 USD per million tokens", i, p.Model, *m)
			}
		}
	}
	return nil
}
