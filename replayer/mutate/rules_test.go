package mutate

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// Every change of a session under rules is noticed: of an approver's decision, of
// what was overwritten, of the permissions, of the user's script.
func TestRules(t *testing.T) {
	set, err := guard.MustProfile(guard.ProfileDefault).With("approval", guard.Enforce)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var paths []string
	for _, id := range []string{"refund-in-full", "nobody-on-call", "settings-tour", "injected-ticket", "basic-fare"} {
		sc, err := builtin.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, id+session.Suffix)
		spec := trial.Spec{Scenario: sc, Model: "sim/trap-scope", Arm: "default", Guards: set, Seed: 1}
		if _, err := trial.Run(context.Background(), spec, trial.Options{Session: path, Sync: session.SyncNever}); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	res, err := Corpus(context.Background(), paths, Options{Sample: 2, Seed: 1, Jobs: 2})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Missed)+len(res.FalseAlarms)+len(res.Unexplained)+len(res.Unjudged) > 0 {
		t.Errorf("missed %+v\nfalse alarms %+v\nunexplained %v\nunjudged %v", res.Missed, res.FalseAlarms, res.Unexplained, res.Unjudged)
	}
	tried := map[string]bool{}
	for _, f := range res.Fields {
		tried[f.Field] = true
	}
	for _, want := range []string{"approval /decision", "approval /reason", "approval /took_us", "approval /expires_us", "tool.result /redacted", "header /config/extra/permissions", "header /config/extra/approvals/*/decide",
		"header /config/extra/user/*/say"} {
		if !tried[want] {
			t.Errorf("%s was not changed", want)
		}
	}
}
