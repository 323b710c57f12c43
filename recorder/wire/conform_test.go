package wire

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/modeltest"
	"github.com/harnessbench/harnessbench/loop/model/openai"
	"github.com/harnessbench/harnessbench/loop/model/sim"
)

// over is a simulated model behind an endpoint, as a run reaches it.
func over(t testing.TB, at, profile string, stream bool) model.Model {
	t.Helper()
	m, err := openai.New(openai.Options{ID: "openai/" + profile, Name: profile, BaseURL: at + "/v1", Stream: stream, Trace: true})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A simulated model behind the endpoint keeps the contract of every model.
func TestModelsBehindTheEndpointConform(t *testing.T) {
	for _, profile := range []string{"sim/oracle", "sim/weak", "sim/trap-retry", "sim/trap-truncated_empty"} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s stream %t", profile, stream), func(t *testing.T) {
				at := endpoint(t, NewSim(simulated(t, profile)))
				modeltest.Test(t, modeltest.Subject{New: func() model.Model { return over(t, at, profile, stream) }, Deterministic: true, Streams: stream})
			})
		}
	}
	openai.CloseIdle()
}

// Every profile answers over the wire as it does in process: items, usage, finish
// and kinds of errors, of each attempt.
func TestEveryProfileAnswersAsInProcess(t *testing.T) {
	o := simulated(t, "sim/oracle")
	at := endpoint(t, NewSim(o))
	for _, p := range sim.Profiles() {
		for _, stream := range []bool{false, true} {
			wired := over(t, at, p.Name, stream)
			for i, req := range deskRequests(p.Name) {
				local, err := o.New("desk", p.Name, 1)
				if err != nil {
					t.Fatal(err)
				}
				want, wantErr := local.Generate(context.Background(), req, nil)
				got, gotErr := wired.Generate(context.Background(), req, nil)
				if diff := cmp.Diff(outline(want, wantErr), outline(got, gotErr)); diff != "" {
					t.Errorf("%s, stream %t, request %d (-in process +over the wire):\n%s", p.Name, stream, i, diff)
				}
			}
		}
	}
	openai.CloseIdle()
}

// deskRequests are the requests of a run of the desk scenario, each attempted
// twice, and the last one without its results.
func deskRequests(id string) []*model.Request {
	tr := model.NewTranscript()
	var out []*model.Request
	add := func(turn int) {
		for attempt := range 2 {
			p := model.Params{Model: id, MaxTokens: 2000}
			r := &model.Request{Params: p, ParamsDigest: p.Digest(), Lane: "main", Turn: turn, Attempt: attempt, Occurrence: attempt, Count: tr.Len()}
			r.Parts, r.Chains = tr.View()
			out = append(out, r)
		}
	}
	tr.Append(model.NewToolPart(model.ToolSpec{Name: "lookup", Version: 2, Description: "Looks up.", Schema: `{"type":"object"}`}))
	tr.Append(model.NewTextPart(model.System, "Be brief."))
	tr.Append(model.NewTextPart(model.User, deskTask))
	add(1)
	call := func(id, args string) model.Item {
		return model.Item{Type: model.CallItem, Call: model.ToolCall{ID: id, Name: "lookup", Args: args}}
	}
	tr.Append(model.NewMessagePart(model.Message{Role: model.Assistant, Items: []model.Item{{Type: model.Text, Text: "I look both up."},
		call("call_1", `{"what":"apples"}`), call("call_2", `{"what":"pears"}`)}}))
	tr.Append(model.NewResultPart("call_1", "apples cost 12"))
	add(2)
	tr.Append(model.NewResultPart("call_2", "pears cost 7\n"))
	add(2)
	out[len(out)-1].Purpose = model.ForFinalSynthesis
	return out
}

// outline is what must be equal of an answer or an error.
func outline(r *model.Response, err error) any {
	var e *model.Error
	if errors.As(err, &e) {
		kind := e.Kind
		return []any{"error", kind, e.RetryAfter, e.Usage}
	}
	if err != nil {
		return err.Error()
	}
	items := []model.Item{}
	for _, it := range r.Items {
		it.Call.ID = "" // the loop gives its own
		items = append(items, it)
	}
	return []any{items, r.Finish, r.Usage}
}
