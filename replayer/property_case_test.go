package replayer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/cache"
	modelfault "github.com/harnessbench/harnessbench/loop/model/fault"
	"github.com/harnessbench/harnessbench/loop/tool"
	"github.com/harnessbench/harnessbench/loop/workspace"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer"
	"github.com/harnessbench/harnessbench/results/pricing"
	"github.com/harnessbench/harnessbench/scenarios"
)

// setup is a case, its knobs turned.
type setup struct {
	dir      string
	spec     trial.Spec
	sc       scenarios.Scenario
	model    hostile
	fault    []modelfault.Fault
	fallback []string
	store    *cache.Memory // nil = no response cache
	tools    int           // one in so many results is hostile
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
	case "fallback":
		c.fallback = strings.Split(value, "+")
		return nil
	case "cache":
		c.store = cache.NewMemory()
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
func (c *setup) options(path string, w *witness, sum *tally, from *replayer.Resumption) trial.Options {
	m := c.model
	m.id = c.spec.Model
	wrapped, err := modelfault.New(&m, modelfault.Options{Faults: c.fault, Seed: c.model.seed, Wait: m.real})
	var store cache.Store
	if c.store != nil {
		store = c.store
	}
	return trial.Options{Cache: store, Session: path, Sync: session.SyncNever, Temp: filepath.Dir(path), Watch: trial.Tee{w, sum}, Wall: time.Now,
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
	for _, name := range c.fallback {
		id := "sim/" + name
		if c.model.real {
			id = "fake/" + name
			c.spec.FallbackCards = map[string]*trial.Card{"fake/weak": c.spec.Card, "fake/strong": c.spec.Card}
		}
		c.spec.Fallbacks = append(c.spec.Fallbacks, id)
	}
	whole, _, err := c.attempt("whole", 0, sum, nil)
	if err != nil {
		return err
	}
	if c.store != nil {
		c.store = c.store.Reopen()
		if _, _, err := c.attempt("cached", 0, sum, nil); err != nil {
			return fmt.Errorf("with what the first run left in the cache: %w", err)
		}
		c.store = nil // what goes on from here is compared with a session without hits
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
	if bytes.Contains(whole, []byte(someKey)) {
		return nil, "", errors.New("a secret is in the session")
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
