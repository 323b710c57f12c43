package importer_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/results/importer"
)

var update = flag.Bool("update", false, "write golden files anew")

// memory records sessions into memory.
type memory map[string][]byte

func (m memory) open(name string, h *session.Header) (importer.Target, error) {
	var buf bytes.Buffer
	w := session.NewWriter(&buf)
	rec, err := recorder.New(w, *h, recorder.Config{})
	if err != nil {
		return importer.Target{}, err
	}
	return importer.Target{Sink: rec, Close: func() (model.Digest, error) {
		err := rec.Finish()
		m[name] = buf.Bytes()
		return w.Digest(), err
	}}, nil
}

func tau(t testing.TB) importer.Format {
	t.Helper()
	f, ok := importer.Lookup("tau-bench")
	if !ok {
		t.Fatal("there is no importer tau-bench")
	}
	return f
}

// write puts content into a file of this name.
func write(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTiny compares every line of the sessions of a small file.
func TestTiny(t *testing.T) {
	got := memory{}
	res, err := tau(t).Import(filepath.Join("testdata", "tiny.json"), importer.Options{Model: "openai/gpt-4o", Domain: "desk", Open: got.open})
	if err != nil {
		t.Fatal(err)
	}
	want := importer.Counts{Sessions: 4, Scenarios: 2, Repetitions: 2, Turns: 5, ToolCalls: 5, ErrorResults: 1, Passes: 1, Errored: 1,
		Ends: []importer.End{{Reason: "completed", Sessions: 2}, {Reason: "internal_error", Sessions: 1}, {Reason: "turn_limit", Sessions: 1}}}
	if d := cmp.Diff(want, res.Counts); d != "" {
		t.Errorf("counts (-want +got):\n%s", d)
	}
	var names []string
	for name := range got {
		names = append(names, name)
	}
	slices.Sort(names)
	var all bytes.Buffer
	for _, name := range names {
		verify(t, name, got[name])
		fmt.Fprintf(&all, "== %s\n", name)
		for r := session.NewReader(bytes.NewReader(got[name])); ; {
			l, err := r.Next()
			if err != nil {
				break
			}
			fmt.Fprintf(&all, "%s%s\n", l.Type, l.Payload())
		}
	}
	golden(t, filepath.Join("testdata", "tiny.golden"), all.Bytes())
	for _, s := range res.Scenarios() {
		if (s.Digest == "") != (s.ID == "desk-012") {
			t.Errorf("scenario %+v", s)
		}
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); d != "" {
		t.Errorf("%s (-want +got; -update writes it anew):\n%s", name, d)
	}
}

// verify reads a session as strictly as a reader can: chain, footer, every
// decoder's fields, the inputs digests, and a conversation without gaps.
func verify(t testing.TB, name string, b []byte) {
	t.Helper()
	if _, err := session.Verify(session.NewReader(bytes.NewReader(b))); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	r, inputs, talk := session.NewReader(bytes.NewReader(b)), session.NewInputs(), session.NewConversation()
	for {
		l, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := talk.Add(l); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if l.Type == session.TypeState {
			s, err := l.State()
			if err != nil || !s.Inputs.Of(inputs.Digest()) || s.Cost.Known || s.Usage != (model.Usage{Unknown: true}) {
				t.Fatalf("%s, line %d: %+v, %v", name, l.No, s, err)
			}
		}
		if err := inputs.Add(l); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

// TestRows checks what a table must not say: zero for what is unknown.
func TestRows(t *testing.T) {
	res, err := tau(t).Import(filepath.Join("testdata", "tiny.json"), importer.Options{Model: "openai/gpt-4o", Domain: "desk", Open: memory{}.open})
	if err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]string{}
	for _, e := range res.Entries("run", "suite") {
		r := &e.Trial
		if _, err := e.Encode(); err != nil || r.Simulated || r.Arm != "recorded" || r.SessionDigest == "" {
			t.Errorf("%v: %+v, %v", r.Key(), r, err)
		}
		for f, v := range reflect.ValueOf(*r).Fields() {
			known := f.Name == "Score" || f.Name == "ErrorClass" || f.Name == "ErrorText"
			if v.Kind() == reflect.Pointer && !v.IsNil() && !known {
				t.Errorf("%v: %s is %v; nobody knows it", r.Key(), f.Name, v.Elem())
			}
		}
		if (len(e.Verdicts) == 0) != r.Errored || (r.Score == nil) != r.Errored {
			t.Errorf("%v: errored %v, verdicts %v, score %v", r.Key(), r.Errored, e.Verdicts, r.Score)
		}
		verdicts[fmt.Sprintf("%s#%d", r.Scenario, r.Repetition)] = r.Verdict
	}
	want := map[string]string{"desk-000#0": results.Pass, "desk-000#1": results.Fail, "desk-012#0": results.Fail, "desk-012#1": results.Ungraded}
	if d := cmp.Diff(want, verdicts); d != "" {
		t.Error(d)
	}
}

// TestReal imports the published trajectories.
func TestReal(t *testing.T) {
	path := filepath.Join("..", "..", "..", "shared", "data", "tau-bench", "gpt-4o-airline.json")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the published trajectories are not beside the checkout: %v", err)
	}
	got := memory{}
	res, err := tau(t).Import(path, importer.Options{Open: got.open})
	if err != nil {
		t.Fatal(err)
	}
	want := importer.Counts{Sessions: 200, Scenarios: 50, Repetitions: 4, Turns: 2454, ToolCalls: 1164, ErrorResults: 73, Passes: 84,
		Ends: []importer.End{{Reason: "completed", Sessions: 195}, {Reason: "turn_limit", Sessions: 5}}}
	if d := cmp.Diff(want, res.Counts); d != "" || res.Model != "openai/gpt-4o" {
		t.Errorf("model %s, counts (-want +got):\n%s", res.Model, d)
	}
	if got["airline-007.openai_gpt-4o.recorded.3.session.jsonl"] == nil || len(got) != 200 {
		t.Errorf("%d sessions, airline-007 #3 has %d bytes", len(got), len(got["airline-007.openai_gpt-4o.recorded.3.session.jsonl"]))
	}
	for name, b := range got {
		verify(t, name, b)
	}
}

// rec is a sound record with one piece replaced.
func rec(old, new string) string {
	s := `{"task_id": 3, "trial": 1, "reward": 1, "info": {}, "traj": [{"role": "user", "content": "hi"},` +
		`{"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}}]},` +
		`{"role": "tool", "tool_call_id": "c", "name": "t", "content": "ok"}, {"role": "assistant", "content": "bye"}]}`
	if !strings.Contains(s, old) {
		panic(old)
	}
	return strings.Replace(s, old, new, 1)
}

func TestBadInput(t *testing.T) {
	good := rec("hi", "hi")
	for name, c := range map[string]struct{ in, want string }{
		"empty":             {"", ":1:1: is empty"},
		"no array":          {`{"a": 1}`, ":1:1: is no JSON array but an object"},
		"nothing":           {"[]", "holds no session"},
		"truncated":         {"[\n" + good[:60], ":2:61: ends in the middle: the file is truncated"},
		"truncated after":   {"[\n" + good, "ends in the middle"},
		"garbage":           {"[\n" + good + ",\n  oops]", ":3:3: is no JSON"},
		"something follows": {"[" + good + "] []", "something follows the array"},
		"duplicate key":     {"[" + rec(`"trial": 1`, `"trial": 1, "trial": 2`) + "]", "duplicate"},
		"invalid UTF-8":     {"[" + rec("bye", "\xff") + "]", "UTF-8"},
		"too deep":          {"[" + rec(`{}`, `{"a":`+strings.Repeat("[", 200)+strings.Repeat("]", 200)+`}`) + "]", "nested 202 levels deep"},
		"100,000 deep":      {"[" + strings.Repeat("[", 100_000), "is no JSON"},
		"no record":         {"[7]", "record 0: it is a number; want an object"},
		"task missing":      {"[" + rec(`"task_id": 3, `, "") + "]", "record 0: task_id must be a whole number from 0"},
		"task text":         {"[\n " + rec(`"task_id": 3`, `"task_id": "3"`) + "]", ":2:14: record 0: /task_id is a string; want a whole number"},
		"task fraction":     {"[" + rec(`"task_id": 3`, `"task_id": 3.5`) + "]", "task_id"},
		"task huge":         {"[" + rec(`"task_id": 3`, `"task_id": 99999999999999999999`) + "]", "task_id"},
		"trial negative":    {"[" + rec(`"trial": 1`, `"trial": -1`) + "]", "trial must be"},
		"reward null":       {"[" + rec(`"reward": 1`, `"reward": null`) + "]", "reward must be"},
		"reward 2":          {"[" + rec(`"reward": 1`, `"reward": 2`) + "]", "reward must be"},
		"reward NaN":        {"[" + rec(`"reward": 1`, `"reward": NaN`) + "]", "is no JSON"},
		"traj object":       {"[" + rec(`"traj": [`, `"traj": {}, "x": [`) + "]", "/traj is an object; want an array"},
		"traj null":         {"[" + rec(`"traj": [`, `"traj": null, "x": [`) + "]", "traj must be an array"},
		"no answer":         {"[" + rec(`"traj": [`, `"traj": [], "x": [`) + "]", "traj holds no answer"},
		"role":              {"[" + rec(`"role": "user"`, `"role": "oracle"`) + "]", `traj[0]: role is "oracle"`},
		"content parts":     {"[" + rec(`"content": "hi"`, `"content": [{"text": "hi"}]`) + "]", "/traj/0/content is an array; want a string"},
		"no content":        {"[" + rec(`"content": "hi"`, `"content": null`) + "]", `traj[0]: a message by "user" has no content`},
		"assistant first":   {"[" + rec(`{"role": "user", "content": "hi"},`, "") + "]", "before a user has said anything"},
		"orphan result":     {"[" + rec(`"tool_call_id": "c"`, `"tool_call_id": "z"`) + "]", `traj[2]: a tool result answers call "z"`},
		"other tool":        {"[" + rec(`"tool_call_id": "c", "name": "t"`, `"tool_call_id": "c", "name": "u"`) + "]", `names the tool "u"`},
		"no result":         {"[" + rec(`{"role": "tool", "tool_call_id": "c", "name": "t", "content": "ok"}, `, "") + "]", `call "c" of t has no result`},
		"two results":       {"[" + rec(`"ok"}`, `"ok"}, {"role": "tool", "tool_call_id": "c", "content": "ok"}`) + "]", "second result"},
		"late result":       {"[" + rec(`"ok"}`, `"ok"}, {"role": "user", "content": "x"}, {"role": "tool", "tool_call_id": "c", "content": "ok"}`) + "]", "second result"},
		"escape in a name":  {"[" + rec(`"name": "t", "arg`, `"name": "t\u001b[31m", "arg`) + "]", `call 0: the tool's name "t\x1b[31m" holds characters`},
		"bidi in a name":    {"[" + rec(`"name": "t", "arg`, `"name": "t\u202e", "arg`) + "]", "holds characters that are not visible"},
		"long name":         {"[" + rec(`"name": "t", "arg`, `"name": "`+strings.Repeat("t", 300)+`", "arg`) + "]", "has 300 bytes"},
		"empty id":          {"[" + rec(`"id": "c"`, `"id": ""`) + "]", "the call's id is empty"},
		"call type":         {"[" + rec(`"type": "function"`, `"type": "custom"`) + "]", `type is "custom"`},
		"calls by user":     {"[" + rec(`"content": "hi"`, `"content": "hi", "tool_calls": [{}]`) + "]", "has tool_calls"},
		"function_call":     {"[" + rec(`"content": "bye"`, `"content": "bye", "function_call": {"name": "t"}`) + "]", "function_call is not read"},
		"trial twice":       {"[" + good + ",\n" + good + "]", `:2:1: record 1: the trial "task-003" "m/x" "recorded" #1 stands in the file twice`},
		"another task": {"[" + rec(`"info": {}`, `"info": {"task": {"a": 1}}`) + ",\n" + strings.Replace(rec(`"info": {}`, `"info": {"task": {"a": 2}}`), `"trial": 1`, `"trial": 2`, 1) + "]",
			"the task of task-003 is not the one of an earlier trial"},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, "in.json", c.in)
			_, err := tau(t).Import(path, importer.Options{Model: "m/x", Open: memory{}.open})
			var in *importer.InputError
			if err == nil || !errors.As(err, &in) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v\nwant an InputError with %q", err, c.want)
			}
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("the error is no clean line: %q", err)
			}
		})
	}
	if _, err := tau(t).Import(write(t, "in.json", "["+good+"]"), importer.Options{Model: "m/x", Open: memory{}.open}); err != nil {
		t.Errorf("the record that the others are made from: %v", err)
	}
}

