package main

import (
	"fmt"
	"strings"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/replayer"
)

// forkJSON is what fork --json prints.
type forkJSON struct {
	Schema  string           `json:"schema"`
	Session string           `json:"session"`
	Child   string           `json:"child"`
	Parent  string           `json:"parent_digest"`
	Digest  string           `json:"child_digest"`
	Set     []string         `json:"set"` // what was changed, each name=value
	Live    bool             `json:"live"`
	Shared  int              `json:"shared_prefix_turns"`
	Served  int              `json:"calls_served"`
	Asked   int              `json:"calls_live"`
	Spared  usageJSON        `json:"tokens_not_spent"`
	Spent   usageJSON        `json:"tokens_spent"`
	Parted  *replayer.Report `json:"parted"` // the replay up to where they parted
	Before  endJSON          `json:"parent_end"`
	After   endJSON          `json:"child_end"`
}

type usageJSON struct {
	InputUncached int64 `json:"input_uncached"`
	CacheRead     int64 `json:"cache_read"`
	CacheWrite    int64 `json:"cache_write"`
	Output        int64 `json:"output"`
	Reasoning     int64 `json:"reasoning"`
}

// endJSON is how a session ended.
type endJSON struct {
	Reason   event.Reason `json:"reason"`
	Evidence string       `json:"evidence,omitempty"`
	Turns    int          `json:"turns"`
	Calls    int          `json:"tool_calls"`
	Tokens   int64        `json:"tokens"`
	CostUSD  *float64     `json:"cost_usd"` // null where a price is unknown
	Answer   string       `json:"answer"`
}

func usageOf(u model.Usage) usageJSON {
	return usageJSON{u.InputUncached, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning}
}

func endOf(e *event.End) endJSON {
	out := endJSON{Reason: e.Reason, Evidence: e.Evidence, Turns: e.Turns, Calls: e.Calls, Tokens: e.Usage.Total(), Answer: e.Answer}
	if e.Cost.Known {
		out.CostUSD = new(float64(e.Cost.Pico) / 1e12)
	}
	return out
}

func (w *forking) asJSON(f *replayer.Forked) forkJSON {
	set := f.Fork.Set
	if set == nil {
		set = []string{}
	}
	return forkJSON{Schema: "harnessbench/fork/v1", Session: w.path, Child: w.out, Parent: f.Fork.Parent.String(), Digest: f.Digest.String(),
		Set: set, Live: f.Fork.Live, Shared: f.Fork.Turns, Served: f.Served, Asked: f.Asked,
		Spared: usageOf(f.Fork.Spared), Spent: usageOf(f.Spent), Parted: f.Report, Before: endOf(f.Parent), After: endOf(f.End)}
}

// print says where the two parted, what they share, what it cost and how both
// ended.
func (w *forking) print(f *replayer.Forked) {
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w.a.stdout, "  %-9s %s\n", name, cli.SanitizeLine(fmt.Sprintf(format, args...)))
	}
	changed := strings.Join(f.Fork.Set, ", ")
	if changed == "" {
		changed = "the recorded settings"
	}
	fmt.Fprintf(w.a.stdout, "%s %s\n", f.Report.Verdict, cli.SanitizeLine(w.path))
	row("under", "%s", changed)
	if f.Report.Verdict.Exit() == 0 {
		row("parted", "never: nothing that happened in it depends on that")
	} else {
		row("parted", "%s", f.Report.Reason)
	}
	if d := f.Report.Divergence; d != nil {
		row("recorded", "%s", d.Recorded)
		row("now", "%s", d.Actual)
		if d.After != "" {
			row("after", "%s", d.After)
		}
	}
	row("shared", "%s of %d; %s answered from the recording, %d tokens not spent", cli.Count(f.Fork.Turns, "turn"), f.Parent.Turns,
		cli.Count(f.Served, "call"), f.Fork.Spared.Total())
	if f.Fork.Live || f.Asked > 0 {
		row("live", "%s, %d tokens", cli.Count(f.Asked, "call"), f.Spent.Total())
	}
	w.printEnds(f)
	row("child", "%s", w.out)
	row("more", "harnessbench diff %s %s", cli.ShellQuote(w.path), cli.ShellQuote(w.out))
}

func (w *forking) printEnds(f *replayer.Forked) {
	before, after := endOf(f.Parent), endOf(f.End)
	rows := [][]string{}
	for _, e := range []struct {
		who string
		endJSON
	}{{"parent", before}, {"child", after}} {
		cost := "unknown"
		if e.CostUSD != nil {
			cost = fmt.Sprintf("%.6f", *e.CostUSD)
		}
		rows = append(rows, []string{e.who, string(e.Reason), fmt.Sprint(e.Turns), fmt.Sprint(e.Calls), fmt.Sprint(e.Tokens), cost})
	}
	_ = cli.Table(w.a.stdout, []string{"  ", "ended", "turns", "tool calls", "tokens", "cost USD"}, rows) // stdout's failure shows by itself
	if before.Answer != after.Answer && f.End.Reason != event.CancelledRun {
		fmt.Fprintf(w.a.stdout, "  the answers differ\n")
	}
}
