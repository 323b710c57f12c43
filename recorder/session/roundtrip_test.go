package session_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/internal/sample"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// roundTrip records hostile texts and contents and reads them back: what comes
// back is what went in, requests and inputs digests add up.
func roundTrip(t *testing.T, say, raw, args string, content []byte, n uint16) {
	t.Helper()
	change := sample.Write("p/"+say, string(content))
	took := time.Duration(n) * time.Microsecond
	b := record(t, func(s event.Sink) error {
		talk := sample.New(s, event.MainLane)
		talk.Open()
		talk.Turn = int(n)
		talk.Ask()
		talk.Answer(say, sample.Call{Name: say, Args: args, Canon: args, Resources: []string{raw}, Text: raw, Took: took, Delta: []event.Delta{change}})
		talk.Say("feedback", model.NewTextPart(model.User, raw))
		talk.Close()
		talk.Ask()
		talk.End(event.Completed, raw)
		return talk.Err
	})
	ls, r, err := read(b)
	if err != nil || !r.Complete() {
		t.Fatal(err)
	}
	talk, inputs := session.NewConversation(), session.NewInputs()
	var result *session.ToolResult
	for _, l := range ls {
		if _, err := talk.Add(l); err != nil {
			t.Fatalf("%v\n%s", err, l.Raw)
		}
		switch l.Type {
		case session.TypeToolResult:
			if result, err = l.ToolResult(); err != nil {
				t.Fatal(err)
			}
		case session.TypeFooter:
			if f := must(l.Footer()); f.Inputs != inputs.Digest() {
				t.Fatalf("inputs: footer %s, lines %s", f.Inputs, inputs.Digest())
			}
		}
		if err := inputs.Add(l); err != nil {
			t.Fatal(err)
		}
	}
	if result.Text != session.Repair(raw) || result.Bytes != int64(len(raw)) || result.Took != took || result.Want != took {
		t.Fatalf("%+v", result)
	}
	trail := session.NewTrail(must(ls[0].Header()), nil)
	d, err := trail.Event(&result.Delta[0], args)
	if err != nil || !bytes.Equal(d.Content, content) || d.After != change.After || d.Path != session.Repair(change.Path) {
		t.Fatalf("%+v, %v", d, err)
	}
}

func TestRoundTrip(t *testing.T) {
	for _, c := range []struct{ say, raw, args, content string }{
		{},
		{"\x00\x1f\x7f\u2028\u2029\ufffd", "\xc3\x28\xa0\xf0\x9f", "{\"a\":\"\\u0000\"}", "\xff"},
		{`"\`, "\r\n\t\b\f", `[`, `{"json":"in text"}`},
		{"<script>&", "\xed\xa0\x80", `{"c":"this content is longer than thirty-two bytes"}`, "this content is longer than thirty-two bytes"},
	} {
		for _, n := range []uint16{0, 1, 65535} {
			roundTrip(t, c.say, c.raw, c.args, []byte(c.content), n)
		}
	}
}