func TestRefusesFiles(t *testing.T) {
	f := tau(t)
	big := filepath.Join(t.TempDir(), "big.json")
	if err := os.WriteFile(big, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, importer.MaxFile+1); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ path, want string }{
		"none":      {filepath.Join(t.TempDir(), "none.json"), "no such file"},
		"folder":    {t.TempDir(), "is no regular file"},
		"too large": {big, "at most 1024 MiB"},
	} {
		if _, err := f.Import(c.path, importer.Options{Model: "m/x", Open: memory{}.open}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for _, o := range []importer.Options{{Model: "no-slash"}, {Model: "a/b c"}, {Model: "../x"}, {Model: "m/x", Domain: "../up"}, {Model: "m/x", Domain: "a/b"}} {
		o.Open = memory{}.open
		if _, err := f.Import(filepath.Join("testdata", "tiny.json"), o); err == nil {
			t.Errorf("%+v passes", o)
		}
	}
}

// TestRecordTooLarge proves that a record is not gathered without bound.
func TestRecordTooLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.json")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, `[{"x": "`)
	for range 40 {
		if _, err := f.WriteString(strings.Repeat("x", 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := tau(t).Import(path, importer.Options{Model: "m/x", Open: memory{}.open}); err == nil || !strings.Contains(err.Error(), "a record has more than 32 MiB") {
		t.Error(err)
	}
}

// TestTargetErrors proves that a full disk is not called a wrong file.
func TestTargetErrors(t *testing.T) {
	full := errors.New("disk full")
	_, err := tau(t).Import(filepath.Join("testdata", "tiny.json"), importer.Options{Model: "m/x",
		Open: func(string, *session.Header) (importer.Target, error) { return importer.Target{}, full }})
	var in *importer.InputError
	if !errors.Is(err, full) || errors.As(err, &in) {
		t.Error(err)
	}
}

func TestNamesTell(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "tiny.json"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"gpt-4o-airline.json":           "openai/gpt-4o airline",
		"sonnet-35-new-retail.json":     "anthropic/sonnet-35-new retail",
		"results.json":                  "unknown/unknown task",
		"gpt-4o \x1b[31m-airline.json":  "unknown/unknown airline",
		"o1-preview-2024.json":          "openai/o1-preview-2024 task",
		"someone-elses-model-retail.js": "unknown/unknown retail",
	} {
		res, err := tau(t).Import(write(t, name, string(data)), importer.Options{Open: memory{}.open})
		if err != nil || res.Model+" "+res.Domain != want {
			t.Errorf("%q: %v, %v; want %s", name, res, err, want)
		}
	}
}

// FuzzTauBench feeds the importer anything: it must not panic, an error must be
// one line with a place, and sessions that it makes must verify.
func FuzzTauBench(f *testing.F) {
	data, err := os.ReadFile(filepath.Join("testdata", "tiny.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("[" + rec("hi", "hi") + "]"))
	f.Add([]byte(`[{"task_id":0,"trial":0,"reward":0,"info":null,"traj":[]}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(dir, fmt.Sprintf("in-%d.json", os.Getpid()))
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		got := memory{}
		res, err := tau(t).Import(path, importer.Options{Model: "m/x", Domain: "d", Open: got.open})
		if err != nil {
			var in *importer.InputError
			if !errors.As(err, &in) || in.Line < 1 || in.Column < 1 {
				t.Fatalf("no place: %v", err)
			}
			return
		}
		for name, b := range got {
			verify(t, name, b)
		}
		for _, e := range res.Entries("run", "suite") {
			if _, err := e.Encode(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
