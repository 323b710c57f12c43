package recorder_test

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder"
	"github.com/harnessbench/harnessbench/recorder/internal/sample"
	"github.com/harnessbench/harnessbench/recorder/session"
)

var update = flag.Bool("update", false, "write golden files anew")

// record plays events into a session in memory.
func record(t testing.TB, play func(event.Sink) error) []byte {
	t.Helper()
	var buf bytes.Buffer
	rec, err := recorder.New(session.NewWriter(&buf), sample.Header(), recorder.Config{TreeDigest: func() (model.Digest, error) { return model.SumString("final"), nil }})
	if err != nil {
		t.Fatal(err)
	}
	if err := play(rec); err != nil {
		t.Fatal(err)
	}
	if err := rec.Finish(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// lines reads a whole session.
func lines(t testing.TB, b []byte) []*session.Line {
	t.Helper()
	var out []*session.Line
	r := session.NewReader(bytes.NewReader(b))
	for {
		l, err := r.Next()
		if errors.Is(err, io.EOF) {
			if !r.Complete() || r.Torn() != nil {
				t.Fatalf("complete %v, torn %v", r.Complete(), r.Torn())
			}
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, l.Clone())
	}
}

func TestGolden(t *testing.T) {
	got := record(t, sample.Play)
	name := filepath.Join("testdata", "sample"+session.Suffix)
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	g, w := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || !bytes.Equal(g[i], w[i]) {
			t.Fatalf("line %d differs from %s (-update writes it anew):\n got %s\nwant %s", i+1, name, at(g, i), at(w, i))
		}
	}
}

func at(b [][]byte, i int) []byte {
	if i < len(b) {
		return b[i]
	}
	return []byte("(none)")
}

// TestSelfConsistent recomputes from the lines alone what the encoder kept
// running: requests, inputs digests, implied turns.
func TestSelfConsistent(t *testing.T) {
	for name, play := range map[string]func(event.Sink) error{
		"sample": sample.Play,
		"many":   func(s event.Sink) error { return sample.Many(s, 40, 500) },
	} {
		t.Run(name, func(t *testing.T) {
			talk, inputs, asked := session.NewConversation(), session.NewInputs(), 0
			for _, l := range lines(t, record(t, play)) {
				a, err := talk.Add(l)
				if err != nil {
					t.Fatal(err)
				}
				if a != nil {
					asked++
				}
				switch l.Type {
				case session.TypeState:
					s, err := l.State()
					if err != nil || !s.Inputs.Of(inputs.Digest()) {
						t.Fatalf("line %d: inputs are %s, want %s (%v)", l.No, s.Inputs, inputs.Digest(), err)
					}
				case session.TypeFooter:
					f, err := l.Footer()
					if err != nil || f.Inputs != inputs.Digest() || f.Lines != l.No {
						t.Fatalf("footer %+v, inputs %s, line %d (%v)", f, inputs.Digest(), l.No, err)
					}
				}
				if err := inputs.Add(l); err != nil {
					t.Fatal(err)
				}
			}
			if asked < 6 {
				t.Fatalf("%d requests were checked", asked)
			}
		})
	}
}

// TestTableMatchesLines proves that the table of fields and the lines agree: no
// field stands in a line that the table does not know, their order is the
// table's, and the samples use every field but those listed.
func TestTableMatchesLines(t *testing.T) {
	order := map[session.Type]map[string]int{}
	unused := map[string]bool{}
	for i, f := range session.Fields {
		if strings.ContainsAny(f.Name, ".[") || f.Name == "seq" || f.Name == "t" || f.Name == "h" {
			continue
		}
		if order[f.Line] == nil {
			order[f.Line] = map[string]int{}
		}
		order[f.Line][f.Name] = i
		unused[string(f.Line)+" "+f.Name] = true
	}
	traffic, err := os.ReadFile("wire/tape/testdata/various.session.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range append(lines(t, record(t, sample.Play)), lines(t, traffic)...) {
		last := -1
		l.Keys(func(key string, _ []byte) {
			i, ok := order[l.Type][key]
			delete(unused, string(l.Type)+" "+key)
			if !ok {
				i, ok = order[""][key]
				delete(unused, " "+key)
			}
			if !ok || i <= last {
				t.Errorf("line %d (%s): field %q is not in the table, or out of its order", l.No, l.Type, key)
			}
			last = i
		})
	}
	for _, known := range []string{"attempt items", "acceptance empty", "footer evidence", "footer backstop", "tool.result bytes", "wire size", "wire blob"} {
		if !unused[known] {
			t.Errorf("%s is used by now: take it off the list", known)
		}
		delete(unused, known)
	}
	if len(unused) > 0 {
		t.Errorf("fields that the sample does not use: %v", unused)
	}
}

// TestEncoderAlone proves that what a replay compares, the encoder's payloads,
// are the payloads of the recorded lines.
func TestEncoderAlone(t *testing.T) {
	recorded := lines(t, record(t, sample.Play))
	enc := recorder.NewEncoder(recorder.Options{TreeDigest: func() (model.Digest, error) { return model.SumString("final"), nil }})
	h, err := recorded[0].Header()
	if err != nil {
		t.Fatal(err)
	}
	payload, err := enc.Header(h)
	if err != nil || !bytes.Equal(payload, recorded[0].Payload()) {
		t.Fatalf("header: %v\n got %s\nwant %s", err, payload, recorded[0].Payload())
	}
	i := 1
	err = sample.Play(sinkFunc(func(ev event.Event) error {
		typ, payload, err := enc.Encode(ev)
		if err != nil || typ == "" {
			return err
		}
		if l := recorded[i]; l.Type != typ || !bytes.Equal(l.Payload(), payload) {
			t.Errorf("line %d (%s) is %s, encoded %s %s", l.No, l.Type, l.Payload(), typ, payload)
		}
		i++
		return nil
	}))
	if err != nil || i != len(recorded) {
		t.Fatalf("%d of %d lines, %v", i, len(recorded), err)
	}
}

type sinkFunc func(event.Event) error

func (f sinkFunc) Emit(ev event.Event) error { return f(ev) }

func TestRecorderRefuses(t *testing.T) {
	h := sample.Header()
	h.Config = []byte(`{"a":1,"a":2}`)
	if _, err := recorder.New(session.NewWriter(io.Discard), h, recorder.Config{}); err == nil || !strings.Contains(err.Error(), "duplicate key") {
		t.Errorf("config with a duplicate key: %v", err)
	}
	h = sample.Header()
	h.ConfigDigest = model.SumString("other")
	if _, err := recorder.New(session.NewWriter(io.Discard), h, recorder.Config{}); err == nil {
		t.Error("a digest that does not fit the config passes")
	}
	h = sample.Header()
	h.Tree[0], h.Tree[1] = h.Tree[1], h.Tree[0]
	if _, err := recorder.New(session.NewWriter(io.Discard), h, recorder.Config{}); err == nil {
		t.Error("an unsorted tree passes")
	}
	rec, err := recorder.New(session.NewWriter(io.Discard), sample.Header(), recorder.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := rec.Finish(); !errors.Is(err, recorder.ErrNotEnded) {
		t.Errorf("finish without an end: %v", err)
	}
	big := &event.ToolResult{Delta: []event.Delta{sample.Write("big", strings.Repeat("x", session.InlineDelta+1))}}
	if err := rec.Emit(big); err == nil || !strings.Contains(err.Error(), "no blob store") {
		t.Errorf("a blob without a store: %v", err)
	}
	if err := rec.Emit(&event.Anomaly{}); err == nil {
		t.Error("the first error does not stick")
	}
	rec, _ = recorder.New(session.NewWriter(io.Discard), sample.Header(), recorder.Config{})
	if err := rec.Emit(&event.Start{Config: model.SumString("another")}); err == nil {
		t.Error("another config passes")
	}
	for name, ev := range map[string]event.Event{
		"evidence":       &event.Response{Resp: &model.Response{Items: []model.Item{{Type: model.ProviderCall, Evidence: "{"}}}},
		"schema":         &event.Part{Part: model.NewToolPart(model.ToolSpec{Schema: "{\n}"})},
		"empty attempt":  &event.Attempt{},
		"after evidence": &event.Attempt{Resp: &model.Response{Items: []model.Item{{Type: model.ProviderCall, Evidence: `{"a":1,"a":1}`}}}},
	} {
		rec, _ = recorder.New(session.NewWriter(io.Discard), sample.Header(), recorder.Config{})
		if err := rec.Emit(ev); err == nil {
			t.Errorf("%s passes", name)
		}
	}
}

// TestInvalidUTF8 records texts that are no UTF-8 as a reader can digest them.
func TestInvalidUTF8(t *testing.T) {
	bad := "a\xff\xfe\xe2\x82" + strings.Repeat("z", 80)
	b := record(t, func(s event.Sink) error {
		talk := sample.New(s, event.MainLane)
		talk.Open()
		talk.Turn = 1
		talk.Ask()
		talk.Answer("x", sample.Call{Name: "t", Args: "{}", Text: bad})
		talk.Emit(&event.Response{Head: event.Head{Lane: "main", Turn: 1}, Resp: &model.Response{Model: bad, Finish: model.Finish(bad)}})
		talk.Close()
		talk.End(event.Completed, "")
		return talk.Err
	})
	inputs := session.NewInputs()
	for _, l := range lines(t, b) {
		if l.Type == session.TypeToolResult {
			r, err := l.ToolResult()
			if err != nil || r.Bytes != int64(len(bad)) || r.Text != session.Repair(bad) || r.Text == bad {
				t.Fatalf("%+v, %v", r, err)
			}
		}
		if l.Type == session.TypeFooter {
			if f, err := l.Footer(); err != nil || f.Inputs != inputs.Digest() {
				t.Fatalf("inputs %s, lines give %s (%v)", f.Inputs, inputs.Digest(), err)
			}
		}
		if err := inputs.Add(l); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLive proves what is on the disk when a live call begins: its request; and
// before an effect outside, the tool.request lines.
func TestLive(t *testing.T) {
	for _, live := range []bool{false, true} {
		var disk bytes.Buffer
		rec, err := recorder.New(session.NewWriter(&disk), sample.Header(), recorder.Config{Live: live})
		if err != nil {
			t.Fatal(err)
		}
		talk := sample.New(rec, event.MainLane)
		talk.Open()
		talk.Turn = 1
		talk.Ask()
		if got := strings.Contains(disk.String(), `"t":"request"`); got != live {
			t.Errorf("live %v: request on the disk: %v", live, got)
		}
		talk.Answer("x", sample.Call{Name: "send", Args: "{}"})
		talk.Emit(&event.Checkpoint{Next: event.NextTool, Effect: event.Read})
		if strings.Contains(disk.String(), `"t":"tool.request"`) {
			t.Errorf("live %v: flushed before a read", live)
		}
		talk.Emit(&event.Checkpoint{Next: event.NextTool, Effect: event.External})
		if !strings.Contains(disk.String(), `"t":"tool.request"`) {
			t.Errorf("live %v: an effect outside begins before its request is on the disk", live)
		}
		talk.Close()
		if !strings.Contains(disk.String(), `"t":"state"`) {
			t.Errorf("live %v: a turn was not flushed", live)
		}
		talk.End(event.Completed, "")
		if err := errors.Join(talk.Err, rec.Finish()); err != nil {
			t.Fatal(err)
		}
		if _, err := session.Verify(session.NewReader(&disk)); err != nil {
			t.Fatal(err)
		}
	}
}
