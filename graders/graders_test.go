package graders

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/graders/check"
)

type tree map[string]string

func (t tree) ReadFile(path string, limit int64) ([]byte, error) {
	switch s, ok := t[path]; {
	case path == "panic":
		panic("boom")
	case path == "io":
		return nil, errors.New("disk on fire")
	case !ok:
		return nil, fs.ErrNotExist
	default:
		return []byte(s[:min(int64(len(s)), limit)]), nil
	}
}

func (t tree) Walk(fn func(string, int64) error) error {
	for _, p := range slices.Sorted(maps.Keys(t)) {
		if err := fn(p, int64(len(t[p]))); err != nil {
			return err
		}
	}
	return nil
}

// list decodes graders from JSON.
func list(t testing.TB, js string) check.Graders {
	t.Helper()
	var g check.Graders
	if err := g.UnmarshalJSON([]byte(js)); err != nil {
		t.Fatalf("%s: %v", js, err)
	}
	return g
}

// The parts of the table below: p passes, f fails, u is ungraded.
const (
	p = `{"equals":"yes"`
	f = `{"equals":"no"`
	u = `{"file_exists":"io"`
)

// The verdict follows the order that the package comment states.
func TestOverall(t *testing.T) {
	tests := []struct {
		name, list, verdict, grader string
		score                       float64
	}{
		{"none", `[]`, Ungraded, "", 0},
		{"one passes", `[` + p + `}]`, Pass, "", 1},
		{"one fails", `[` + p + `},` + f + `}]`, Fail, "equals-2", 0.5},
		{"ungraded", `[` + p + `},` + u + `}]`, Ungraded, "file_exists", 0},
		{"ungraded beside a failure", `[` + f + `},` + u + `}]`, Ungraded, "file_exists", 0},
		{"a failed gate beats ungraded", `[` + u + `},` + f + `,"gate":true}]`, Fail, "equals", 0},
		{"an ungraded gate", `[` + p + `},` + u + `,"gate":true}]`, Ungraded, "file_exists", 0},
		{"a passing gate lets others decide", `[` + p + `,"gate":true},` + f + `}]`, Fail, "equals-2", 0.5},
		{"an observer fails", `[` + p + `},` + f + `,"weight":3}]`, Pass, "", 0.25},
		{"an observer is ungraded", `[` + p + `},` + u + `,"weight":3}]`, Pass, "", 1},
		{"all", `[{"all":[` + p + `},` + f + `}]}]`, Fail, "all", 0.5},
		{"all passes", `[{"all":[` + p + `},` + p + `}]}]`, Pass, "", 1},
		{"all with ungraded", `[{"all":[` + f + `},` + u + `}]}]`, Ungraded, "all", 0},
		{"any", `[{"any":[` + f + `},` + p + `}]}]`, Pass, "", 1},
		{"any fails", `[{"any":[` + f + `},` + f + `}]}]`, Fail, "any", 0},
		{"weighted reaches", `[{"type":"weighted","pass_at":0.75,"of":[` + p + `,"weight":3},` + f + `}]}]`, Pass, "", 0.75},
		{"weighted falls short", `[{"type":"weighted","pass_at":0.76,"of":[` + p + `,"weight":3},` + f + `}]}]`, Fail, "weighted", 0.75},
		{"weighted, thirds", `[{"type":"weighted","of":[` + p + `,"weight":0.1},` + p + `,"weight":0.2},` + p + `,"weight":0.3}]}]`, Pass, "", 1},
		{"a gate in a group", `[{"type":"weighted","pass_at":0.1,"of":[` + p + `,"weight":3},` + f + `,"gate":true}]}]`, Fail, "weighted", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, vs := Grade(context.Background(), list(t, tt.list), &Finished{Answer: "yes\n", Files: tree{}})
			if o.Verdict != tt.verdict || o.Grader != tt.grader || o.Score < tt.score-1e-9 || o.Score > tt.score+1e-9 {
				t.Errorf("got %+v, want %s by %q, score %g\n%+v", o, tt.verdict, tt.grader, tt.score, vs)
			}
			if (o.Reason == "") != (o.Verdict == Pass) {
				t.Errorf("%s with reason %q", o.Verdict, o.Reason)
			}
		})
	}
}

