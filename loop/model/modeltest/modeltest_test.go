package modeltest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/sim"
)

// fake is a model made of a function.
type fake struct {
	id       string
	generate func(ctx context.Context, req *model.Request, onDelta func(model.Delta)) (*model.Response, error)
}

func (f fake) ID() string { return f.id }

func (f fake) Generate(ctx context.Context, req *model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	return f.generate(ctx, req, onDelta)
}

// good answers with a piece of the chain digest and streams it in two pieces.
func good(ctx context.Context, req *model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if req.Params.MaxTokens == 64 {
		return nil, &model.Error{Kind: model.ErrServer, Status: 503}
	}
	text := req.Chain().Short()
	if onDelta != nil {
		onDelta(model.Delta{Index: 0, Type: model.Text, Text: text[:5]})
		onDelta(model.Delta{Index: 0, Type: model.Text, Text: text[5:]})
	}
	return &model.Response{Items: []model.Item{{Type: model.Text, Text: text}}, Finish: model.FinishStop, Usage: model.Usage{Output: 8}}, nil
}

func subject(generate func(ctx context.Context, req *model.Request, onDelta func(model.Delta)) (*model.Response, error)) Subject {
	return Subject{New: func() model.Model { return fake{"fake/good", generate} }, Deterministic: true, Streams: true}
}

func TestAGoodModelPasses(t *testing.T) { Test(t, subject(good)) }

func TestSimulatedModelsPass(t *testing.T) {
	for _, p := range sim.Profiles() {
		t.Run(p.Name, func(t *testing.T) {
			Test(t, Subject{New: func() model.Model { return sim.New(p, sim.Options{Seed: 3}) }, Deterministic: true, Streams: true})
		})
	}
}

// Each broken model must be found by the check that is meant for it.
func TestBrokenModelsAreFound(t *testing.T) {
	var n atomic.Int64
	reused := &model.Response{}
	change := func(f func(r *model.Response, req *model.Request)) Subject {
		return subject(func(ctx context.Context, req *model.Request, onDelta func(model.Delta)) (*model.Response, error) {
			r, err := good(ctx, req, onDelta)
			if r != nil {
				f(r, req)
			}
			return r, err
		})
	}
	fail := func(f func() (*model.Response, error)) Subject {
		return subject(func(context.Context, *model.Request, func(model.Delta)) (*model.Response, error) { return f() })
	}
	for _, tt := range []struct {
		check, want string
		s           Subject
	}{
		{"id", "provider/name", Subject{New: func() model.Model { return fake{"weak", good} }}},
		{"id", "changes", Subject{New: func() model.Model { return fake{fmt.Sprint("fake/", n.Add(1)), good} }}},
		{"complete", "neither", fail(func() (*model.Response, error) { return nil, nil })},
		{"complete", "and an error", fail(func() (*model.Response, error) { return &model.Response{}, &model.Error{Kind: "server"} })},
		{"complete", "nil *model.Error", fail(func() (*model.Response, error) { var e *model.Error; return nil, e })},
		{"complete", "nor the context's", fail(func() (*model.Response, error) { return nil, errors.New("oops") })},
		{"complete", "nor the context's", fail(func() (*model.Response, error) { return nil, context.Canceled })},
		{"complete", "without a kind", fail(func() (*model.Response, error) { return nil, &model.Error{} })},
		{"complete", "negative times", fail(func() (*model.Response, error) { return nil, &model.Error{Kind: "server", Elapsed: -1} })},
		{"complete", "usage", fail(func() (*model.Response, error) { return &model.Response{Usage: model.Usage{Output: -1}}, nil })},
		{"complete", "usage", fail(func() (*model.Response, error) { return &model.Response{Usage: model.Usage{Reasoning: 1}}, nil })},
		{"complete", "negative duration", fail(func() (*model.Response, error) { return &model.Response{Elapsed: -time.Second}, nil })},
		{"complete", "no UTF-8", change(func(r *model.Response, _ *model.Request) { r.Items[0].Text = "\xff" })},
		{"complete", "unknown type", change(func(r *model.Response, _ *model.Request) { r.Items[0].Type = "song" })},
		{"complete", "no JSON", change(func(r *model.Response, _ *model.Request) { r.Items[0].Type = model.ProviderCall })},
		{"request unchanged", "was changed", change(func(_ *model.Response, req *model.Request) { req.Parts[0].JSON[0] = 'x' })},
		{"request unchanged", "was changed", change(func(_ *model.Response, req *model.Request) { req.Params.MaxTokens++ })},
		{"response stays", "after it was given", fail(func() (*model.Response, error) {
			reused.Usage.Output++
			return reused, nil
		})},
		{"cancelled before", "after the context ended", fail(func() (*model.Response, error) { return &model.Response{}, nil })},
		{"cancelled before", "kind cancelled", fail(func() (*model.Response, error) { return nil, &model.Error{Kind: "server"} })},
		{"stream", "not the answer's", change(func(r *model.Response, _ *model.Request) { r.Items[0].Text += "." })},
		{"stream", "not streamed", subject(func(ctx context.Context, req *model.Request, _ func(model.Delta)) (*model.Response, error) {
			return good(ctx, req, nil)
		})},
		{"equal requests", "different answers", change(func(r *model.Response, _ *model.Request) { r.Usage.Output = n.Add(1) })},
		{"equal requests", "different answers", change(func(r *model.Response, req *model.Request) { r.Model = fmt.Sprintf("%p", req.Parts[0]) })},
		{"concurrent", "beside others", change(func(r *model.Response, _ *model.Request) { r.Usage.Output = n.Add(1) })},
	} {
		for _, c := range checks() {
			if c.name != tt.check {
				continue
			}
			if err := c.run(tt.s); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s did not find %q: %v", tt.check, tt.want, err)
			}
		}
	}
	// One that counts its own calls is equal to another that was asked the same,
	// and still counts.
	counting := Subject{Deterministic: true, New: func() model.Model {
		calls := new(atomic.Int64)
		return fake{"fake/counting", func(ctx context.Context, req *model.Request, onDelta func(model.Delta)) (*model.Response, error) {
			r, err := good(ctx, req, onDelta)
			if r != nil {
				r.Usage.Output = calls.Add(1)
			}
			return r, err
		}}
	}}
	if err := checkEqual(counting); err != nil {
		t.Errorf("two that counted the same differ: %v", err)
	}
	if err := checkCounts(counting); err == nil || !strings.Contains(err.Error(), "asked before") {
		t.Errorf("a model that counts was not found: %v", err)
	}
}

// Conversations must be fresh, or the suite could not see a change.
func TestConversationsShareNoMemory(t *testing.T) {
	a, b := Conversations("fake/x"), Conversations("fake/x")
	for i := range a {
		if a[i].Chain() != b[i].Chain() || a[i].ParamsDigest != b[i].ParamsDigest {
			t.Errorf("request %d differs", i)
		}
		a[i].Parts[0].JSON[0] = 'x'
		if b[i].Parts[0].JSON[0] == 'x' {
			t.Errorf("request %d is shared", i)
		}
	}
}
