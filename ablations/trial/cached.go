package trial

import (
	"context"
	"errors"
	"fmt"

	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/clock"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/cache"
	"github.com/harnessbench/harnessbench/scenarios"
)

// cached puts the response cache before a model, outside of everything else, if the
// guard is on and there is a store.
func (s *Spec) cached(m model.Model, store cache.Store) model.Model {
	mode := s.Guards.Mode("response_cache")
	if mode == guard.Off || store == nil {
		return m
	}
	luck := s.luck()
	if s.Guards.Param("response_cache", "across") != 0 {
		luck = 0
	}
	return cache.Wrap(m, cache.Options{Store: store, Model: s.Model, Luck: luck, Shadow: mode == guard.Shadow})
}

// store is what the trial's response cache reads: the given one, or, where the
// scenario wants it warm, one that an unrecorded trial has filled. That trial is the
// same as this one, or its next repetition.
func (s *Spec) store(ctx context.Context, o *Options) (cache.Store, error) {
	if s.Scenario.Cache == "" || s.Guards.Mode("response_cache") == guard.Off {
		return o.Cache, nil
	}
	if !IsSimulated(s.Model) {
		return nil, errors.New("the scenario warms the response cache by a trial of its own, which is for simulated models only")
	}
	before := *s
	if s.Scenario.Cache == scenarios.CacheOther {
		before.Repetition++
	}
	filled := cache.NewMemory()
	if err := before.warm(ctx, o, filled); err != nil {
		return nil, fmt.Errorf("warming the response cache: %w", err)
	}
	return filled.Reopen(), nil
}

// warm runs the trial into a store, and records nothing.
func (s *Spec) warm(ctx context.Context, o *Options, into cache.Store) (err error) {
	ws := &watched{temp: o.Temp, files: s.Scenario.Files}
	defer func() { err = errors.Join(err, ws.remove()) }()
	settings, err := s.Settings()
	if err != nil {
		return err
	}
	cfg, err := loop.Freeze(settings)
	if err != nil {
		return err
	}
	tools, err := s.Tools(ws)
	if err != nil {
		return err
	}
	m, err := s.NewModel(o.Provider)
	if err != nil {
		return err
	}
	l, err := loop.New(cfg, loop.Deps{
		Model: s.cached(m, into), Tools: tools, Run: tools, Clock: clock.NewVirtual(), Sink: unheard{ctx},
		Spill: func(path, data string) error { return ws.Spill(path, []byte(data)) },
		Check: Checker(s.Scenario.Acceptance, ws),
	})
	if err != nil {
		return err
	}
	_, err = l.Run(ctx)
	return errors.Join(err, ws.failed())
}

// unheard is a sink that keeps nothing, and ends the loop when ctx does.
type unheard struct{ ctx context.Context }

// Emit implements event.Sink.
func (u unheard) Emit(event.Event) error { return context.Cause(u.ctx) }
