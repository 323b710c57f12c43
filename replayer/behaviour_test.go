package replayer_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// withConfig rewrites the configuration of a session and its digest.
func withConfig(t *testing.T, b []byte, old, now string) []byte {
	t.Helper()
	return edited(t, b, func(l *session.Line) [][]byte {
		if l.Type != session.TypeHeader {
			return [][]byte{l.Payload()}
		}
		h, err := l.Header()
		if err != nil {
			t.Fatal(err)
		}
		cfg := strings.Replace(string(h.Config), old, now, 1)
		if cfg == string(h.Config) {
			t.Fatalf("the configuration has no %s", old)
		}
		payload := strings.Replace(string(l.Payload()), string(h.Config), cfg, 1)
		payload = strings.Replace(payload, h.ConfigDigest.String(), model.Sum([]byte(cfg)).String(), 1)
		return [][]byte{[]byte(payload)}
	})
}

// A session under a behaviour that is not in the code is not run: the verdict
// names what has which versions.
func TestOldBehaviour(t *testing.T) {
	good := recorded(t, "retry-trap", guard.ProfileDefault)
	for _, c := range []struct{ old, now, say string }{
		{`"cycle_nudge":2,"mode":"enforce","nudge":3,"v":1`, `"cycle_nudge":2,"mode":"enforce","nudge":3,"v":2`, "guard stuck: recorded under behaviour version 2, this version has 1"},
		{`"cycle_nudge":2,"mode":"enforce","nudge":3,"v":1`, `"cycle_nudge":2,"mode":"enforce","patience":3,"v":2`, "guard stuck: recorded under behaviour version 2, this version has 1"},
		{`"guards":{`, `"guards":{"hindsight":{"mode":"shadow","v":4},`, "guard hindsight: recorded under behaviour version 4, this version has no such guard"},
		{`,"models":[`, `,"loop":2,"models":[`, "the loop: recorded under behaviour version 2, this version has 1"},
	} {
		rep := replayBytes(t, withConfig(t, good, c.old, c.now), replayer.Options{})
		if rep.Verdict != replayer.OldBehaviour || rep.Verdict.Exit() != 3 || !strings.HasSuffix(rep.Reason, c.say) || rep.Lines != 0 {
			t.Errorf("%s: %s %s, %d lines", c.now, rep.Verdict, rep.Reason, rep.Lines)
		}
	}
}

// A session that was recorded when some guards did not exist, or that had one off
// in a version of its own, replays: these guards did nothing.
func TestSessionsBeforeAGuard(t *testing.T) {
	sc, err := builtin.Get("chat-answer")
	if err != nil {
		t.Fatal(err)
	}
	for _, guards := range []string{
		`{}`,
		`{"acceptance":{"mode":"enforce","retries":2,"v":1}}`,
		`{"stuck":{"abort":6,"mode":"off","threshold":2,"v":9}}`,
	} {
		set, err := guard.ParseSettings([]byte(guards))
		if err != nil {
			t.Fatal(err)
		}
		whole, _ := finished(t, trial.Spec{Scenario: sc, Model: "sim/weak", Arm: "then", Guards: set, Seed: 1})
		if !strings.Contains(string(whole), `"guards":`+guards) {
			t.Errorf("%s: the session does not say it so", guards)
		}
		if rep := replayBytes(t, whole, replayer.Options{}); rep.Verdict != replayer.Exact {
			t.Errorf("%s: %s %s %+v", guards, rep.Verdict, rep.Reason, rep.Divergence)
		}
	}
}

// What is missing is recorded once, beside; the session that comes of it replays.
func TestRecordMissing(t *testing.T) {
	path := record(t, t.TempDir(), "retry-trap", "sim/weak", guard.ProfileDefault)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := replayer.Beside(path)
	if !strings.HasSuffix(out, "retry-trap.sim_weak.default.new.session.jsonl") || replayer.Beside(path+".zst") != out {
		t.Error(out)
	}
	o := replayer.DriveOptions{Live: liveTrial(t), Record: out, Sync: session.SyncNever}
	rep, err := replayer.RecordMissing(context.Background(), path, replayer.Options{}, o)
	if err != nil || rep.Verdict != replayer.Exact || rep.Recorded != "" {
		t.Errorf("nothing is missing: %+v %v", rep, err)
	}
	if err := os.WriteFile(path, whole[:len(whole)*2/3], 0o644); err != nil {
		t.Fatal(err)
	}
	rep, err = replayer.RecordMissing(context.Background(), path, replayer.Options{}, o)
	if err != nil || rep.Verdict != replayer.Exhausted || rep.Recorded != out {
		t.Fatalf("%+v %v", rep, err)
	}
	if now, err := os.ReadFile(out); err != nil || string(now) != string(whole) {
		t.Errorf("what was recorded is not what was cut off: %v", err)
	}
	if _, err := replayer.RecordMissing(context.Background(), path, replayer.Options{}, o); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second time: %v", err)
	}
	o.Record, o.Overwrite = path, true
	if rep, err = replayer.RecordMissing(context.Background(), path, replayer.Options{}, o); err != nil || rep.Recorded != path {
		t.Fatalf("%+v %v", rep, err)
	}
	if rep, err := replayer.File(context.Background(), path, replayer.Options{}); err != nil || rep.Verdict != replayer.Exact {
		t.Errorf("%+v %v", rep, err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"+session.PartialSuffix)); err != nil || left != nil {
		t.Errorf("left behind: %v %v", left, err)
	}
}
