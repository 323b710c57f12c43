package replayer_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// record runs one embedded scenario and returns its session's path.
func record(t testing.TB, dir, scenario, model, profile string) string {
	t.Helper()
	sc, err := builtin.Get(scenario)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, fmt.Sprintf("%s.%s.%s.session.jsonl", scenario, strings.ReplaceAll(model, "/", "_"), profile))
	spec := trial.Spec{Scenario: sc, Model: model, Arm: profile, Guards: guard.MustProfile(profile), Seed: 1}
	if _, err := trial.Run(context.Background(), spec, trial.Options{Session: path, Sync: session.SyncNever}); err != nil {
		t.Fatal(err)
	}
	return path
}

// recordAll records every embedded scenario under the default profile and under
// none.
func recordAll(t testing.TB, dir string) []string {
	t.Helper()
	all, err := builtin.All()
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, sc := range all {
		for _, profile := range []string{guard.ProfileDefault, guard.ProfileNone} {
			paths = append(paths, record(t, dir, sc.ID, "sim/weak", profile))
		}
	}
	return paths
}

func TestStrictReplayIsExact(t *testing.T) {
	for _, path := range recordAll(t, t.TempDir()) {
		rep, err := replayer.File(context.Background(), path, replayer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if rep.Verdict != replayer.Exact {
			t.Errorf("%s: %s %s %+v", filepath.Base(path), rep.Verdict, rep.Reason, rep.Divergence)
		}
	}
}

func TestForeignFormat(t *testing.T) {
	dir := t.TempDir()
	raw, err := os.ReadFile(record(t, dir, "retry-trap", "sim/weak", guard.ProfileDefault))
	if err != nil {
		t.Fatal(err)
	}
	for pointer, values := range map[string]map[string]replayer.Verdict{
		"/v":     {"harnessbench/session/2": replayer.TooNew, "other/1": replayer.Corrupt},
		"/canon": {"canon/2": replayer.Corrupt},
	} {
		for value, want := range values {
			var edited bytes.Buffer
			err := session.Edit(&edited, bytes.NewReader(raw), func(l *session.Line, emit func(session.Type, []byte) error) error {
				payload := l.Payload()
				if l.Type == session.TypeHeader {
					var err error
					if payload, err = l.With(pointer, fmt.Appendf(nil, "%q", value)); err != nil {
						return err
					}
				}
				return emit(l.Type, payload)
			})
			if err != nil {
				t.Fatal(err)
			}
			rep, err := replayer.Reader(context.Background(), session.NewReader(&edited), nil, "x", replayer.Options{})
			if err != nil || rep.Verdict != want || rep.Verdict.Exit() != 3 {
				t.Errorf("%s = %s: %v %v, want %s", pointer, value, rep, err, want)
			}
		}
	}
}
