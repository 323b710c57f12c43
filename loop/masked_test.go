package loop_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/redact"
	"github.com/harnessbench/harnessbench/loop/tool"
)

const aKey = "sk-live-4fK9aQz27LmXw83RtYb1"

// Whatever brings a secret up, neither an event nor a request has it, and each
// place has its firing.
func TestMaskedEverywhere(t *testing.T) {
	const own = "velvet-Cargo-2201"
	answer := calls(`act {"key":"` + aKey + `"}`)
	answer.Items = append([]model.Item{{Type: model.Text, Text: "I take " + own}, {Type: model.Reasoning, Text: aKey}, {Type: model.ProviderCall, Evidence: `{"k":"` + own + `"}`}}, answer.Items...)
	items := answer.Items[0]
	m := answers(&model.Error{Kind: model.ErrServer, Status: 503, Message: "bad key " + aKey}, answer, say("the key is "+own))
	var op string
	tr := newTrial(t, m, []tool.Tool{newTool("act", event.Write, func(_ context.Context, o *tool.Op) tool.Result {
		op = o.Args
		return tool.Result{Outcome: event.Success, Text: "key=" + aKey + " own=" + own}
	})}, guard.ProfileDefault)
	tr.deps.Secrets = redact.New(own)
	tr.deps.Check = func(context.Context, string) (string, error) { return "", nil }
	end := tr.wantEnd(t, event.Completed)
	var evidence []string
	for _, ev := range tr.sink.events {
		var texts []string
		switch ev := ev.(type) {
		case *event.Attempt:
			texts = []string{ev.Err.Message}
		case *event.Response:
			texts = []string{string(ev.Part.JSON)}
		case *event.ToolRequest:
			texts = []string{ev.Args, ev.Call.Args}
		case *event.ToolResult:
			texts = []string{ev.Raw, ev.Shown, ev.Args}
			if ev.RawDigest != model.SumString(ev.Raw) {
				t.Error("the digest is not that of what is told")
			}
		case *event.Candidate:
			texts = []string{ev.Answer}
		case *event.Guard:
			if ev.Name == "redaction" {
				evidence = append(evidence, ev.Act+" "+ev.Evidence)
			}
			texts = []string{ev.Evidence}
		case *event.Request:
			for _, p := range ev.Req.Parts {
				texts = append(texts, string(p.JSON))
			}
		}
		for _, s := range texts {
			if strings.Contains(s, own) || strings.Contains(s, aKey) {
				t.Errorf("%T: %s", ev, s)
			}
		}
	}
	wantLines(t, evidence, "mask sk 1 in the error", "mask declared 2, sk 2 in the answer", "mask declared 1, sk 1 in the result", "mask declared 1 in the answer")
	if strings.Contains(end.Answer, own) || len(end.Answer) != len("the key is "+own) || strings.Contains(op, aKey) {
		t.Errorf("%q, the tool was given %q", end.Answer, op)
	}
	if answer.Items[0] != items {
		t.Error("an answer that others have too was changed")
	}
}

// A text that was masked elsewhere is told of as it says, and not counted again;
// a session without the guard masks nothing.
func TestMaskedBefore(t *testing.T) {
	run := func(profile string, set func(*trial)) []string {
		tr := newTrial(t, answers(calls("act"), say("done")), []tool.Tool{newTool("act", event.Write, func(context.Context, *tool.Op) tool.Result {
			return tool.Result{Outcome: event.Success, Text: "key=" + strings.Repeat("*", 20), Redacted: "declared 1", Delta: []event.Delta{{Op: "write", Path: "x", Redacted: true}}}
		})}, profile)
		set(tr)
		tr.wantEnd(t, event.Completed)
		var out []string
		for _, g := range eventsOf[*event.Guard](tr.sink) {
			out = append(out, g.Name+" "+g.Evidence)
		}
		return out
	}
	wantLines(t, run(guard.ProfileNone, func(*trial) {}), "redaction declared 1, changed files 1")
	wantLines(t, run(guard.ProfileNone, func(tr *trial) {
		old, err := guard.ParseSettings([]byte(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		tr.Guards = old // of a session that knows nothing of it
	}))
}

// The scripted user answers each line once, the first that fits; then the checks
// decide. A blank answer is none.
func TestScriptedUser(t *testing.T) {
	m := answers(say("Which one?"), say("Are you sure?"), say("Which one, again?"), say(" "), say("Sorry: which one?"), say("Booked."))
	tr := newTrial(t, m, nil, guard.ProfileDefault)
	tr.deps.Rules.User = []loop.Utterance{
		{When: regexp.MustCompile(`(?i)sure`), Say: "Yes."},
		{When: regexp.MustCompile(`(?i)which`), Say: "The red one."},
		{When: regexp.MustCompile(`(?i)which`), Say: "I said red."},
		{Say: "Hello?"},
	}
	checked := 0
	tr.deps.Check = func(context.Context, string) (string, error) { checked++; return "", nil }
	end := tr.wantEnd(t, event.Completed)
	var said []string
	for _, p := range eventsOf[*event.Part](tr.sink) {
		if p.Why == "user" {
			said = append(said, model.TextOf(p.Part.Message.Items))
		}
	}
	wantLines(t, said, "The red one.", "Yes.", "I said red.", "Hello?")
	if end.Turns != 6 || end.Answer != "Booked." || checked != 2 || end.Unchecked {
		t.Errorf("%+v, checked %d times", end, checked)
	}
	if last := m.asked[1].last; last != "The red one." {
		t.Errorf("the model reads %q", last)
	}
}

func BenchmarkMask(b *testing.B) {
	r := redact.New("velvet-Cargo-2201", "marble-Orchid-7702", "tulip-Harbour-9917")
	text := strings.Repeat("2026-03-02T06:00:41Z order=402913 state=SHIPPED wh=RTM\n", 19)[:1024]
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		var f redact.Found
		if r.Note(text, &f) != text {
			b.Fatal("found something")
		}
	}
}

// What a check or an approver says is masked whole, before it is cut and also where
// the check itself failed.
func TestMaskedReasons(t *testing.T) {
	tr := newTrial(t, answers(say("done")), nil, guard.ProfileDefault)
	tr.deps.Check = func(context.Context, string) (string, error) { return "", errors.New("refused: " + aKey) }
	if end := tr.wantEnd(t, event.InternalError); strings.Contains(end.Evidence, aKey) || !strings.Contains(end.Evidence, "refused") {
		t.Error(end.Evidence)
	}
	tr = newTrial(t, answers(calls("pay"), say("done")), []tool.Tool{ok("pay", event.External, "paid")}, guard.ProfileDefault, "approval=enforce")
	tr.deps.Rules = rules(t, guard.ApprovalRule{Tool: "pay", Decide: guard.Deny, Takes: time.Second, Reason: strings.Repeat("x", 480) + " " + aKey})
	tr.deps.Approve = tr.deps.Rules.Approver()
	tr.wantEnd(t, event.Completed)
	if a := eventsOf[*event.Approval](tr.sink)[0]; strings.Contains(a.Reason, aKey[:12]) {
		t.Error(a.Reason)
	}
}
