package transcript_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/transcript"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/results/importer"
	"github.com/harnessbench/harnessbench/scenarios"
)

var update = flag.Bool("update", false, "write golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
		t.Errorf("%s (-want +got; -update writes it anew):\n%s", path, d)
	}
}

// simulate runs one trial of the scenario in testdata and returns its session
// and the journal's entry as far as a transcript shows it.
func simulate(t testing.TB, id, arm string, guards guard.Settings) ([]byte, *results.Entry) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "desk.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	sc, err := scenarios.LoadTxtar("desk.txtar", data)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x"+session.Suffix)
	out, err := trial.Run(context.Background(), trial.Spec{Scenario: sc, Model: id, Arm: arm, Guards: guards, Seed: 1},
		trial.Options{Session: path, Sync: session.SyncNever, Temp: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	e := &results.Entry{Trial: results.Trial{Verdict: out.Overall.Verdict, SessionDigest: hex.EncodeToString(out.Digest[:])}}
	for _, v := range out.Verdicts {
		e.Verdicts = append(e.Verdicts, results.Verdict{Grader: v.Grader, Verdict: v.Verdict, Reason: v.Reason})
	}
	return b, e
}

// set changes the default profile: set(t, "stuck", "shadow", "spill.over", "256").
func set(t testing.TB, pairs ...string) guard.Settings {
	t.Helper()
	s := guard.MustProfile(guard.ProfileDefault)
	for i := 0; i < len(pairs); i += 2 {
		var err error
		if name, param, ok := strings.Cut(pairs[i], "."); ok {
			s, err = s.WithParam(name, param, pairs[i+1])
		} else {
			s, err = s.With(pairs[i], guard.Mode(pairs[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// imported returns one session of the importer's small test file.
func imported(t testing.TB) []byte {
	t.Helper()
	f, _ := importer.Lookup("tau-bench")
	var first []byte
	_, err := f.Import(filepath.Join("..", "..", "..", "..", "results", "importer", "testdata", "tiny.json"), importer.Options{
		Model: "openai/gpt-4o", Domain: "desk",
		Open: func(_ string, h *session.Header) (importer.Target, error) {
			var buf bytes.Buffer
			w := session.NewWriter(&buf)
			rec, err := recorder.New(w, *h, recorder.Config{})
			return importer.Target{Sink: rec, Close: func() (model.Digest, error) {
				err := rec.Finish()
				if first == nil {
					first = buf.Bytes()
				}
				return w.Digest(), err
			}}, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return first
}

// play records events into a session in memory.
func play(t testing.TB, h session.Header, events ...event.Event) []byte {
	t.Helper()
	var buf bytes.Buffer
	if h.Config == nil {
		h.Config = []byte("{}")
	}
	rec, err := recorder.New(session.NewWriter(&buf), h, recorder.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range events {
		if err := rec.Emit(ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := rec.Finish(); err != nil && err != recorder.ErrNotEnded {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// hostile holds, wherever a model, a tool or a file can put text, what a
// terminal would take for commands, what changes the direction of text, and a
// line of a mebibyte.
func hostile(t testing.TB) []byte {
	t.Helper()
	const evil = "\x1b[2J\x1b]0;owned\x07\r\u202egnp.exe\u2028\x00\u009b31m\xff"
	main := func(turn int) event.Head { return event.Head{Lane: event.MainLane, Turn: turn, At: time.Second} }
	side := event.Head{Lane: "sub" + evil, Turn: 1}
	call := model.ToolCall{ID: "c" + evil, Name: "tool" + evil, Args: `{"a` + `": "` + strings.Repeat("界", 200) + `"}`}
	odd := model.ToolCall{ID: "d", Name: strings.Repeat("long_name_", 12), Args: "no JSON " + evil}
	items := []model.Item{{Type: model.Text, Text: "first" + evil + "\n\ttabbed\n" + strings.Repeat("wide 界 ", 40)},
		{Type: model.Reasoning, Text: "thinking" + evil}, {Type: model.CallItem, Call: call}, {Type: model.CallItem, Call: odd}}
	resp := &model.Response{Items: items, Finish: model.Finish("fin" + evil), Model: "other/" + evil, Usage: model.Usage{InputUncached: 1234567, CacheWrite: 3, Output: 5, Reasoning: 4}}
	exit := -7
	return play(t, session.Header{Scenario: "s" + evil, Model: "m/" + evil, Repetition: 2, Labels: map[string]string{"arm": "a" + evil, "k" + evil: "v" + evil}},
		&event.Part{Head: main(0), Part: model.NewTextPart(model.System, evil), Why: "system"},
		&event.Part{Head: main(0), Part: model.NewTextPart(model.User, "task"+evil), Why: "task"},
		&event.Attempt{Head: main(1), Err: &model.Error{Kind: "odd" + evil, Message: evil}, Took: time.Hour + 2*time.Minute},
		&event.Response{Head: main(1), Resp: resp, Part: model.NewMessagePart(model.Message{Role: model.Assistant, Items: items})},
		&event.ToolRequest{Head: main(1), Call: call, Args: call.Args, Problem: event.ProblemArguments, Detail: "detail" + evil},
		&event.ToolRequest{Head: main(1), Index: 1, Call: odd, Args: odd.Args},
		&event.ToolResult{Head: main(1), Call: call, Args: call.Args, Outcome: event.Outcome("out" + evil), Raw: evil + strings.Repeat("x", 1<<20) + "\nend", Exit: &exit,
			Delta: []event.Delta{{Op: "write", Path: "p" + evil, After: model.SumString("x"), Size: 1, Content: []byte("x")}, {Op: "delete", Path: "q" + evil, Before: model.SumString("x")}}},
		&event.Guard{Head: main(1), Name: "g" + evil, Mode: "enforce", Act: "act" + evil, Evidence: evil, On: call.ID, Failed: "f" + evil},
		&event.Part{Head: main(1), Part: model.NewResultPart(call.ID, "seen"+evil), Why: "rewrite"},
		&event.ToolResult{Head: main(1), Index: 1, Call: odd, Args: odd.Args, Outcome: event.Success, Took: 1500 * time.Microsecond, Want: 3 * time.Second},
		&event.Response{Head: side, Resp: &model.Response{Items: []model.Item{{Type: model.ProviderCall, Evidence: `{"q":"` + "\u202e" + `"}`}}}},
		&event.Candidate{Head: main(1), Checked: true, Fail: "fail" + evil},
		&event.Anomaly{Head: main(1), What: "note" + evil},
		&event.Part{Head: main(1), Part: model.NewTextPart(model.User, "feedback"+evil), Why: "why" + evil},
		&event.State{Head: main(1), Version: 1, Calls: 2, Cost: event.Cost{Pico: 1_234_567_890_123, Known: true}},
		&event.Response{Head: main(2), Resp: &model.Response{}},
		&event.Candidate{Head: main(2)},
		&event.End{Head: main(2), Reason: event.Reason("r" + evil), Evidence: evil, Backstop: true, Unchecked: true, Turns: 2})
}

func reader(b []byte) *session.Reader { return session.NewReader(bytes.NewReader(b)) }

// again opens a session that is in memory, each time anew.
func again(b []byte) transcript.Source {
	return func() (*session.Reader, error) { return reader(b), nil }
}

func shown(t testing.TB, b []byte, o transcript.Options) string {
	t.Helper()
	var out strings.Builder
	if err := transcript.Show(&out, reader(b), o); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
