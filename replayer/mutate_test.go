package replayer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// record runs one embedded scenario and returns its session's path.
func record(t testing.TB, dir, scenario, model, profile string) string {
	t.Helper()
	sc, err := builtin.Get(scenario)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, fmt.Sprintf("%s.%s.%s.session.jsonl", scenario, strings.ReplaceAll(model, "/", "_"), profile))
	spec := trial.Spec{Scenario: sc, Model: model, Arm: profile, Guards: guard.MustProfile(profile), Seed: 1}
	if _, err := trial.Run(context.Background(), spec, trial.Options{Session: path, Sync: session.SyncNever}); err != nil {
		t.Fatal(err)
	}
	return path
}

// recordAll records every embedded scenario under the default profile and under
// none.
func recordAll(t testing.TB, dir string) []string {
	t.Helper()
	all, err := builtin.All()
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, sc := range all {
		for _, profile := range []string{guard.ProfileDefault, guard.ProfileNone} {
			paths = append(paths, record(t, dir, sc.ID, "sim/weak", profile))
		}
	}
	return paths
}

func TestStrictReplayIsExact(t *testing.T) {
	for _, path := range recordAll(t, t.TempDir()) {
		rep, err := replayer.File(context.Background(), path, replayer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if rep.Verdict != replayer.Exact {
			t.Errorf("%s: %s %s %+v", filepath.Base(path), rep.Verdict, rep.Reason, rep.Divergence)
		}
	}
}

// mutation is one change of one field.
type mutation struct {
	line    int
	typ     session.Type
	pointer string
	value   []byte // nil = the field is taken away
}

// leaves lists the pointers of every scalar of a JSON value, and of every empty
// container.
func leaves(at string, v any, out map[string]any) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			leaves(at+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(k), e, out)
		}
	case []any:
		for i, e := range v {
			leaves(fmt.Sprintf("%s/%d", at, i), e, out)
		}
	default:
		out[at] = v
	}
}

// mutations makes the changes of one line: every scalar gets another value of
// its type, every top-level field is also taken away.
func mutations(t *testing.T, l *session.Line) []mutation {
	t.Helper()
	// What says which format the file has cannot be judged under another one
	// (exit 3); TestForeignFormat has these two.
	annotation := map[string]bool{"/v": l.Type == session.TypeHeader, "/canon": l.Type == session.TypeHeader}
	for _, f := range session.Fields {
		if f.Origin == session.Annotation && f.Line == l.Type {
			annotation["/"+f.Name] = true
		}
	}
	var m map[string]any
	dec := json.NewDecoder(strings.NewReader("{" + strings.TrimPrefix(string(l.Payload()), ",") + "}"))
	dec.UseNumber()
	if err := dec.Decode(&m); err != nil {
		t.Fatal(err)
	}
	flat := map[string]any{}
	leaves("", m, flat)
	var out []mutation
	for pointer, v := range flat {
		top := "/" + strings.SplitN(pointer[1:], "/", 2)[0]
		if annotation[top] {
			continue
		}
		out = append(out, mutation{l.No, l.Type, pointer, changed(v)})
		if top == pointer {
			out = append(out, mutation{l.No, l.Type, pointer, nil})
		}
	}
	sort.Slice(out, func(i, j int) bool {
		return out[i].pointer < out[j].pointer || out[i].pointer == out[j].pointer && out[i].value != nil
	})
	return out
}

// changed gives another value of the same type; digests stay digests.
func changed(v any) []byte {
	switch v := v.(type) {
	case string:
		b := []byte(v)
		if len(b) > 0 && strings.Trim(v, "0123456789abcdef") == "" {
			b[0] ^= 1 // another digit: '0' and '1', ..., 'a' and '`'
			if b[0] == '`' || b[0] == 'g' {
				b[0] = '0'
			}
		} else {
			b = append(b, 'x')
		}
		out, _ := json.Marshal(string(b))
		return out
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return []byte(fmt.Sprint(n + 1))
		}
		return []byte("7")
	case bool:
		return []byte(fmt.Sprint(!v))
	case nil:
		return []byte("1")
	}
	return []byte("null")
}

