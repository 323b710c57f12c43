package design

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/results"
)

// tasks is a suite over scenarios whose limits are known to the tests.
const tasks = `schema: harnessbench/suite/v1
name: tasks
scenarios: ["testdata/tasks/*.txtar"]
models: [sim/weak]
arms: [{name: plain, profile: none}, {name: retrying, profile: none, guards: {retry: {mode: enforce, attempts: 3}}}]
repetitions: 5
`

func near(a *float64, want float64) bool {
	return a != nil && math.Abs(*a-want) <= 1e-9*math.Abs(want)
}

// The worst case by hand: turns x attempts calls, each of a full window and a
// full answer, unless a limit ends it before; then one call goes beyond it.
func TestWorstCase(t *testing.T) {
	p := planOf(t, tasks)
	e := p.Estimate(nil)
	if len(e.Rows) != 2 || e.Total.Trials != 20 || e.Total.Blocks != 10 || e.Total.Arms != 2 {
		t.Fatalf("%+v", e)
	}
	// first: 10 turns, window 8,000, max_tokens 1,000; arms of 1 and 3 attempts
	first := e.Rows[0]
	if first.Scenario != "first" || first.Arms != 2 || first.Blocks != 5 || first.Trials != 10 {
		t.Errorf("%+v", first)
	}
	calls := 5.0 * (10*1 + 10*3)
	if w := first.Worst; !near(w.Calls, calls) || !near(w.Tokens, calls*9000) || !near(w.USD, calls*(8000*0.3125+1000*2)/1e6) || !near(w.Seconds, 10*30*60) {
		t.Errorf("calls %v tokens %v USD %v seconds %v", *w.Calls, *w.Tokens, *w.USD, *w.Seconds)
	}
	// second: no window, so nobody knows its tokens, nor the sum
	if w := e.Rows[1].Worst; !near(w.Calls, calls) || w.Tokens != nil || w.USD != nil || e.Total.Worst.Tokens != nil || !near(e.Total.Worst.Calls, 2*calls) {
		t.Errorf("%+v", w)
	}
	if e.AssumedOutput != 1 || e.LongestTrial != 30*time.Minute {
		t.Errorf("%+v", e)
	}
	limited := planOf(t, tasks+"limits: {turns: 4, tokens: 20000, cost_usd: 0.001, wall: 1m}\n").Estimate(nil).Rows[0].Worst
	// 4 calls of the plain arm and 12 of the other; 20,000 - 1 + 9,000 tokens bound both
	if !near(limited.Calls, 5*(4+12)) || !near(limited.Tokens, 5*2*28_999) || !near(limited.Seconds, 10*60) {
		t.Errorf("calls %v tokens %v seconds %v", *limited.Calls, *limited.Tokens, *limited.Seconds)
	}
	if want := 10 * (0.001 + (8000*0.3125+1000*2)/1e6); !near(limited.USD, want) {
		t.Errorf("USD %v, want %v", *limited.USD, want)
	}
}

func TestCovers(t *testing.T) {
	row := func(usd float64) []results.Trial {
		var out []results.Trial
		for _, sc := range []string{"first", "second"} {
			out = append(out, results.Trial{Scenario: sc, Model: "sim/weak", ModelCalls: 1, CostUSD: &usd, SpentUSD: &usd})
		}
		return out
	}
	for _, c := range []struct {
		budgets string
		earlier []results.Trial
		want    []Cover
	}{
		{"", nil, nil},
		{"budgets: {trial_usd: 1}\n", nil, nil},
		{"budgets: {usd: 1}\n", nil, []Cover{{Budget: "usd", State: MayCut}}},
		{"budgets: {usd: 1}\n", row(0.01), []Cover{{Budget: "usd", State: MayCut}}},
		{"budgets: {usd: 1}\n", row(0.1), []Cover{{Budget: "usd", State: Cuts, Blocks: 5}}}, // 20 trials for 2 USD
		{"budgets: {usd: 0.001}\n", nil, []Cover{{Budget: "usd", State: Cuts}}},             // 1,000 tokens for 0.002 USD
		{"budgets: {tokens: 999}\n", nil, []Cover{{Budget: "tokens", State: Cuts}}},
	} {
		p := planOf(t, tasks+c.budgets)
		e := p.Estimate(c.earlier)
		got := p.Covers(&e)
		if len(got) != len(c.want) {
			t.Errorf("%s: %+v", c.budgets, got)
			continue
		}
		for i, g := range got {
			if w := c.want[i]; g.Budget != w.Budget || g.State != w.State || g.Blocks != w.Blocks {
				t.Errorf("%s: %+v, want %+v", c.budgets, g, w)
			}
		}
	}
	bounded := strings.Replace(tasks, "*.txtar", "first.txtar", 1)
	for _, b := range []struct {
		budget string
		state  string
	}{{"usd: 0.9", Covers}, {"usd: 0.8999", MayCut}, {"tokens: 1800000", Covers}, {"tokens: 1799999", MayCut}} {
		p := planOf(t, bounded+"budgets: {"+b.budget+"}\n")
		e := p.Estimate(nil)
		if got := p.Covers(&e); got[0].State != b.state {
			t.Errorf("%s: %+v", b.budget, got)
		}
	}
}

func TestDuration(t *testing.T) {
	for _, c := range []struct {
		seconds float64
		longest time.Duration
		n       int
		want    time.Duration
	}{
		{100, time.Second, 4, 25 * time.Second},
		{100, time.Minute, 4, time.Minute},
		{100, 0, 0, 100 * time.Second},
		{1e300, 0, 1, math.MaxInt64},
	} {
		if got := Duration(c.seconds, c.longest, c.n); got != c.want {
			t.Errorf("%v: %s", c, got)
		}
	}
}
