package loop_test

import (
	"context"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
)

// counter is a tool whose schema wants a number; it says what it got.
func counter() tool.Tool {
	f := newTool("count", event.Read, func(_ context.Context, op *tool.Op) tool.Result {
		return tool.Result{Outcome: event.Success, Text: op.Args}
	})
	f.spec.Schema = `{"additionalProperties":false,"properties":{"n":{"description":"how many","type":"integer"}},"required":["n"],"type":"object"}`
	return f
}

func TestArgumentRepair(t *testing.T) {
	const whole = `{"additionalProperties":false,"properties":{"n":{"type":"integer"}},"required":["n"],"type":"object"}`
	for _, tt := range []struct {
		name, args     string
		text, plain    string // of the result, with the guard and without
		act, evidence  string
		finish         model.Finish
		outcome, other event.Outcome
	}{
		{"sound", `{"n": 1}`, `{"n":1}`, `{"n":1}`, "", "", model.FinishCalls, event.Success, event.Success},
		{"repaired", "```json\n{\"n\": 1", `{"n":1}`, "invalid arguments", "repair", "fence removed, 1 bracket closed", model.FinishCalls, event.Success, event.ValidationFailed},
		{"cut by the provider", `{"n": 1`, `invalid arguments: not valid JSON: it breaks off; expected at "": ` + whole, "invalid arguments",
			"explain", "invalid arguments: not valid JSON: it breaks off; not repaired: the answer was cut off", model.FinishLength, event.ValidationFailed, event.ValidationFailed},
		{"beyond repair", `{"n": `, `invalid arguments: not valid JSON: it breaks off; expected at "": ` + whole, "invalid arguments",
			"explain", "invalid arguments: not valid JSON: it breaks off; not repaired: it breaks off", model.FinishCalls, event.ValidationFailed, event.ValidationFailed},
		{"repaired, and wrong", `{"n": "x",}`, `invalid arguments: /n: want integer, got string; expected at "/n": {"type":"integer"}`, "invalid arguments",
			"explain", "1 trailing comma dropped; invalid arguments: /n: want integer, got string", model.FinishCalls, event.ValidationFailed, event.ValidationFailed},
		{"does not fit", `{"n": "x"}`, `invalid arguments: /n: want integer, got string; expected at "/n": {"type":"integer"}`, "invalid arguments",
			"explain", "invalid arguments: /n: want integer, got string", model.FinishCalls, event.ValidationFailed, event.ValidationFailed},
	} {
		for _, mode := range []string{"enforce", "shadow", "off"} {
			m := answers(with(calls("count "+tt.args), func(r *model.Response) { r.Finish = tt.finish }), say("done"))
			tr := newTrial(t, m, []tool.Tool{counter()}, guard.ProfileDefault, "argument_repair="+mode)
			tr.wantEnd(t, event.Completed)
			res := eventsOf[*event.ToolResult](tr.sink)[0]
			text, outcome := tt.text, tt.outcome
			if mode != "enforce" {
				text, outcome = tt.plain, tt.other
			}
			if res.Raw != text || res.Outcome != outcome {
				t.Errorf("%s, %s: %s: %s\nwant %s: %s", tt.name, mode, res.Outcome, res.Raw, outcome, text)
			}
			// What the model wrote is in the conversation as it wrote it.
			if req := eventsOf[*event.ToolRequest](tr.sink)[0]; req.Call.Args != tt.args || outcome == event.Success && req.Args != text {
				t.Errorf("%s, %s: %q, canonical %q", tt.name, mode, req.Call.Args, req.Args)
			}
			fired := eventsOf[*event.Guard](tr.sink)
			if tt.act == "" || mode == "off" {
				if len(fired) != 0 {
					t.Errorf("%s, %s: fired %v", tt.name, mode, tr.sink.only("guard"))
				}
				continue
			}
			if len(fired) != 1 || fired[0].Name != "argument_repair" || fired[0].Act != tt.act || fired[0].Evidence != tt.evidence || fired[0].Mode != mode || fired[0].On != res.Call.ID {
				t.Errorf("%s, %s: fired %v: %+v", tt.name, mode, tr.sink.only("guard"), fired)
			}
		}
	}
}

// Settings from before there was the guard leave the texts as they were then.
func TestArgumentRepairUnknown(t *testing.T) {
	tr := newTrial(t, answers(calls(`count {"n":"x"}`), say("done")), []tool.Tool{counter()}, guard.ProfileDefault)
	text := string(tr.Guards.AppendJSON(nil))
	from := strings.Index(text, `"argument_repair":`)
	to := from + strings.Index(text[from:], "},") + 2
	var err error
	if tr.Guards, err = guard.ParseSettings([]byte(text[:from] + text[to:])); err != nil {
		t.Fatal(err)
	}
	tr.wantEnd(t, event.Completed)
	if got := eventsOf[*event.ToolResult](tr.sink)[0].Raw; got != "invalid arguments: /n: want integer, got string" || len(tr.sink.only("guard")) != 0 {
		t.Error(got)
	}
}

// The setting that closes strings runs what a call has left of its text.
func TestArgumentRepairClosesStringsOnRequest(t *testing.T) {
	for strs, want := range map[string]event.Outcome{"0": event.ValidationFailed, "1": event.Success} {
		tr := newTrial(t, answers(calls(`look {"text":"half of i`), say("done")), []tool.Tool{ok("look", event.Read, "seen")}, guard.ProfileDefault, "argument_repair.strings="+strs)
		tr.wantEnd(t, event.Completed)
		if got := eventsOf[*event.ToolResult](tr.sink)[0].Outcome; got != want {
			t.Errorf("strings %s: %s", strs, got)
		}
	}
}
