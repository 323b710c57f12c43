package replayer_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	modelfault "github.com/harnessbench/harnessbench/loop/model/fault"
	"github.com/harnessbench/harnessbench/loop/tool"
	"github.com/harnessbench/harnessbench/loop/workspace"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer"
	"github.com/harnessbench/harnessbench/results/pricing"
	"github.com/harnessbench/harnessbench/scenarios"
)

var (
	propertyTurns = flag.Int("property.turns", 100_000, "turns that TestProperty drives the loop for, in all")
	propertySeed  = flag.Uint64("property.seed", 1, "seed of the first case of TestProperty; the others follow")
	propertyCase  = flag.String("property.case", "", "knobs of the one case to run, as a failing one was printed")
)

// Under the race detector, which slows the loop down tenfold, and under -short a
// twentieth of the turns is driven.
const propertyShare = 20

// Over random models, tools, faults, limits, guards in random modes with random
// parameters, cancellations and crashes: every request has one result, every
// question is a conversation that a chat API takes, every end says why, every
// session replays EXACT, one that was cut off or cancelled is resumed to the end
// it would have had, and no goroutine is left.
//
// A failing case is printed with its seed and with as few knobs as it fails with.
func TestProperty(t *testing.T) {
	if *propertyCase != "" {
		k := knobs(strings.Split(*propertyCase, ","))
		if err := failing(t, *propertySeed, k); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := *propertyTurns
	if raceDetector || testing.Short() {
		want /= propertyShare
	}
	sum := newTally()
	for seed := *propertySeed; sum.turns < want; seed += batch {
		failed, err := runBatch(t, seed, sum)
		if err == nil {
			continue
		}
		small, why := shrink(t, failed)
		t.Fatalf("seed %d: %v\n\nwith fewer knobs: %v\n\ngo test ./replayer -run '^TestProperty$' -property.seed=%d -property.case='%s'", failed, err, why, failed, small)
	}
	sum.report(t, want >= 100_000)
}

// batch is how many cases run between two looks at what they left.
const batch = 64

// runBatch runs the cases of some seeds, side by side where they do not take real
// time, and returns the first that failed.
func runBatch(t *testing.T, seed uint64, sum *tally) (failed uint64, err error) {
	before := runtime.NumGoroutine()
	errs := make([]error, batch)
	var next atomic.Int64
	var alone [batch]bool
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < batch; i = next.Add(1) - 1 {
				k := drawKnobs(seed + uint64(i))
				if alone[i] = slices.Contains(k, "case.clock=real"); !alone[i] {
					errs[i] = runCase(t, seed+uint64(i), k, sum)
				}
			}
		})
	}
	wg.Wait()
	for i := range errs {
		if alone[i] {
			errs[i] = runCase(t, seed+uint64(i), drawKnobs(seed+uint64(i)), sum)
		}
	}
	for i, err := range errs {
		if err != nil {
			return seed + uint64(i), err
		}
	}
	if left(before) == nil {
		return 0, nil
	}
	for i := range uint64(batch) { // one of them left a goroutine
		before := runtime.NumGoroutine()
		if err := runCase(t, seed+i, drawKnobs(seed+i), newTally()); err != nil {
			return seed + i, err
		} else if err := left(before); err != nil {
			return seed + i, err
		}
	}
	return seed, left(before)
}

