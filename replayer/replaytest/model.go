package replaytest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder"
	"github.com/harnessbench/harnessbench/replayer"
)

// Model returns the model that a loop of your own asks in a test: it answers from
// the recording at path, which ends with .session.jsonl. When the test ends it
// fails if the loop asked anything else than was recorded, or less.
//
// With -update live makes the real model, where one is needed: a request that was
// recorded is answered from there, the first other one and all after it by the
// real model, and the recording is replaced. A test that fails by itself leaves it
// as it was. The first recording is made in the same way.
//
// Tool calls of answers have the ids call_1_0, call_1_1, call_2_0, ...: (call of
// the model, index in its answer), so that they are the same in every run.
func Model(t testing.TB, path string, live func() (model.Model, error)) model.Model {
	t.Helper()
	if !Update() {
		if blank(path) {
			need(t, path)
		}
		m, err := replayer.Model(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if r := m.Report(); r.Verdict != replayer.Exact {
				t.Errorf("%s\n  meant     go test -run '^%s$' -update", describe(r), t.Name())
			}
		})
		return m
	}
	m, err := updating(path, live)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.finish(t) })
	return m
}

// updater answers from a recording as long as it can, then live, and records
// everything.
type updater struct {
	*recorder.Calls
	old  *replayer.Served // nil = there is none
	path string
	mu   sync.Mutex
	gone bool // the recording is left
}

func updating(path string, live func() (model.Model, error)) (*updater, error) {
	m, err := live()
	if err != nil {
		return nil, err
	}
	u := &updater{path: path}
	if !blank(path) {
		if u.old, err = replayer.Model(path); err != nil {
			return nil, err
		}
	}
	u.Calls, err = recorder.ModelOver(m, path)
	return u, err
}

// Generate implements model.Model.
func (u *updater) Generate(ctx context.Context, req *model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	u.mu.Lock()
	left := u.gone || u.old == nil
	u.mu.Unlock()
	if !left {
		resp, err := u.old.Generate(ctx, req, onDelta)
		var miss *replayer.MissError
		if !errors.As(err, &miss) {
			return u.Keep(ctx, req, resp, err)
		}
		u.mu.Lock()
		u.gone = true
		u.mu.Unlock()
	}
	return u.Calls.Generate(ctx, req, onDelta)
}

// finish replaces the recording where it changed.
func (u *updater) finish(t testing.TB) {
	t.Helper()
	keep := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	switch {
	case t.Failed():
		keep(u.Discard())
		t.Logf("%s: not updated, since the test failed", u.path)
	case u.old == nil:
		keep(u.Close())
		t.Logf("%s: recorded", u.path)
	case u.old.Report().Verdict == replayer.Exact:
		keep(u.Discard())
	default:
		keep(u.Close())
		t.Logf("%s: recorded again\n%s", u.path, describe(u.old.Report()))
	}
}
