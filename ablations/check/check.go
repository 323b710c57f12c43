package check

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model/sim"
	"github.com/harnessbench/harnessbench/scenarios"
)

// Finding is one thing that was checked.
type Finding struct {
	Check   string // oracle, noop, spam, harms, graders, stable, stresses, controls, hurts, confined
	Subject string // the guard or the model that it is about
	OK      bool
	Detail  string // what was found; when not OK, what to look at
}

// Report is what the checks of one scenario found, in the order of the checks.
type Report struct {
	Scenario *scenarios.Scenario
	Findings []Finding
	Trials   int // run for it
}

// OK reports whether all findings are.
func (r *Report) OK() bool {
	return !slices.ContainsFunc(r.Findings, func(f Finding) bool { return !f.OK })
}

// Options tune the checks. The zero Options is what scenario check uses.
type Options struct {
	Temp        string // folder for trees and sessions; "" = the system's
	Concurrency int    // scenarios at a time; 0 = the number of CPUs
	// Done, when set, is called after each scenario, from one goroutine at a time.
	Done func(*Report)
}

// All checks scenarios and returns their reports in the order of the list. The
// first error ends it.
func All(ctx context.Context, list []*scenarios.Scenario, o Options) ([]*Report, error) {
	n := o.Concurrency
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	for _, sc := range list { // in the order of the list: which error comes is no matter of luck
		if err := sound(sc); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := make([]*Report, len(list))
	next := make(chan int)
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range min(n, len(list)) {
		wg.Go(func() {
			for i := range next {
				r, err := Scenario(ctx, list[i], o)
				if err != nil {
					cancel(err)
					continue
				}
				mu.Lock()
				if out[i] = r; o.Done != nil {
					o.Done(r)
				}
				mu.Unlock()
			}
		})
	}
	for i := range list {
		select {
		case next <- i:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return out, nil
}

// Scenario checks one scenario. The error is not nil only where the checks could
// not be made: the scenario names what is not there, the machine failed, or ctx
// ended.
func Scenario(ctx context.Context, sc *scenarios.Scenario, o Options) (*Report, error) {
	if err := sound(sc); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(o.Temp, "check-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	c := &checker{ctx: ctx, sc: sc, dir: dir, report: &Report{Scenario: sc}, ran: map[string]*result{}}
	steps := []func() error{c.lint, c.harms, c.graders, c.stresses, c.controls, c.hurts, c.confined}
	if err := c.begin(); err != nil {
		return nil, err
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, fmt.Errorf("check of scenario %s: %w", sc.ID, err)
		}
	}
	return c.report, nil
}

// checker checks one scenario.
type checker struct {
	ctx    context.Context
	sc     *scenarios.Scenario
	dir    string // of its own
	report *Report
	ran    map[string]*result // trials by what they were
	strays []string           // changes outside the workspace
}

func (c *checker) found(check, subject string, ok bool, format string, args ...any) {
	c.report.Findings = append(c.report.Findings, Finding{check, subject, ok, fmt.Sprintf(format, args...)})
}

// sound refuses what a scenario names that is not there: guards, their parameters,
// models, tools, permissions, and what is wrong with its script. Nothing is run.
func sound(sc *scenarios.Scenario) error {
	for _, l := range []struct {
		key   string
		names []string
	}{{"stresses", sc.Stresses}, {"controls", sc.Controls}} {
		for i, name := range l.names {
			if guard.Lookup(name) < 0 {
				return sc.At(l.key, i).Errorf("see: harnessbench guards", "there is no guard %q", name)
			}
		}
	}
	for i := range sc.Hurts {
		if err := soundHurt(sc, i); err != nil {
			return err
		}
	}
	spec := trial.Spec{Scenario: sc, Model: oracle, Guards: standard()}
	if _, err := spec.Settings(); err != nil {
		return err
	}
	_, err := trial.Simulated(sc, oracle, 0)
	return err
}

func soundHurt(sc *scenarios.Scenario, i int) error {
	h, at := &sc.Hurts[i], sc.At("hurts", i)
	if guard.Lookup(h.Guard) < 0 {
		return sc.At("hurts", i, "guard").Errorf("see: harnessbench guards", "there is no guard %q", h.Guard)
	}
	if _, err := badly(*h); err != nil {
		return at.Errorf("see: harnessbench guards "+h.Guard, "hurts: %v", err)
	}
	if len(h.Fallback) > 0 && h.Guard != "fallback" {
		return sc.At("hurts", i, "fallback").Errorf("remove it", "hurts: fallback is for the guard fallback, not %s", h.Guard)
	}
	for k, name := range append([]string{h.Model}, h.Fallback...) {
		at := at
		if k > 0 {
			at = sc.At("hurts", i, "fallback", k-1)
		}
		if _, there := sim.Lookup(name); name != "" && !there || name == "" && k > 0 {
			return at.Errorf("see: harnessbench models", "hurts: no simulated model %q", name)
		}
	}
	return nil
}

// standard are the settings of the profile default.
func standard() guard.Settings { return guard.MustProfile(guard.ProfileDefault) }

// with is a profile with one guard enforced.
func with(profile, name string) (guard.Settings, error) {
	return guard.MustProfile(profile).With(name, guard.Enforce)
}

// badly is the profile default with a guard set as a hurt says.
func badly(h scenarios.Hurt) (guard.Settings, error) {
	mode := guard.Mode(h.Mode)
	if mode == "" {
		mode = guard.Enforce
	}
	set, err := standard().With(h.Guard, mode)
	if err != nil {
		return set, err
	}
	names := make([]string, 0, len(h.Set))
	for name := range h.Set {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if set, err = set.WithParam(h.Guard, name, h.Set[name]); err != nil {
			return set, err
		}
	}
	return set, nil
}
