package design

import "math"

// Cover says whether a budget of the suite covers the plan.
type Cover struct {
	Budget  string   // usd or tokens
	Limit   float64  // USD, or tokens
	Worst   *float64 // the most that the plan can take; nil is unknown
	Typical *float64 // what it takes by an earlier run; nil is unknown
	State   string   // Covers, MayCut or Cuts
	Blocks  int      // that are run when it Cuts, about; of the plan's
}

// States of a Cover.
const (
	Covers = "covers"  // nothing can be cut
	MayCut = "may-cut" // whole blocks are left out if trials take more than usual
	Cuts   = "cuts"    // whole blocks will be left out
)

// Covers holds the suite's budgets against the estimate of its plan.
func (p *Plan) Covers(e *Estimate) []Cover {
	var out []Cover
	b := p.Suite.Budgets
	dearest, largest := p.firstCall()
	if b.MicroUSD > 0 {
		out = append(out, cover("usd", float64(b.MicroUSD)/1e6, e.Total.Worst.SpentUSD, e.Total.Typical.SpentUSD, dearest, e.Total.Blocks))
	}
	if b.Tokens > 0 {
		// what an earlier run's arms shared is not known in tokens: as if nothing
		out = append(out, cover("tokens", float64(b.Tokens), e.Total.Worst.Tokens, e.Total.Typical.Tokens, largest, e.Total.Blocks))
	}
	return out
}

// firstCall is the least that any model call of the plan reserves, in USD and in
// tokens: an answer of full length. A budget below it covers no call at all.
func (p *Plan) firstCall() (usd, tokens float64) {
	usd, tokens = math.Inf(1), math.Inf(1)
	for _, sc := range p.Scenarios {
		for _, m := range p.Suite.Models {
			most, _ := p.bounds(sc, m)
			output := float64(most)
			if most == 0 {
				output = AssumedOutput
			}
			tokens = min(tokens, output)
			if q, known := p.price(m); known {
				usd = min(usd, output*float64(*q.Output)/1e12)
			}
		}
	}
	return usd, tokens
}

func cover(name string, limit float64, worst, typical *float64, first float64, blocks int) Cover {
	c := Cover{Budget: name, Limit: limit, Worst: worst, Typical: typical, State: MayCut}
	switch {
	case worst != nil && *worst <= limit:
		c.State = Covers
	case limit < first:
		c.State = Cuts
	case typical != nil && *typical > limit:
		c.State = Cuts
		c.Blocks = int(float64(blocks) * limit / *typical)
	}
	return c
}
