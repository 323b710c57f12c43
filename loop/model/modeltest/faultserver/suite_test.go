package faultserver

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
)

// late is an adapter on a machine so busy that the time of a call is over before
// the call has reached the server, unless it is given half a second.
type late struct {
	url   string
	calls *atomic.Int32
}

func (m late) ID() string { return "test/late" }

func (m late) Generate(ctx context.Context, req *model.Request, _ func(model.Delta)) (*model.Response, error) {
	m.calls.Add(1)
	if req.Timeout > 0 {
		if req.Timeout < 500*time.Millisecond {
			return nil, &model.Error{Kind: model.ErrTimeout, Message: "late"}
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
	}
	r, err := http.NewRequestWithContext(ctx, "POST", m.url+"/v1/chat/completions", strings.NewReader(body(false)))
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, &model.Error{Kind: model.ErrTimeout, Message: "late"}
	}
	defer resp.Body.Close()
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return nil, &model.Error{Kind: model.ErrTimeout, Message: "late"}
	}
	return &model.Response{Items: []model.Item{{Type: model.Text, Text: answer.Choices[0].Message.Content}}}, nil
}

// A fault that no call met must not be left to the next one, which would wait for
// as long as the adapter waits by default.
func TestCallsThatComeLate(t *testing.T) {
	var calls atomic.Int32
	s := Subject{New: func(url string) model.Model { return late{url, &calls} }}
	whole := baseline(t, s)
	for _, f := range []Fault{Hang, Stall} {
		calls.Store(0)
		t.Run(string(f), func(t *testing.T) { s.harmful(t, f, whole) })
		if n := calls.Load(); n != 3 {
			t.Errorf("%s: %d calls, want one that met nothing, one that met the fault, and the next", f, n)
		}
	}
}
