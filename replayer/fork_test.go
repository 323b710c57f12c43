package replayer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer"
	"github.com/harnessbench/harnessbench/scenarios"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// guardChange is one change of one guard.
type guardChange struct {
	name string
	make func(guard.Settings) (guard.Settings, error)
}

// guardChanges are, for the guards that a scenario names and a part of the others,
// to be off, and another value of one parameter: the nth of several, so that the
// scenarios together try all. A guard that stays in force in every arm has no
// other mode.
func guardChanges(nth int, sc *scenarios.Scenario) (out []guardChange) {
	named := slices.Concat(sc.Stresses, sc.Controls)
	for i := range sc.Hurts {
		named = append(named, sc.Hurts[i].Guard)
	}
	for i := range guard.Table {
		d := &guard.Table[i]
		mine := slices.Contains(named, d.Name)
		if d.Stays || (i+nth)%parts != 0 && !mine {
			continue
		}
		modes := []guard.Mode{guard.Off, guard.Shadow, guard.Enforce}
		if !mine {
			modes = modes[:1+nth%3]
		}
		for _, mode := range modes {
			out = append(out, guardChange{"guard." + d.Name + ".mode=" + string(mode),
				func(s guard.Settings) (guard.Settings, error) { return s.With(d.Name, mode) }})
		}
		if len(d.Params) > 0 {
			p := &d.Params[nth%len(d.Params)]
			seen := []int64{p.Default}
			for _, v := range []int64{p.Min, p.Default + 1, 3}[nth/4%3:][:1] {
				if v = min(max(v, p.Min), p.Max); p.Unit == guard.Duration {
					v -= v % 1000
				}
				if slices.Contains(seen, v) {
					continue
				}
				seen = append(seen, v)
				value := p.Format(v)
				out = append(out, guardChange{"guard." + d.Name + "." + p.Name + "=" + value,
					func(s guard.Settings) (guard.Settings, error) { return s.WithParam(d.Name, p.Name, value) }})
			}
		}
	}
	return out
}

// parts is how many scenarios share the guards that none of them names.
const parts = 13

// asks lists the requests of a session: what tells them apart, and their turns.
func asks(t *testing.T, b []byte) (keys []string, turns []int) {
	rd, params := session.NewReader(bytes.NewReader(b)), ""
	for {
		l, err := rd.Next()
		if err != nil {
			return keys, turns
		}
		if l.Type != session.TypeRequest {
			continue
		}
		q, err := l.Request()
		if err != nil {
			t.Error(err)
			return nil, nil
		}
		if q.Params != nil {
			params = string(q.Params)
		}
		keys, turns = append(keys, fmt.Sprint(q.Turn, q.Chain, q.Purpose, params)), append(turns, q.Turn)
		if q.Purpose == model.ForFinalSynthesis { // behind its turn
			turns[len(turns)-1]++
		}
	}
}

// sharedTurns compares the requests of two whole sessions.
func sharedTurns(t *testing.T, a, b []byte) int {
	ka, ta := asks(t, a)
	kb, tb := asks(t, b)
	for i := 0; ; i++ {
		switch {
		case i < len(ka) && i < len(kb) && ka[i] == kb[i]:
		case i < len(ka) && i < len(kb):
			return min(ta[i], tb[i]) - 1
		case i < len(ka):
			return ta[i] - 1
		case i < len(kb):
			return tb[i] - 1
		case strings.Contains(kb[i-1], string(model.ForFinalSynthesis)):
			return tb[i-1] - 1
		default:
			return tb[i-1]
		}
	}
}

var sealsOf = regexp.MustCompile(`,"(h|inputs|digest)":"[0-9a-f]+"`)

// bare is a session without its header and without what depends on that.
func bare(b []byte) string {
	_, rest, _ := bytes.Cut(b, []byte("\n"))
	return sealsOf.ReplaceAllString(string(rest), "")
}

