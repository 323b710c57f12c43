package design

import (
	"fmt"
	"time"

	"github.com/harnessbench/harnessbench/results/pricing"
	"github.com/harnessbench/harnessbench/scenarios"
	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

// Limits bound every trial of a suite. They only tighten what the scenarios say;
// zero is unset.
type Limits struct {
	strictyaml.Pos
	Turns        int           // model turns
	ToolCalls    int           // tool calls
	Tokens       int64         // input and output tokens
	CostMicroUSD int64         // as-if cost in 1e-6 USD
	Wall         time.Duration // on the trial's clock
}

// limitsFile is Limits as a suite writes them.
type limitsFile struct {
	strictyaml.Pos
	Turns     int      `yaml:"turns" doc:"model turns of one trial" min:"1" max:"100000"`
	ToolCalls int      `yaml:"tool_calls" doc:"tool calls of one trial" min:"1" max:"1000000"`
	Tokens    int64    `yaml:"tokens" doc:"input and output tokens of one trial" min:"1"`
	CostUSD   usd      `yaml:"cost_usd" doc:"cost of one trial in USD"`
	Wall      duration `yaml:"wall" doc:"time of one trial on its own clock"`
}

// UnmarshalNode implements strictyaml.Unmarshaler.
func (l *Limits) UnmarshalNode(n *strictyaml.Node) error {
	var f limitsFile
	if err := decodeBounded(n, &f); err != nil {
		return err
	}
	*l = Limits{f.Pos, f.Turns, f.ToolCalls, f.Tokens, int64(f.CostUSD), time.Duration(f.Wall)}
	return nil
}

// Budgets bound what a whole run may spend. Zero is unset.
type Budgets struct {
	strictyaml.Pos
	MicroUSD      int64 // money spent by all trials, in 1e-6 USD
	Tokens        int64 // input and output tokens spent by all trials
	TrialMicroUSD int64 // as-if cost of one trial, in 1e-6 USD; a limit on every trial
}

// budgetsFile is Budgets as a suite writes them.
type budgetsFile struct {
	strictyaml.Pos
	USD      usd   `yaml:"usd" doc:"money that the whole run may spend, in USD"`
	Tokens   int64 `yaml:"tokens" doc:"input and output tokens that the whole run may spend" min:"1"`
	TrialUSD usd   `yaml:"trial_usd" doc:"money that one trial may spend, in USD"`
}

// UnmarshalNode implements strictyaml.Unmarshaler.
func (b *Budgets) UnmarshalNode(n *strictyaml.Node) error {
	var f budgetsFile
	if err := decodeBounded(n, &f); err != nil {
		return err
	}
	*b = Budgets{f.Pos, int64(f.USD), f.Tokens, int64(f.TrialUSD)}
	return nil
}

// Money reports whether a budget in USD is set, which needs known prices.
func (b *Budgets) Money() bool { return b.MicroUSD > 0 || b.TrialMicroUSD > 0 }

// Errors says how many errored trials a suite puts up with.
type Errors struct {
	// Allow is the share of all trials, 0 to 1, that may be errored before the
	// run exits with 4. Default 0.
	Allow float64 `yaml:"allow" doc:"share of errored trials, 0 to 1, up to which a run still exits with 0" min:"0" max:"1"`
}

// UnmarshalNode implements strictyaml.Unmarshaler.
func (e *Errors) UnmarshalNode(n *strictyaml.Node) error {
	type file Errors
	return decodeBounded(n, (*file)(e))
}

// Couplings of the arms of one block.
const (
	// SharedPrefix lets the arms of one (scenario, model, repetition) share model
	// answers for as long as their requests are equal.
	SharedPrefix = "shared-prefix"
	// Independent lets every trial ask the model itself.
	Independent = "independent"
)

// tighten returns a scenario whose limits are no looser than the suite's, the
// budget of one trial among them; the scenario itself when that changes nothing.
// Its digest stays: what the task is has not changed, and the limits in force
// stand in the lock and in every session.
func (s *Suite) tighten(sc *scenarios.Scenario) *scenarios.Scenario {
	t, l := sc.Limits, &s.Limits
	t.Turns = least(t.Turns, l.Turns)
	t.ToolCalls = least(t.ToolCalls, l.ToolCalls)
	t.Tokens = least(t.Tokens, l.Tokens)
	t.CostMicroUSD = least(least(t.CostMicroUSD, l.CostMicroUSD), s.Budgets.TrialMicroUSD)
	t.Wall = least(t.Wall, l.Wall)
	if t == sc.Limits {
		return sc
	}
	out := *sc
	out.Limits = t
	return &out
}

// least is the smaller of two bounds of which zero is none.
func least[T int | int64 | time.Duration](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// usd is an amount in 1e-6 USD, written in USD: 2, 0.05.
type usd int64

// UnmarshalNode implements strictyaml.Unmarshaler.
func (u *usd) UnmarshalNode(n *strictyaml.Node) error {
	if n.Kind == strictyaml.Null {
		return nil
	}
	v, err := pricing.ParsePrice(n.Value) // the same grammar: decimals, at most six
	if n.Kind != strictyaml.Int && n.Kind != strictyaml.Float || err != nil || v == nil || *v == 0 {
		return n.Errorf("write USD like 2 or 0.05: more than 0, at most 1000000, at most 6 decimals", "%.40q is no amount", n.Value)
	}
	*u = usd(*v)
	return nil
}

// formatUSD writes an amount in 1e-6 USD as suites do.
func formatUSD(micro int64) string { return pricing.Micro(micro).String() }

// duration is written as Go does: 90s, 2m30s.
type duration time.Duration

// UnmarshalNode implements strictyaml.Unmarshaler.
func (d *duration) UnmarshalNode(n *strictyaml.Node) error {
	if n.Kind == strictyaml.Null {
		return nil
	}
	v, err := time.ParseDuration(n.Value)
	if n.Kind != strictyaml.String || err != nil || v <= 0 || v > maxWall {
		return n.Errorf("write it like 90s or 2m30s, at most 720h", "%.40q is no duration", n.Value)
	}
	*d = duration(v)
	return nil
}

const maxWall = 30 * 24 * time.Hour

// String writes the duration as suites do.
func (d duration) String() string { return fmt.Sprint(time.Duration(d)) }

// String names a budget in words.
func (b *Budgets) String() string {
	switch {
	case b.MicroUSD > 0 && b.Tokens > 0:
		return fmt.Sprintf("budget of %s USD and %d tokens", formatUSD(b.MicroUSD), b.Tokens)
	case b.MicroUSD > 0:
		return fmt.Sprintf("budget of %s USD", formatUSD(b.MicroUSD))
	}
	return fmt.Sprintf("budget of %d tokens", b.Tokens)
}
