package session_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/internal/sample"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// FuzzReader reads anything: it ends, with lines that are sound.
func FuzzReader(f *testing.F) {
	f.Add(record(f, sample.Play))
	f.Add(seal(f, "note", `,"lane":"a","turn":2,"what":"x"`, "footer", ``))
	f.Add([]byte(`{"v":"harnessbench/session/2"}` + "\n"))
	f.Add([]byte("{\"seq\":1,\"t\":\"header\"}\n\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, r, err := read(b)
		n := 0
		for _, l := range got {
			n += len(l.Raw) + 1
			if bytes.IndexByte(l.Raw, '\n') >= 0 {
				t.Fatal("a line holds an LF")
			}
			if _, err := decode(l); err != nil {
				var d *session.DecodeError
				if !errors.As(err, &d) {
					t.Fatalf("decoding: %v", err)
				}
			}
		}
		if err == nil && r.Torn() == nil && n != len(b) {
			t.Fatalf("%d bytes of %d were accounted for", n, len(b))
		}
	})
}

// FuzzDecoders seals any payload: decoders, conversation and inputs digest fail
// or succeed, and a copy is the same.
func FuzzDecoders(f *testing.F) {
	ls, _, err := read(record(f, sample.Play))
	if err != nil {
		f.Fatal(err)
	}
	for _, l := range ls[1:] {
		f.Add(string(l.Type), l.Payload())
	}
	f.Add("tool.result", []byte(`,"delta":[{"path":"p","b64":"/w==","mode":420}]`))
	f.Fuzz(func(t *testing.T, typ string, payload []byte) {
		var buf bytes.Buffer
		w := session.NewWriter(&buf)
		if errors.Join(w.Line("header", []byte(minimalHeader)), w.Line(session.Type(typ), payload), w.Flush()) != nil {
			return
		}
		got, _, err := read(buf.Bytes())
		if err != nil || len(got) != 2 {
			return
		}
		l := got[1]
		if string(l.Type) != typ || !bytes.Equal(l.Payload(), payload) {
			t.Fatalf("read %s %q, wrote %s %q", l.Type, l.Payload(), typ, payload)
		}
		_, derr := decode(l)
		var d *session.DecodeError
		if derr != nil && !errors.As(derr, &d) {
			t.Fatal(derr)
		}
		talk, in := session.NewConversation(), session.NewInputs()
		for _, l := range got {
			_, _ = talk.Add(l)
			if err := in.Add(l); err != nil {
				t.Fatal(err)
			}
		}
		var again bytes.Buffer
		if err := session.Edit(&again, bytes.NewReader(buf.Bytes()), same); err != nil || !bytes.Equal(again.Bytes(), buf.Bytes()) {
			t.Fatalf("a copy differs (%v)", err)
		}
		if r, ok := must2(decode(l)).(*session.ToolResult); ok && derr == nil {
			trail := session.NewTrail(&session.Header{}, nil)
			for i := range r.Delta {
				_, _ = trail.Event(&r.Delta[i], `{"a":"b"}`)
			}
		}
	})
}

func must2(v any, _ error) any { return v }

// FuzzPart takes canonical JSON to a part: what passes is the same again.
func FuzzPart(f *testing.F) {
	f.Add("message", "user", []byte(`{"content":[{"text":"x","type":"text"}],"role":"user"}`))
	f.Add("message", "assistant", []byte(`{"content":[{"args":"{}","id":"c","name":"n","type":"tool_call"},{"evidence":{"a":1},"type":"provider_call"}],"role":"assistant"}`))
	f.Add("message", "tool", []byte(`{"call_id":"c","content":[],"role":"tool"}`))
	f.Add("tool", "", []byte(`{"description":"d","name":"n","schema":{"a":1e3},"version":1}`))
	f.Fuzz(func(t *testing.T, kind, role string, body []byte) {
		if session.ValidJSON(body) != nil {
			return // lines are checked before parts are decoded
		}
		p, err := (&session.Part{Kind: model.PartKind(kind), Role: model.Role(role), Body: body}).ModelPart()
		if err != nil {
			return
		}
		if !bytes.Equal(p.JSON, body) || p.Digest != model.Sum(body) || string(p.Kind) != kind || string(p.Role) != role {
			t.Fatalf("%s became %s", body, p.JSON)
		}
		if p.Message != nil {
			if again := model.AppendMessage(nil, p.Message); !bytes.Equal(again, body) {
				t.Fatalf("%s became %s", body, again)
			}
		}
	})
}

// FuzzTexts is the round trip from events to lines and back.
func FuzzTexts(f *testing.F) {
	f.Add("text", "a\xff", "\u2028\x00", []byte("\xff\xfe"), uint16(7))
	f.Add("", "", "", []byte{}, uint16(0))
	f.Fuzz(func(t *testing.T, say, raw, args string, content []byte, n uint16) {
		roundTrip(t, say, raw, args, content, n)
	})
}