// A fork under any change of one guard is, from its second line on, the trial
// under these guards, and names the turns that both share; it asks live for
// nothing that its parent knows.
func TestForkEveryGuard(t *testing.T) {
	list, err := builtin.All()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	places := make(chan struct{}, 4)
	for nth, sc := range list {
		for _, m := range []string{"sim/weak", "sim/strong"} {
			wg.Go(func() {
				places <- struct{}{}
				defer func() { <-places }()
				spec := trial.Spec{Scenario: sc, Model: m, Arm: "default", Guards: guard.MustProfile(guard.ProfileDefault), Seed: 1}
				changes := guardChanges(nth, sc)
				if m == "sim/strong" { // which seldom needs a guard
					changes = slices.DeleteFunc(changes, func(c guardChange) bool { return !strings.HasSuffix(c.name, ".mode=off") })
				}
				forkEvery(t, t.TempDir(), spec, changes)
			})
		}
	}
	wg.Wait()
}

func forkEvery(t *testing.T, dir string, spec trial.Spec, changes []guardChange) {
	run := func(name string, guards guard.Settings) (string, []byte) {
		path := filepath.Join(dir, name+session.Suffix)
		spec := spec
		spec.Guards = guards
		if _, err := trial.Run(context.Background(), spec, trial.Options{Session: path, Sync: session.SyncNever, Overwrite: true, Temp: dir}); err != nil {
			t.Error(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		return path, b
	}
	path, parent := run("parent", spec.Guards)
	for i, c := range changes {
		guards, err := c.make(spec.Guards)
		if err != nil {
			t.Error(err)
			continue
		}
		same := len(guard.Differ(guards, spec.Guards)) == 0
		want := parent
		if !same {
			_, want = run("whole", guards)
		}
		if spec.Scenario.Cache != "" && strings.HasPrefix(c.name, "guard.response_cache.") {
			continue // what a cache knew stands in no recording: a fork serves answers, or asks
		}
		fail := func(format string, args ...any) {
			t.Errorf("%s, %s, %s: %s", spec.Scenario.ID, spec.Model, c.name, fmt.Sprintf(format, args...))
		}
		o := replayer.ForkOptions{Sync: session.SyncNever, Overwrite: true, Record: filepath.Join(dir, "child"+session.Suffix),
			Change: func(s *loop.Settings) error { s.Guards = guards; return nil },
			Live:   replayer.LiveTrial(func(*session.Header) (*trial.Spec, error) { return &spec, nil }, nil)}
		f, err := replayer.Fork(context.Background(), path, o)
		if err != nil {
			fail("%v", err)
			continue
		}
		child, err := os.ReadFile(o.Record)
		if err != nil {
			t.Error(err)
		}
		if bare(child) != bare(want) {
			fail("the fork is not the trial under these guards: %d shared, %s", f.Fork.Turns, f.Report.Reason)
		}
		if n := sharedTurns(t, parent, want); f.Fork.Turns != n {
			fail("%d turns shared, want %d: %s %s", f.Fork.Turns, n, f.Report.Verdict, f.Report.Reason)
		}
		if ka, _ := asks(t, parent); f.Served+f.Asked != f.End.Attempts || f.Asked > 0 && bare(child) == bare(parent) {
			fail("%d served of %d, %d asked, %d attempts", f.Served, len(ka), f.Asked, f.End.Attempts)
		}
		if same && (f.Report.Verdict != replayer.Exact || f.Asked != 0 || f.Fork.Set != nil || f.Spent.Total() != 0) {
			fail("nothing changed, yet %s %s, %d asked, %v", f.Report.Verdict, f.Report.Reason, f.Asked, f.Fork.Set)
		}
		if !same && !slices.Equal(f.Fork.Set, []string{c.name}) {
			fail("the child says %q", f.Fork.Set)
		}
		if i%3 != 0 {
			continue
		}
		o.Live = nil
		off, err := replayer.Fork(context.Background(), path, o)
		if err != nil || off.Fork.Turns != f.Fork.Turns || off.Asked != 0 || off.Fork.Spared != f.Fork.Spared {
			fail("offline: %v, %+v", err, off)
		}
	}
}

func mustFork(t *testing.T, path string, o replayer.ForkOptions) (*replayer.Forked, string) {
	t.Helper()
	o.Record, o.Sync = filepath.Join(t.TempDir(), "child"+session.Suffix), session.SyncNever
	f, err := replayer.Fork(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	if rep, err := replayer.File(context.Background(), o.Record, replayer.Options{}); err != nil || rep.Verdict != replayer.Exact {
		t.Fatalf("the child does not replay: %v %+v", err, rep)
	}
	return f, o.Record
}

func setGuard(guard, param, value string) func(*loop.Settings) error {
	return func(s *loop.Settings) (err error) {
		s.Guards, err = s.Guards.WithParam(guard, param, value)
		return err
	}
}

// A fork of a fork has the fork for its parent.
func TestForkOfAFork(t *testing.T) {
	root := record(t, t.TempDir(), "retry-trap", "sim/weak", guard.ProfileDefault)
	first, child := mustFork(t, root, replayer.ForkOptions{Change: setGuard("stuck", "nudge", "4"), Live: liveTrial(t)})
	second, grandchild := mustFork(t, child, replayer.ForkOptions{Change: setGuard("stuck", "nudge", "3"), Live: liveTrial(t)})
	if second.Fork.Parent != first.Digest || second.Fork.Turns != first.Fork.Turns {
		t.Errorf("the grandchild says %+v, its parent is %s and shares %d turns", second.Fork, first.Digest, first.Fork.Turns)
	}
	a, err := os.ReadFile(root)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(grandchild)
	if err != nil {
		t.Fatal(err)
	}
	if bare(a) != bare(b) {
		t.Error("there and back again is another session")
	}
}

// A fork that is recorded again under the same settings says that it is one;
// under others it is not that child any more.
func TestDriveAFork(t *testing.T) {
	root := record(t, t.TempDir(), "retry-trap", "sim/weak", guard.ProfileDefault)
	_, child := mustFork(t, root, replayer.ForkOptions{Change: setGuard("stuck", "nudge", "4"), Live: liveTrial(t)})
	for nudge, want := range map[string]bool{"4": true, "3": false} {
		_, again := drive(t, child, replayer.DriveOptions{Live: liveTrial(t), Config: func(_ *session.Header, was *trial.Rebuilt) (*trial.Rebuilt, error) {
			return was.With(setGuard("stuck", "nudge", nudge))
		}})
		if got := bytes.Contains(again, []byte(`"fork":{`)); got != want {
			t.Errorf("nudge %s: the header has a fork: %v", nudge, got)
		}
	}
}

// What is no parent, and a change that is none, are errors; nothing is written.
func TestForkRefuses(t *testing.T) {
	dir := t.TempDir()
	good := record(t, dir, "retry-trap", "sim/weak", guard.ProfileDefault)
	b, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	torn := filepath.Join(dir, "torn"+session.Suffix)
	if err := os.WriteFile(torn, b[:len(b)-10], 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out"+session.Suffix)
	var none *replayer.NoParentError
	if _, err := replayer.Fork(context.Background(), torn, replayer.ForkOptions{Record: out}); !errors.As(err, &none) || none.Report.Verdict != replayer.Exhausted {
		t.Errorf("torn: %v", err)
	}
	if _, err := replayer.Fork(context.Background(), good, replayer.ForkOptions{Record: out, Change: setGuard("stuck", "nudge", "x")}); err == nil || !strings.Contains(err.Error(), "parameter nudge") {
		t.Errorf("bad change: %v", err)
	}
	if _, err := replayer.Fork(context.Background(), good, replayer.ForkOptions{Record: good}); !errors.Is(err, os.ErrExist) {
		t.Errorf("over its parent: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
}

// Other waits change no request: all answers and results are the parent's, also
// after the first wait that is another.
func TestForkThatAsksTheSame(t *testing.T) {
	list, err := builtin.All()
	if err != nil {
		t.Fatal(err)
	}
	waited := 0
	for _, sc := range list {
		path := record(t, t.TempDir(), sc.ID, "sim/weak", guard.ProfileDefault)
		for name, live := range map[string]replayer.ForkOptions{"live": {Live: liveTrial(t)}, "offline": {}} {
			live.Change = setGuard("retry", "base", "150ms")
			f, _ := mustFork(t, path, live)
			if f.Asked != 0 || f.Fork.Turns != f.Parent.Turns || f.End.Reason != f.Parent.Reason || f.End.Usage != f.Fork.Spared {
				t.Errorf("%s %s: %s, %d asked, %d turns shared of %d, ended %s", sc.ID, name, f.Report.Reason, f.Asked, f.Fork.Turns, f.Parent.Turns, f.End.Reason)
			}
			if f.Report.Verdict != replayer.Exact {
				waited++
			}
		}
	}
	if waited == 0 {
		t.Error("no session waits before it asks again: nothing was tested")
	}
}