func TestVerdictRows(t *testing.T) {
	specs := list(t, `[{"any":[{"equals":"no"},{"contains":"yes","id":"yes"}],"id":"g"},{"equals":"yes","weight":2}]`)
	_, vs := Grade(context.Background(), specs, &Finished{Answer: "yes"})
	want := []Verdict{
		{Index: 0, Grader: "g", Type: "any", Version: 1, Digest: specs[0].Digest(), Primary: true, Verdict: Pass, Score: 1, Evidence: "1 of 2 passed"},
		{Index: 0, Grader: "g/equals", Type: "equals", Version: 1, Digest: specs[0].Of[0].Digest(), Verdict: Fail,
			Reason: "The final answer is not what the task asks for.", Evidence: `answer: "yes", wanted "no"`},
		{Index: 0, Grader: "g/yes", Type: "contains", Version: 1, Digest: specs[0].Of[1].Digest(), Verdict: Pass, Score: 1, Evidence: `answer: "yes"`},
		{Index: 1, Grader: "equals", Type: "equals", Version: 1, Digest: specs[1].Digest(), Verdict: Pass, Score: 1, Evidence: `answer: "yes"`},
	}
	if d := cmp.Diff(want, vs); d != "" {
		t.Error(d)
	}
}

// Whatever goes wrong in a grader is its own trouble and never the session's.
func TestOwnTrouble(t *testing.T) {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	tests := []struct {
		name  string
		ctx   context.Context
		specs check.Graders
		files check.Files
		want  string
	}{
		{"panic", context.Background(), check.Graders{{Kind: check.FileExists, Path: "panic"}}, tree{}, "broke down: boom"},
		{"no files", context.Background(), check.Graders{{Kind: check.FileExists, Path: "a"}}, nil, "files are not known"},
		{"no files to walk", context.Background(), check.Graders{{Kind: check.TreeEquals}}, nil, "files are not known"},
		{"cancelled", done, check.Graders{{Kind: check.Equals}}, tree{}, "context canceled"},
		{"bad pattern", context.Background(), check.Graders{{Kind: check.Regex, Pattern: "("}}, tree{}, "missing closing"},
		{"unknown", context.Background(), check.Graders{{Kind: "magic"}}, tree{}, `unknown check type "magic"`},
		{"empty trajectory", context.Background(), check.Graders{{Kind: check.TrajectoryKind}}, tree{}, "demands nothing"},
		{"empty group", context.Background(), check.Graders{{Kind: check.Any}}, tree{}, "empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, vs := Grade(tt.ctx, tt.specs, &Finished{Files: tt.files})
			if o.Verdict != Ungraded || vs[0].Verdict != Ungraded || !strings.Contains(vs[0].Reason, tt.want) {
				t.Errorf("got %+v %+v, want ungraded with %q", o, vs, tt.want)
			}
		})
	}
}

