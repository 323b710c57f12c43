package replayer_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/workspace"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// liveTrial makes what a session of an embedded scenario is driven with live.
func liveTrial(t *testing.T) func(*session.Header, *trial.Rebuilt, workspace.Workspace) (*replayer.Live, error) {
	return replayer.LiveTrial(func(h *session.Header) (*trial.Spec, error) {
		sc, err := builtin.Get(h.Scenario)
		if err != nil {
			t.Error(err)
			return nil, err
		}
		return &trial.Spec{Scenario: sc, Model: h.Model, Guards: guard.MustProfile(guard.ProfileDefault), Seed: 1}, nil
	}, nil)
}

// changed makes the recorded configuration with other guards.
func otherGuards(t *testing.T, change func(guard.Settings) (guard.Settings, error)) func(*session.Header, *trial.Rebuilt) (*trial.Rebuilt, error) {
	return func(_ *session.Header, rec *trial.Rebuilt) (*trial.Rebuilt, error) {
		return rec.WithGuards(change)
	}
}

func drive(t *testing.T, path string, o replayer.DriveOptions) (*replayer.Driven, []byte) {
	t.Helper()
	o.Record = filepath.Join(t.TempDir(), "child"+session.Suffix)
	o.Sync = session.SyncNever
	d, err := replayer.Drive(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	child, err := os.ReadFile(o.Record)
	if err != nil {
		t.Fatal(err)
	}
	if rep := replayBytes(t, child, replayer.Options{}); rep.Verdict != replayer.Exact {
		t.Fatalf("what was recorded does not replay: %s %s %+v", rep.Verdict, rep.Reason, rep.Divergence)
	}
	return d, child
}

// A loop that is driven under the recorded configuration asks nobody and records
// the same session.
func TestDriveTheSame(t *testing.T) {
	for _, path := range recordAll(t, t.TempDir()) {
		was, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for name, o := range map[string]replayer.DriveOptions{"live": {Live: liveTrial(t)}, "offline": {}} {
			d, child := drive(t, path, o)
			if d.Report.Verdict != replayer.Exact || d.Asked != 0 || !bytes.Equal(child, was) || d.Left == nil || d.Left.End.Usage != d.Spared {
				t.Errorf("%s %s: %s, %d asked, spared %+v, same bytes: %v", filepath.Base(path), name, d.Report.Verdict, d.Asked, d.Spared, bytes.Equal(child, was))
			}
		}
	}
}

// Under other guards the loop goes on live from where they first matter, and ends
// as a trial under these guards does.
func TestDriveFromTheFirstDivergence(t *testing.T) {
	path := record(t, t.TempDir(), "retry-trap", "sim/weak", guard.ProfileDefault)
	later := func(s guard.Settings) (guard.Settings, error) { return s.WithParam("stuck", "nudge", "4") }
	d, child := drive(t, path, replayer.DriveOptions{Config: otherGuards(t, later), Live: liveTrial(t)})
	if d.Report.Verdict != replayer.Diverged || d.Report.Divergence.Turn != 3 || d.Report.Turns != 2 || d.Served != 3 || d.Asked == 0 {
		t.Errorf("%s %s: %d turns shared, %d served, %d asked", d.Report.Verdict, d.Report.Reason, d.Report.Turns, d.Served, d.Asked)
	}
	sc, err := builtin.Get("retry-trap")
	if err != nil {
		t.Fatal(err)
	}
	guards, err := later(guard.MustProfile(guard.ProfileDefault))
	if err != nil {
		t.Fatal(err)
	}
	want, _ := finished(t, trial.Spec{Scenario: sc, Model: "sim/weak", Arm: guard.ProfileDefault, Guards: guards, Seed: 1})
	if !bytes.Equal(child, want) {
		t.Errorf("the driven loop does not end as a trial under its guards:\n%s\nwant\n%s", child, want)
	}
	off, child := drive(t, path, replayer.DriveOptions{Config: otherGuards(t, later)})
	if off.Asked != 0 || off.Left.End.Reason != "cancelled" || !bytes.Contains(child, []byte("the recording answers no further")) {
		t.Errorf("offline: %d asked, ended %s", off.Asked, off.Left.End.Reason)
	}
}

// A broken-off recording is gone on with; an effect outside in flight is not made
// a second time.
func TestDriveBeyondTheEnd(t *testing.T) {
	path := record(t, t.TempDir(), "flaky-endpoint", "sim/weak", guard.ProfileDefault)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for n := 8; n < len(lines)-1; n++ {
		cut := filepath.Join(t.TempDir(), "cut"+session.Suffix)
		if err := os.WriteFile(cut, bytes.Join(lines[:n], nil), 0o644); err != nil {
			t.Fatal(err)
		}
		d, child := drive(t, cut, replayer.DriveOptions{Live: liveTrial(t)})
		if d.Report.Verdict != replayer.Exhausted || !bytes.Equal(child, whole) {
			t.Errorf("cut after line %d: %s %s, same: %v", n, d.Report.Verdict, d.Report.Reason, bytes.Equal(child, whole))
		}
	}
}