// left says whether there are more goroutines than before. One that was told to
// end needs a moment.
func left(before int) error {
	for range 200 {
		if runtime.NumGoroutine() <= before {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return fmt.Errorf("%d goroutines before, %d after", before, runtime.NumGoroutine())
}

// shrink leaves out knobs that a failure does not need.
func shrink(t *testing.T, seed uint64) (knobs, error) {
	k, why := drawKnobs(seed), error(nil)
	for size := len(k) / 2; size >= 1; {
		before := len(k)
		for i := 0; i+size <= len(k); {
			fewer := slices.Delete(slices.Clone(k), i, i+size)
			if err := failing(t, seed, fewer); err != nil {
				k, why = fewer, err
			} else {
				i++
			}
		}
		if size > 1 || len(k) == before {
			size /= 2
		}
	}
	return k, why
}

// failing runs one case by itself.
func failing(t *testing.T, seed uint64, k knobs) error {
	before := runtime.NumGoroutine()
	if err := runCase(t, seed, k, newTally()); err != nil {
		return err
	}
	return left(before)
}

// tally says what the cases covered.
type tally struct {
	sync.Mutex
	cases, turns                      int
	cancelled, resumed, offline, real int
	reasons                           map[event.Reason]int
	fired                             map[string]int // guard and mode
}

func newTally() *tally { return &tally{reasons: map[event.Reason]int{}, fired: map[string]int{}} }

func (s *tally) count(field *int, n int) {
	s.Lock()
	defer s.Unlock()
	*field += n
}

// Emit implements event.Sink.
func (s *tally) Emit(ev event.Event) error {
	s.Lock()
	defer s.Unlock()
	switch ev := ev.(type) {
	case *event.Guard:
		s.fired[ev.Name+" "+ev.Mode]++
	case *event.End:
		s.reasons[ev.Reason]++
	}
	return nil
}

// report checks that the cases covered what they are for.
func (s *tally) report(t *testing.T, whole bool) {
	t.Helper()
	t.Logf("%d turns in %d cases; %d cancelled, %d cut and resumed, %d driven on offline, %d in real time; ends %v", s.turns, s.cases, s.cancelled, s.resumed, s.offline, s.real, s.reasons)
	if !whole {
		return
	}
	for i := range guard.Table {
		d := &guard.Table[i]
		for _, mode := range []guard.Mode{guard.Enforce, guard.Shadow} {
			if !d.Policy && s.fired[d.Name+" "+string(mode)] == 0 {
				t.Errorf("%s never fired in %s: %v", d.Name, mode, s.fired)
			}
		}
	}
	for _, r := range []event.Reason{event.Completed, event.Unverified, event.Stuck, event.NoProgress, event.TurnLimit, event.ToolCallLimit, event.TokenBudget,
		event.CostBudget, event.Deadline, event.CancelledRun, event.EmptyResponse, event.ModelError, event.ProtocolError} {
		if s.reasons[r] == 0 {
			t.Errorf("no session ended %s: %v", r, s.reasons)
		}
	}
	if min(s.cancelled, s.resumed, s.offline, s.real) == 0 {
		t.Error("a way to run a case was never taken")
	}
}

// runCase runs one case and returns what is wrong with it.
func runCase(t *testing.T, seed uint64, k knobs, sum *tally) (err error) {
	c, err := newSetup(seed, k)
	if err != nil {
		return err
	}
	if !c.model.real {
		return c.run(sum)
	}
	synctest.Test(t, func(*testing.T) { err = c.run(sum) })
	return err
}

// setup is a case, its knobs turned.
type setup struct {
	dir   string
	spec  trial.Spec
	sc    scenarios.Scenario
	model hostile
	fault []modelfault.Fault
	tools int // one in so many results is hostile
	// events after which the operator cancels; lines after which the session is cut
	cancelAt, cutAt, offlineAt int
}

func newSetup(seed uint64, k knobs) (*setup, error) {
	c := &setup{spec: trial.Spec{Model: "sim/oracle", Arm: "any", Guards: guard.MustProfile(guard.ProfileNone), Seed: seed}, model: hostile{seed: seed}}
	for _, knob := range append(knobs{"world=0"}, k...) {
		if err := c.turn(knob); err != nil {
			return nil, fmt.Errorf("knob %s: %w", knob, err)
		}
	}
	return c, nil
}

// turn turns one knob.
func (c *setup) turn(knob string) (err error) {
	key, value, _ := strings.Cut(knob, "=")
	group, name, dotted := strings.Cut(key, ".")
	switch {
	case key == "world":
		n, err := strconv.Atoi(value)
		if err != nil {
			return err
		}
		sc, err := world(n)
		if err != nil {
			return err
		}
		c.sc = *sc
		c.sc.Limits = scenarios.Limits{Turns: 8, ToolCalls: 1000, Wall: 24 * time.Hour}
	case group == "case":
		return c.turnCase(name, value)
	case group == "model" || group == "tools":
		return c.turnModel(name, value)
	case dotted:
		c.spec.Guards, err = c.spec.Guards.WithParam(group, name, value)
	default:
		c.spec.Guards, err = c.spec.Guards.With(key, guard.Mode(value))
	}
	return err
}

func (c *setup) turnCase(name, value string) (err error) {
	l := &c.sc.Limits
	switch name {
	case "clock":
		c.model.real, c.spec.Model = true, "fake/model"
		price := new(pricing.Micro(3_000_000))
		c.spec.Card = &trial.Card{Price: pricing.Price{Input: price, CacheRead: price, CacheWrite: price, Output: price}}
		return nil
	case "wall":
		l.Wall, err = time.ParseDuration(value)
		return err
	}
	n, err := strconv.Atoi(value)
	switch name {
	case "turns":
		l.Turns = n
	case "calls":
		l.ToolCalls = n
	case "tokens":
		l.Tokens = int64(n)
	case "window":
		l.ContextWindow = n
	case "max_tokens":
		l.MaxTokens = n
	case "micro_usd":
		l.CostMicroUSD = int64(n)
	case "cancel":
		c.cancelAt = n
	case "cut":
		c.cutAt = n
	case "offline":
		c.offlineAt = n
	default:
		err = errors.New("no such knob")
	}
	return err
}

func (c *setup) turnModel(name, value string) (err error) {
	n, err := strconv.Atoi(value)
	switch name {
	case "mood":
		c.model.mood, err = value, nil
	case "fault":
		kind, at, _ := strings.Cut(value, "/")
		f := modelfault.Fault{Kind: modelfault.Kind(kind), Turns: []int{0}, Attempts: []int{0}}
		_, err = fmt.Sscanf(at, "%d/%d", &f.Turns[0], &f.Attempts[0])
		c.fault = append(c.fault, f)
	case "errors":
		c.model.errors = n
	case "blank":
		c.model.blank = n
	case "late":
		c.model.late = n
	case "odd":
		c.model.odd = n
	case "hostile":
		c.tools = n
	default:
		err = errors.New("no such knob")
	}
	return err
}

// options are those of one run of the trial. from, when set, is the recording that
// it goes on from.
func (c *setup) options(path string, w *watch, sum *tally, from *replayer.Resumption) trial.Options {
	m := c.model
	m.id = c.spec.Model
	wrapped, err := modelfault.New(&m, modelfault.Options{Faults: c.fault, Seed: c.model.seed, Wait: m.real})
	return trial.Options{Session: path, Sync: session.SyncNever, Temp: filepath.Dir(path), Watch: trial.Tee{w, sum}, Wall: time.Now,
		Provider: func(string, uint64) (model.Model, error) { return wrapped, err },
		Model:    func(model.Model) model.Model { return wrapped },
		Drive: func(d *loop.Deps, h *session.Header, ws workspace.Workspace) error {
			if set, ok := d.Run.(*tool.Set); ok && c.tools > 0 {
				d.Run = hostileTools{set, c.tools, c.model.seed}
			}
			if from != nil {
				return from.Drive(d, h, ws)
			}
			return nil
		}}
}

// run runs the case and returns what is wrong with it.
func (c *setup) run(sum *tally) error {
	dir, err := os.MkdirTemp("", "property-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c.dir, c.spec.Scenario = dir, &c.sc
	sum.count(&sum.cases, 1)
	if c.model.real {
		sum.count(&sum.real, 1)
	}
	whole, _, err := c.attempt("whole", 0, sum, nil)
	if err != nil {
		return err
	}
	if c.cancelAt > 0 {
		if err := c.cancelled(whole, sum); err != nil {
			return fmt.Errorf("cancelled after %d events: %w", c.cancelAt, err)
		}
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	if c.cutAt > 0 {
		cut := filepath.Join(dir, "cut"+session.Suffix)
		if err := os.WriteFile(cut, bytes.Join(lines[:min(c.cutAt, len(lines)-1)], nil), 0o644); err != nil {
			return err
		}
		sum.count(&sum.resumed, 1)
		if err := c.resumed(cut, whole); err != nil {
			return fmt.Errorf("cut after %d lines: %w", c.cutAt, err)
		}
	}
	if c.offlineAt > 0 {
		cut := filepath.Join(dir, "cut"+session.Suffix)
		if err := os.WriteFile(cut, bytes.Join(lines[:min(c.offlineAt, len(lines)-1)], nil), 0o644); err != nil {
			return err
		}
		if err := c.offline(cut, sum); err != nil {
			return fmt.Errorf("cut after %d lines and driven on offline: %w", c.offlineAt, err)
		}
	}
	return nil
}

// attempt runs the trial, cancelled after some events or not at all (0), and
// replays what came of it. A trial that was cancelled before its end gives the
// path of its unfinished session and no bytes.
func (c *setup) attempt(name string, cancelAt int, sum *tally, from *replayer.Resumption) (whole []byte, path string, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w := newWatch()
	w.cancelAt, w.cancel = cancelAt, cancel
	path = filepath.Join(c.dir, name+session.Suffix)
	out, err := trial.Run(ctx, c.spec, c.options(path, w, sum, from))
	sum.count(&sum.turns, w.turns)
	switch {
	case w.err != nil:
		return nil, "", w.err
	case err != nil && errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return nil, path + session.PartialSuffix, nil
	case err != nil:
		return nil, "", err
	case w.end == nil || out.End.Reason != w.end.Reason || w.requests != w.end.Attempts:
		return nil, "", fmt.Errorf("ended %+v, the last event says %+v", out.End, w.end)
	}
	if whole, err = os.ReadFile(path); err != nil {
		return nil, "", err
	}
	return whole, path, c.exact(path)
}

// exact replays a finished session.
func (c *setup) exact(path string) error {
	rep, err := replayer.File(context.Background(), path, replayer.Options{})
	if err != nil {
		return err
	}
	if rep.Verdict == replayer.Exact || rep.Verdict == replayer.Noop && strings.Contains(rep.Reason, "no model call") {
		return nil
	}
	return fmt.Errorf("%s: %s\n%+v", rep.Verdict, rep.Reason, rep.Divergence)
}

// cancelled runs the case again, cancelled by the operator, and resumes it.
func (c *setup) cancelled(whole []byte, sum *tally) error {
	got, path, err := c.attempt("cancelled", c.cancelAt, newTally(), nil)
	if err != nil {
		return err
	}
	if got != nil { // it was over before
		if !c.model.real && !bytes.Equal(got, whole) {
			return errors.New("the same case gave another session")
		}
		return nil
	}
	sum.count(&sum.cancelled, 1)
	rep, err := replayer.File(context.Background(), path, replayer.Options{})
	if err != nil || rep.Verdict != replayer.Exhausted && rep.Verdict != replayer.Corrupt {
		return fmt.Errorf("the unfinished session: %v, %+v", err, rep)
	}
	return c.resumed(path, whole)
}

// resumed goes on from an unfinished recording: to the very end that the whole one
// has, unless a call with an effect outside was in flight.
func (c *setup) resumed(path string, whole []byte) error {
	from, err := replayer.Resume(path)
	if err != nil {
		return err
	}
	defer from.Close()
	got, _, err := c.attempt("resumed", 0, newTally(), from)
	if err != nil {
		return fmt.Errorf("resumed: %w", err)
	}
	if !c.model.real && !bytes.Equal(got, whole) && !bytes.Contains(got, []byte("the run was interrupted during this call")) {
		return fmt.Errorf("resumed, it gave another session:\n%s", firstDifference(got, whole))
	}
	return nil
}

func firstDifference(got, want []byte) string {
	g, w := bytes.SplitAfter(got, []byte("\n")), bytes.SplitAfter(want, []byte("\n"))
	for i := range min(len(g), len(w)) {
		if !bytes.Equal(g[i], w[i]) {
			return fmt.Sprintf("line %d\n%.2000s\nwant\n%.2000s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

// offline drives a broken-off recording on without a model: it ends as cancelled.
func (c *setup) offline(path string, sum *tally) error {
	w := newWatch()
	o := replayer.DriveOptions{Record: filepath.Join(c.dir, "offline"+session.Suffix), Sync: session.SyncNever, Watch: trial.Tee{w, sum}}
	d, err := replayer.Drive(context.Background(), path, o)
	if err != nil {
		return err
	}
	sum.count(&sum.offline, 1)
	if d.Left == nil {
		return nil // too short to drive
	}
	if w.err != nil {
		return w.err
	}
	return c.exact(o.Record)
}