func TestTrajectory(t *testing.T) {
	fin := &Finished{
		Stop: "completed", Turns: 4, Attempts: 5,
		Calls: []Call{
			{Turn: 1, Tool: "grep", Args: `{"path":"/workspace/notes","pattern":"x"}`, Outcome: "success"},
			{Turn: 2, Tool: "grep", Args: `{"path":"/workspace/src","pattern":"y","opts":{"n":[1,2]}}`, Outcome: "tool_error"},
			{Turn: 3, Tool: "write_file", Args: `{"path":"/workspace/answer.txt","content":"42"}`, Outcome: "success"},
			{Turn: 3, Tool: "shell", Args: `rm -rf`, Outcome: "validation_failed"},
		},
	}
	tests := []struct {
		traj, want string // reason; empty = passes
	}{
		{`"use":["grep","write_file"]`, ""},
		{`"use":["grep","edit_file"]`, "No call of edit_file was made."},
		{`"use":[{"tool":"grep","args":{"path":"/notes$"}}]`, ""},
		{`"use":[{"tool":"grep","args":{"/opts/n/1":"^2$"}}]`, ""},
		{`"use":[{"tool":"grep","args":{"opts":"^\\{\"n\":\\[1,2\\]\\}$"}}]`, ""},
		{`"use":[{"tool":"grep","args":{"path":"/notes$","pattern":"y"}}]`, "No call of grep with the wanted arguments"},
		{`"use":[{"tool":"write_file","outcome":"tool_error"}]`, "that ended in tool_error"},
		{`"forbid":["delete_file",{"tool":"*","args":{"path":"^/workspace/tests"}}]`, ""},
		{`"forbid":["shell"]`, "A forbidden call was made: shell in turn 3"},
		{`"forbid":[{"tool":"shell","args":{"x":"."}}]`, ""},
		{`"order":["grep","write_file"]`, ""},
		{`"order":["grep","grep","shell"]`, ""},
		{`"order":["write_file","grep"]`, "Call 2 of the wanted order, grep, was not made"},
		{`"order":["grep","grep","write_file","shell"],"exact":true`, ""},
		{`"order":["grep","write_file","grep","shell"],"exact":true`, "Call 2 of the wanted order"},
		{`"order":["grep"],"exact":true`, "Exactly 1 calls are wanted; there were 4"},
		{`"counts":[{"tool":"grep","min":2,"max":2},{"tool":"*","outcome":"success","max":2}]`, ""},
		{`"counts":[{"tool":"grep","max":1}]`, "There were 2 calls of grep; at most 1 are allowed."},
		{`"calls":{"min":5}`, "There were 4 tool calls; at least 5"},
		{`"turns":{"max":4},"attempts":5,"calls":4`, ""},
		{`"turns":{"max":3}`, "There were 4 turns; at most 3"},
		{`"attempts":{"max":4}`, "There were 5 model calls; at most 4"},
		{`"stop":["stuck","completed"]`, ""},
		{`"stop":["stuck","turn_limit"]`, "ended as completed, not as stuck or turn_limit"},
	}
	for _, tt := range tests {
		t.Run(tt.traj, func(t *testing.T) {
			_, vs := Grade(context.Background(), list(t, `[{"type":"trajectory",`+tt.traj+`}]`), fin)
			v := vs[0]
			if (v.Verdict == Pass) != (tt.want == "") || v.Verdict == Ungraded || !strings.Contains(v.Reason, tt.want) {
				t.Errorf("got %+v, want %q", v, tt.want)
			}
			if v.Evidence != "4 calls, 4 turns, 5 model calls, completed: grep x2, write_file, shell" {
				t.Errorf("evidence %q", v.Evidence)
			}
		})
	}
}

// Hostile content reaches no row as a control character, nor without bound.
func TestHostile(t *testing.T) {
	fin := &Finished{
		Answer: strings.Repeat("\x1b[2J\u202e", 1000), Stop: "\x07",
		Calls: []Call{{Tool: strings.Repeat("\x1b]0;x\x07", 200), Args: strings.Repeat("[", 100_000)}},
		Files: tree{"a": strings.Repeat("\x1b[31m", 1000)},
	}
	specs := list(t, `[{"equals":"x"},{"file_equals":{"path":"a","want":"\u001b"}},{"json_equals":{"path":"a","want":1}},
		{"trajectory":{"use":[{"tool":"*","args":{"a":"b"}}]}},{"trajectory":{"forbid":["*"]}},{"trajectory":{"stop":["x"]}}]`)
	_, vs := Grade(context.Background(), specs, fin)
	for _, v := range vs {
		for _, s := range []string{v.Reason, v.Evidence} {
			if len(s) > check.MaxReason || strings.ContainsAny(s, "\x1b\x07\n\u202e") {
				t.Errorf("%s: %d bytes: %q", v.Grader, len(s), s)
			}
		}
		if v.Verdict != Fail {
			t.Errorf("%s: %s", v.Grader, v.Verdict)
		}
	}
}
