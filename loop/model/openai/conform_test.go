package openai

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/modeltest"
	"github.com/harnessbench/harnessbench/loop/model/modeltest/faultserver"
)

// testKey is in every request of these tests and must be in no error.
const testKey = "sk-test-0123456789abcdefghij"

func on(t testing.TB, url string, change func(*Options)) *Model {
	t.Helper()
	o := Options{ID: "openai/test", BaseURL: url + "/v1", Key: testKey}
	if change != nil {
		change(&o)
	}
	m, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// both runs a test for answers in one piece and for streams.
func both(t *testing.T, f func(t *testing.T, stream func(*Options))) {
	t.Run("whole", func(t *testing.T) { f(t, func(o *Options) { o.Stream = false }) })
	t.Run("stream", func(t *testing.T) { f(t, func(o *Options) { o.Stream = true }) })
}

func TestConforms(t *testing.T) {
	both(t, func(t *testing.T, stream func(*Options)) {
		srv := faultserver.New(func(a *faultserver.Ask) (*model.Response, error) {
			if a.Max == 64 {
				return nil, &model.Error{Kind: model.ErrServer, Status: 503, Message: "busy"}
			}
			return faultserver.Echo(a)
		}, faultserver.Plan{})
		defer srv.Close()
		m := on(t, srv.URL, stream)
		modeltest.Test(t, modeltest.Subject{New: func() model.Model { c := *m; return &c }, Deterministic: true, Streams: m.o.Stream})
	})
}

func TestFaults(t *testing.T) {
	both(t, func(t *testing.T, stream func(*Options)) {
		faultserver.TestModel(t, faultserver.Subject{New: func(url string) model.Model { return on(t, url, stream) }})
	})
}

// Streamed or not, an answer is the same, and it is what the server gave.
func TestStreamedEqualsWhole(t *testing.T) {
	srv := faultserver.New(nil, faultserver.Plan{})
	defer srv.Close()
	for i, req := range modeltest.Conversations("openai/test") {
		a, err := on(t, srv.URL, nil).Generate(context.Background(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := on(t, srv.URL, func(o *Options) { o.Stream = true }).Generate(context.Background(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("request %d (-whole +streamed):\n%s", i, diff)
		}
		if a.Items[0].Type != model.Reasoning || a.Items[1].Type != model.Text || i == 1 && len(a.Calls()) != 2 ||
			a.Usage.Output != 40 || a.Usage.CacheRead == 0 || a.Usage.Reasoning != 6 || a.Model != "openai/test" {
			t.Errorf("request %d: not what the server gave: %+v", i, a)
		}
	}
}

func modelError(t *testing.T, err error) *model.Error {
	t.Helper()
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("no *model.Error: %v", err)
	}
	return e
}