// TestEveryFieldIsCaught changes one input or derived field at a time, seals the
// session again, and demands a replay that says no and names the place.
func TestEveryFieldIsCaught(t *testing.T) {
	dir := t.TempDir()
	seen := map[string]int{}
	for _, scenario := range []string{"retry-trap", "flaky-endpoint", "truncated-empty", "needle-log", "chat-answer", "hang-tool", "wrong-tool", "slow-build"} {
		raw, err := os.ReadFile(record(t, dir, scenario, "sim/weak", guard.ProfileDefault))
		if err != nil {
			t.Fatal(err)
		}
		var todo []mutation
		rd := session.NewReader(bytes.NewReader(raw))
		for {
			l, err := rd.Next()
			if err != nil {
				break
			}
			todo = append(todo, mutations(t, l)...)
		}
		for _, m := range todo {
			seen[string(m.typ)]++
			if problem := tryMutation(raw, filepath.Join(dir, "blobs"), m); problem != "" {
				t.Errorf("%s line %d (%s) %s = %s: %s", scenario, m.line, m.typ, m.pointer, m.value, problem)
			}
		}
	}
	for _, want := range []string{"header", "part", "request", "attempt", "response", "tool.request", "tool.result", "guard", "acceptance", "state", "footer"} {
		if seen[want] == 0 {
			t.Errorf("no field of a %s line was changed: the sessions do not cover it", want)
		}
	}
}

func TestForeignFormat(t *testing.T) {
	dir := t.TempDir()
	raw, err := os.ReadFile(record(t, dir, "retry-trap", "sim/weak", guard.ProfileDefault))
	if err != nil {
		t.Fatal(err)
	}
	for pointer, values := range map[string]map[string]replayer.Verdict{
		"/v":     {"harnessbench/session/2": replayer.TooNew, "other/1": replayer.Corrupt},
		"/canon": {"canon/2": replayer.Corrupt},
	} {
		for value, want := range values {
			var edited bytes.Buffer
			err := session.Edit(&edited, bytes.NewReader(raw), func(l *session.Line, emit func(session.Type, []byte) error) error {
				payload := l.Payload()
				if l.Type == session.TypeHeader {
					var err error
					if payload, err = l.With(pointer, fmt.Appendf(nil, "%q", value)); err != nil {
						return err
					}
				}
				return emit(l.Type, payload)
			})
			if err != nil {
				t.Fatal(err)
			}
			rep, err := replayer.Reader(context.Background(), session.NewReader(&edited), nil, "x", replayer.Options{})
			if err != nil || rep.Verdict != want || rep.Verdict.Exit() != 3 {
				t.Errorf("%s = %s: %v %v, want %s", pointer, value, rep, err, want)
			}
		}
	}
}

func tryMutation(raw []byte, blobs string, m mutation) string {
	var edited bytes.Buffer
	err := session.Edit(&edited, bytes.NewReader(raw), func(l *session.Line, emit func(session.Type, []byte) error) error {
		if l.No != m.line {
			return emit(l.Type, l.Payload())
		}
		payload, err := l.With(m.pointer, m.value)
		if err != nil {
			return err
		}
		return emit(l.Type, payload)
	})
	if err != nil {
		return "cannot edit: " + err.Error()
	}
	rep, err := replayer.Reader(context.Background(), session.NewReader(&edited), session.BlobsBeside(blobs), "x", replayer.Options{})
	switch {
	case err != nil:
		return "error: " + err.Error()
	case rep.Verdict.Exit() != 1:
		return fmt.Sprintf("verdict %s: %s", rep.Verdict, rep.Reason)
	case rep.Verdict == replayer.Diverged && (rep.Divergence == nil || rep.Divergence.Line == 0):
		return "no place is named"
	case rep.Verdict == replayer.Diverged && rep.Divergence.Line < m.line:
		return fmt.Sprintf("blamed on the earlier line %d", rep.Divergence.Line)
	}
	return ""
}
