package main

import (
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/replayer"
)

// What a child says of itself is what --set takes.
func TestSettings(t *testing.T) {
	base := loop.Settings{Task: "x", Models: []string{"sim/weak"}, Params: model.Params{Model: "sim/weak"}, Guards: guard.MustProfile(guard.ProfileDefault)}
	for change, says := range map[string]string{
		"guard.stuck.abort=4":            "guard.stuck.abort=4",
		"guard.stuck=off":                "guard.stuck.mode=off",
		"guard.spill.over=2KiB":          "guard.spill.over=2KiB",
		"guard.run_deadline.total=1m30s": "guard.run_deadline.total=1m30s",
		"guard.stuck.mode=enforce":       "",
		"limits.turns=3":                 "limits.turns=3",
		"limits.tool_calls=9":            "limits.tool_calls=9",
		"limits.tokens=1000":             "limits.tokens=1000",
		"limits.cost_usd=0.25":           "limits.cost_usd=0.25",
		"limits.wall=90s":                "limits.wall=1m30s",
		"limits.context_window=8000":     "limits.context_window=8000",
		"params.max_tokens=200":          "params.max_tokens=200",
		"params.temperature=0.5":         "params.temperature=0.5",
		"params.top_p=1":                 "params.top_p=1",
		"params.seed=7":                  "params.seed=7",
	} {
		child := base
		s, err := parseSettings([]string{change})
		if err == nil {
			err = s.apply(&child, nil)
		}
		if got := strings.Join(replayer.Changes(base, child), " "); err != nil || got != says {
			t.Errorf("%s: the child says %q, %v; want %q", change, got, err, says)
		}
	}
}

func FuzzSettings(f *testing.F) {
	for _, s := range []string{"guard.stuck.abort=4", "guard.=", "guard", "limits.turns=-1", "limits.cost_usd=NaN", "limits.wall=9999999h", "params.top_p=1e400", "=", "prompt=@", "model=x", "\x1b=\x00"} {
		f.Add(s)
	}
	base := loop.Settings{Task: "x", Models: []string{"sim/weak"}, Params: model.Params{Model: "sim/weak"}, Guards: guard.MustProfile(guard.ProfileDefault),
		Prices: map[string]loop.Prices{"sim/weak": {}}}
	f.Fuzz(func(t *testing.T, change string) {
		if strings.HasPrefix(change, "prompt=@") {
			return // reads files
		}
		s, err := parseSettings([]string{change})
		if err != nil {
			return
		}
		child := base
		if err := s.apply(&child, nil); err != nil {
			return
		}
		if _, err := loop.Freeze(child); err != nil {
			t.Errorf("%q is taken and makes no configuration: %v", change, err)
		}
		for _, says := range replayer.Changes(base, child) {
			again := base
			s, err := parseSettings([]string{says})
			if err == nil {
				err = s.apply(&again, nil)
			}
			if err != nil {
				t.Errorf("%q: the child says %q, which --set does not take: %v", change, says, err)
			}
		}
	})
}
