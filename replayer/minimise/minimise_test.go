package minimise_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/recorder/verify"
	"github.com/harnessbench/harnessbench/replayer"
	"github.com/harnessbench/harnessbench/replayer/minimise"
	"github.com/harnessbench/harnessbench/scenarios"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// record runs an embedded scenario, with a large file that nobody needs.
func record(t testing.TB, scenario string) string {
	t.Helper()
	sc, err := builtin.Get(scenario)
	if err != nil {
		t.Fatal(err)
	}
	own := *sc
	own.Files = append(slices.Clone(own.Files), scenarios.File{Path: "zz-large.txt", Data: []byte(strings.Repeat("nobody reads this\n", 1000))})
	path := filepath.Join(t.TempDir(), scenario+session.Suffix)
	spec := trial.Spec{Scenario: &own, Model: "sim/weak", Arm: "default", Guards: guard.MustProfile(guard.ProfileDefault), Seed: 1}
	if _, err := trial.Run(context.Background(), spec, trial.Options{Session: path, Sync: session.SyncNever}); err != nil {
		t.Fatal(err)
	}
	return path
}

// changed replays a session's own scenario under other guards.
func changed(t testing.TB, scenario, name, param, value string) replayer.Options {
	t.Helper()
	guards, err := guard.MustProfile(guard.ProfileDefault).WithParam(name, param, value)
	if err != nil {
		t.Fatal(err)
	}
	sc, err := builtin.Get(scenario)
	if err != nil {
		t.Fatal(err)
	}
	return replayer.Options{Current: func(h *session.Header) (*trial.Rebuilt, error) {
		spec := trial.Spec{Scenario: sc, Model: h.Model, Guards: guards, Seed: 1}
		return spec.Rebuilt()
	}}
}

// otherBuild changes the evidence of the first firing of a guard: so a build whose
// guard says something else would have recorded it. It has the file's blobs.
func otherBuild(t testing.TB, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	done := false
	err = session.Edit(&out, bytes.NewReader(raw), func(l *session.Line, emit func(session.Type, []byte) error) error {
		p := l.Payload()
		if l.Type == session.TypeGuard && !done {
			done = true
			if p, err = l.With("/evidence", []byte(`"otherwise"`)); err != nil {
				return err
			}
		}
		return emit(l.Type, p)
	})
	if err != nil || !done {
		t.Fatal(err, done)
	}
	other := filepath.Join(filepath.Dir(path), "other"+session.Suffix)
	if err := os.WriteFile(other, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return other
}

var cases = []struct {
	scenario, guard, param, value string // no guard: another build, the recorded configuration
	gone                          string // a text that has to go
}{
	{"retry-trap", "", "", "", "You complete one task"},
	{"flaky-endpoint", "", "", "", "You complete one task"},
	{"retry-trap", "stuck", "nudge", "2", "zz-large"},
	{"needle-log", "spill", "preview", "1024", "zz-large"},
	{"flaky-endpoint", "retry", "attempts", "2", "zz-large"},
	{"price-dump", "compaction", "to", "50", "zz-large"},
	{"trail-walk", "compaction", "at", "60", "zz-large"},
}

// What comes out is sound, smaller, and shows the very same.
func TestMinimise(t *testing.T) {
	for _, c := range cases {
		for _, redact := range []bool{false, true} {
			path, o := record(t, c.scenario), replayer.Options{}
			if c.guard == "" {
				path = otherBuild(t, path)
			} else {
				o = changed(t, c.scenario, c.guard, c.param, c.value)
			}
			before, err := replayer.File(context.Background(), path, o)
			if err != nil || before.Verdict.Exit() != 1 {
				t.Errorf("%v: %v %v", c, before, err)
				continue
			}
			r, err := minimise.File(context.Background(), path, minimise.Options{Replay: o, RedactTexts: redact, Budget: 200})
			if err != nil {
				t.Errorf("%v: %v", c, err)
				continue
			}
			out := filepath.Join(t.TempDir(), "small"+session.Suffix)
			if err := r.Write(out, false); err != nil {
				t.Fatal(err)
			}
			after, err := replayer.File(context.Background(), out, o)
			if err != nil || !same(before, after) {
				t.Errorf("%v: shows something else: %v\n%+v\n%+v", c, err, before, after)
			}
			if v, err := verify.File(context.Background(), out, verify.Options{}); err != nil || v.Verdict != verify.OK {
				t.Errorf("%v: %v %+v", c, err, v)
			}
			if r.Bytes[1] >= r.Bytes[0] && !redact || r.Lines[1] > r.Lines[0] || r.Blobs[1] != 0 || r.Replays > 200 || len(r.Kept) == 0 {
				t.Errorf("%v: lines %v, bytes %v, blobs %v, %d replays, %d texts", c, r.Lines, r.Bytes, r.Blobs, r.Replays, r.Texts)
			}
			if c.guard == "" && r.Texts < 4 {
				t.Errorf("%v: %d texts were replaced", c, r.Texts)
			}
			raw, err := os.ReadFile(out)
			if err != nil || bytes.Contains(raw, []byte(c.gone)) {
				t.Errorf("%v: %q is still there, %v", c, c.gone, err)
			}
		}
	}
}

func same(a, b *replayer.Report) bool {
	if a.Verdict != b.Verdict || (a.Divergence == nil) != (b.Divergence == nil) {
		return false
	}
	x, y := a.Divergence, b.Divergence
	return x == nil || x.Line == y.Line && x.Turn == y.Turn && x.Stage == y.Stage && x.Pointer == y.Pointer && x.Type == y.Type
}

// The same session and budget give the same bytes.
func TestDeterministic(t *testing.T) {
	path := record(t, "retry-trap")
	o := minimise.Options{Replay: changed(t, "retry-trap", "stuck", "nudge", "2"), Budget: 40}
	var outs [2][]byte
	for i := range outs {
		r, err := minimise.File(context.Background(), path, o)
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "x"+session.Suffix)
		if err := r.Write(out, false); err != nil {
			t.Fatal(err)
		}
		if err := r.Write(out, false); err == nil {
			t.Error("a file was written over")
		}
		if outs[i], err = os.ReadFile(out); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(outs[0], outs[1]) {
		t.Error("two outcomes")
	}
}

func TestNothingToMinimise(t *testing.T) {
	path := record(t, "chat-answer")
	if _, err := minimise.File(context.Background(), path, minimise.Options{}); !errors.Is(err, minimise.ErrNothing) {
		t.Errorf("%v", err)
	}
	if _, err := minimise.File(context.Background(), path+"x", minimise.Options{}); err == nil || errors.Is(err, minimise.ErrNothing) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := minimise.File(ctx, path, minimise.Options{Replay: changed(t, "chat-answer", "stuck", "nudge", "2")}); err == nil {
		t.Error("went on after it was told to stop")
	}
}
