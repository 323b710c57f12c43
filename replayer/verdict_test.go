package replayer_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// replayBytes replays a session given as bytes.
func replayBytes(t *testing.T, b []byte, o replayer.Options) *replayer.Report {
	t.Helper()
	rep, err := replayer.Reader(context.Background(), session.NewReader(bytes.NewReader(b)), nil, "x.session.jsonl", o)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func recorded(t *testing.T, scenario, profile string) []byte {
	t.Helper()
	b, err := os.ReadFile(record(t, t.TempDir(), scenario, "sim/weak", profile))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// edited rewrites a session line by line and seals it again; fn returns the
// payloads that stand in a line's place.
func edited(t *testing.T, b []byte, fn func(l *session.Line) [][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	err := session.Edit(&out, bytes.NewReader(b), func(l *session.Line, emit func(session.Type, []byte) error) error {
		for _, p := range fn(l) {
			if err := emit(l.Type, p); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestVerdicts(t *testing.T) {
	good := recorded(t, "retry-trap", guard.ProfileDefault)
	lines := bytes.SplitAfter(good, []byte("\n"))
	last := len(lines) - 2
	firstState := func(l *session.Line, n int) bool { return l.Type == session.TypeState && l.Turn >= n }
	cases := map[string]struct {
		data []byte
		want replayer.Verdict
		say  string // in the reason
	}{
		"as recorded":    {good, replayer.Exact, ""},
		"no footer":      {bytes.Join(lines[:last], nil), replayer.Exhausted, "no footer"},
		"torn":           {good[:len(good)-10], replayer.Exhausted, "torn"},
		"two turns only": {bytes.Join(lines[:12], nil), replayer.Exhausted, "the recording ends in turn"},
		"empty":          {nil, replayer.Corrupt, "file is empty"},
		"a byte changed": {bytes.Replace(good, []byte("sim/weak"), []byte("sim/weal"), 1), replayer.Corrupt, "line 1, byte"},
		"annotation changed": {edited(t, good, func(l *session.Line) [][]byte {
			if l.Type == session.TypeHeader {
				p, err := l.With("/labels", []byte(`{"arm":"renamed"}`))
				if err != nil {
					t.Fatal(err)
				}
				return [][]byte{p}
			}
			return [][]byte{l.Payload()}
		}), replayer.Exact, ""},
		"key order changed": {edited(t, good, func(l *session.Line) [][]byte {
			if l.Type == session.TypeAcceptance || l.Type == session.TypeState {
				p := l.Payload()
				if cut := bytes.Index(p[1:], []byte(`,"`)) + 1; cut > 0 {
					p = append(append([]byte{}, p[cut:]...), p[:cut]...)
				}
				return [][]byte{p}
			}
			return [][]byte{l.Payload()}
		}), replayer.Normalised, "equal in meaning"},
		"the recorded one stopped earlier": {edited(t, good, func(l *session.Line) [][]byte {
			if l.Type != session.TypeFooter && l.Turn > 2 {
				return nil
			}
			return [][]byte{l.Payload()}
		}), replayer.Exhausted, "the recorded one had stopped"},
		"an answer more": {edited(t, good, func(l *session.Line) [][]byte {
			if firstState(l, 2) && l.Turn == 2 {
				return [][]byte{l.Payload(), l.Payload()}
			}
			return [][]byte{l.Payload()}
		}), replayer.Diverged, "turn"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			rep := replayBytes(t, c.data, replayer.Options{})
			if rep.Verdict != c.want || !strings.Contains(rep.Reason, c.say) {
				t.Errorf("%s (%s) %+v; want %s (%s)", rep.Verdict, rep.Reason, rep.Divergence, c.want, c.say)
			}
		})
	}
}

// current gives the configuration of a scenario as a change has made it.
func current(t *testing.T, scenario string, change func(*trial.Spec)) func(*session.Header) (*trial.Rebuilt, error) {
	return func(h *session.Header) (*trial.Rebuilt, error) {
		sc, err := builtin.Get(scenario)
		if err != nil {
			t.Fatal(err)
		}
		spec := trial.Spec{Scenario: sc, Model: h.Model, Arm: "default", Guards: guard.MustProfile(guard.ProfileDefault), Seed: 1}
		change(&spec)
		return spec.Rebuilt()
	}
}

// Under today's configuration the first divergence is where the change first
// matters.
func TestCurrentConfiguration(t *testing.T) {
	good := recorded(t, "retry-trap", guard.ProfileDefault)
	set := func(s *trial.Spec, name, param, value string) {
		var err error
		if s.Guards, err = s.Guards.WithParam(name, param, value); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("nothing changed", func(t *testing.T) {
		rep := replayBytes(t, good, replayer.Options{Current: current(t, "retry-trap", func(*trial.Spec) {})})
		if rep.Verdict != replayer.Exact {
			t.Errorf("%s %s", rep.Verdict, rep.Reason)
		}
	})
	t.Run("prompt", func(t *testing.T) {
		rep := replayBytes(t, good, replayer.Options{Current: current(t, "retry-trap", func(s *trial.Spec) {
			s.Prompt = strings.Replace(trial.SystemPrompt, "Look before you act", "Think before you act", 1)
		})})
		d := rep.Divergence
		if rep.Verdict != replayer.Diverged || d.Turn != 1 || d.Stage != "assemble" || d.Pointer != "/body/content/0/text" ||
			!strings.Contains(d.Diff, "- Look before you act") || !strings.Contains(d.Diff, "+ Think before you act") {
			t.Errorf("%s %+v", rep.Verdict, d)
		}
	})
	t.Run("guard, before it matters nothing differs", func(t *testing.T) {
		rep := replayBytes(t, good, replayer.Options{Current: current(t, "retry-trap", func(s *trial.Spec) { set(s, "stuck", "nudge", "2") })})
		if rep.Verdict != replayer.Diverged || rep.Divergence.Turn != 2 || rep.Divergence.Stage != "guard stuck" {
			t.Errorf("%s %+v", rep.Verdict, rep.Divergence)
		}
	})
	t.Run("shadow firings are listed", func(t *testing.T) {
		off := recorded(t, "retry-trap", guard.ProfileNone)
		rep := replayBytes(t, off, replayer.Options{Current: current(t, "retry-trap", func(s *trial.Spec) {
			s.Guards = guard.MustProfile(guard.ProfileNone)
			var err error
			if s.Guards, err = s.Guards.With("stuck", guard.Shadow); err != nil {
				t.Fatal(err)
			}
		})})
		if rep.Verdict != replayer.Exact || len(rep.Shadow) != 2 || !strings.Contains(rep.Shadow[0], "turn 3: stuck would nudge") {
			t.Errorf("%s %s %q", rep.Verdict, rep.Reason, rep.Shadow)
		}
	})
	t.Run("an error of the caller", func(t *testing.T) {
		rep := replayBytes(t, good, replayer.Options{Current: func(*session.Header) (*trial.Rebuilt, error) { return nil, errors.New("no such arm") }})
		if rep.Verdict != replayer.Noop || rep.Reason != "no such arm" || rep.Verdict.Exit() != 3 {
			t.Errorf("%s %s", rep.Verdict, rep.Reason)
		}
	})
}

// TestTraffic: recorded traffic has no loop of ours to drive.
func TestTraffic(t *testing.T) {
	b, err := os.ReadFile("../recorder/wire/tape/testdata/various.session.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	rep := replayBytes(t, b, replayer.Options{})
	if rep.Verdict != replayer.Noop || !strings.Contains(rep.Reason, "harnessbench replay --serve x.session.jsonl -- CMD") {
		t.Errorf("%+v", rep)
	}
}
