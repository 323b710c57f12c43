package replayer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// The table is sorted, whole, and says each thing once.
func TestCodes(t *testing.T) {
	seen := map[string]bool{}
	last := replayer.Code("")
	for _, c := range replayer.Codes {
		if !regexp.MustCompile(`^HB1\d{3}$`).MatchString(string(c.Code)) || c.Code <= last {
			t.Errorf("%s after %s", c.Code, last)
		}
		last = c.Code
		if !regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`).MatchString(c.Name) || seen[c.Name] || seen[c.Title] {
			t.Errorf("%s: name %q or title is wrong or used twice", c.Code, c.Name)
		}
		seen[c.Name], seen[c.Title] = true, true
		if c.Title == "" || strings.HasSuffix(c.Title, ".") || !strings.HasSuffix(c.Means, ".") || len(c.Causes) == 0 || len(c.Do) == 0 {
			t.Errorf("%s: title without a full stop, meaning with one, causes and what to do", c.Code)
		}
		for _, id := range []string{string(c.Code), strings.ToLower(string(c.Code)), c.Name} {
			if got, ok := replayer.Explain(id); !ok || got.Code != c.Code {
				t.Errorf("Explain(%q) is %s", id, got.Code)
			}
		}
	}
	if _, ok := replayer.Explain("HB1000"); ok {
		t.Error("HB1000 is explained")
	}
	src, err := os.ReadFile("codes.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`Code\w+ +Code += "(HB\d+)"`).FindAllSubmatch(src, -1) {
		if _, ok := replayer.Explain(string(m[1])); !ok {
			t.Errorf("%s is a constant without an explanation", m[1])
		}
	}
}

// Every verdict but EXACT has a code of its own.
func TestVerdictCodes(t *testing.T) {
	good := recorded(t, "retry-trap", guard.ProfileDefault)
	lines := bytes.SplitAfter(good, []byte("\n"))
	for _, c := range []struct {
		data []byte
		want replayer.Code
		name string
	}{
		{good, "", "EXACT"},
		{bytes.Join(lines[:12], nil), replayer.CodeExhausted, "EXHAUSTED"},
		{nil, replayer.CodeCorrupt, "CORRUPT"},
		{bytes.Replace(good, []byte("session/1"), []byte("session/9"), 1), replayer.CodeTooNew, "TOO_NEW"},
	} {
		if rep := replayBytes(t, c.data, replayer.Options{}); rep.Code != c.want || rep.Name() != c.name {
			t.Errorf("%s %q, want %s %q (%s)", rep.Name(), rep.Code, c.name, c.want, rep.Reason)
		}
	}
	traffic, err := os.ReadFile("../recorder/wire/tape/testdata/various.session.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if rep := replayBytes(t, traffic, replayer.Options{}); rep.Code != replayer.CodeNoop {
		t.Errorf("%s", rep.Code)
	}
}

// A change of the loop's configuration has the code of what it changes first.
func TestCodesOfChanges(t *testing.T) {
	set := func(name string, mode guard.Mode) func(*trial.Spec) {
		return func(s *trial.Spec) {
			var err error
			if s.Guards, err = s.Guards.With(name, mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	param := func(name, param, value string) func(*trial.Spec) {
		return func(s *trial.Spec) {
			var err error
			if s.Guards, err = s.Guards.WithParam(name, param, value); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		scenario, profile string
		change            func(*trial.Spec)
		want              replayer.Code
		line              string // its name
		part              int    // -1 = none
	}{
		"prompt": {"retry-trap", guard.ProfileDefault, func(s *trial.Spec) { s.Prompt = trial.SystemPrompt + "\nBe brief." },
			replayer.CodeSystemPrompt, "DIVERGED@1.assemble", 4},
		"a guard less": {"retry-trap", guard.ProfileDefault, set("stuck", guard.Off), replayer.CodeGuardMissing, "DIVERGED@3.decide", -1},
		"a guard more": {"retry-trap", guard.ProfileNone, func(s *trial.Spec) {
			s.Guards = guard.MustProfile(guard.ProfileNone)
			set("stuck", guard.Enforce)(s)
		}, replayer.CodeGuardExtra, "DIVERGED@3.guard", -1},
		"a guard stricter": {"retry-trap", guard.ProfileDefault, param("stuck", "nudge", "2"), replayer.CodeGuardExtra, "DIVERGED@2.guard", -1},
	} {
		t.Run(name, func(t *testing.T) {
			rep := replayBytes(t, recorded(t, c.scenario, c.profile), replayer.Options{Current: current(t, c.scenario, c.change)})
			if rep.Code != c.want || rep.Name() != c.line || rep.Divergence.Code != c.want {
				t.Errorf("%s %s, want %s %s: %+v", rep.Name(), rep.Code, c.line, c.want, rep.Divergence)
			}
			if p := rep.Divergence.Part; c.part < 0 != (p == nil) || p != nil && *p != c.part {
				t.Errorf("part %+v, want %d", rep.Divergence, c.part)
			}
		})
	}
}

// A prompt that holds the day of the recording diverges, and the report says
// that nothing but the date differs.
func TestHint(t *testing.T) {
	dated := func(day string) func(*trial.Spec) {
		return func(s *trial.Spec) { s.Prompt = trial.SystemPrompt + "\nToday is " + day + "." }
	}
	sc, err := builtin.Get("retry-trap")
	if err != nil {
		t.Fatal(err)
	}
	spec := trial.Spec{Scenario: sc, Model: "sim/weak", Arm: "default", Guards: guard.MustProfile(guard.ProfileDefault), Seed: 1}
	dated("2026-03-01")(&spec)
	path := filepath.Join(t.TempDir(), "a.session.jsonl")
	if _, err := trial.Run(context.Background(), spec, trial.Options{Session: path, Sync: session.SyncNever}); err != nil {
		t.Fatal(err)
	}
	for day, want := range map[string]string{"2026-03-02": "a date or time", "2026-03-02, be brief": ""} {
		rep, err := replayer.File(context.Background(), path, replayer.Options{Current: current(t, "retry-trap", dated(day))})
		if err != nil {
			t.Fatal(err)
		}
		if rep.Code != replayer.CodeSystemPrompt || (want == "") != (rep.Divergence.Hint == "") || !strings.Contains(rep.Divergence.Hint, want) {
			t.Errorf("%s: %s %+v", day, rep.Name(), rep.Divergence)
		}
	}
}

// Tools that are executed again have codes of their own.
func TestCodesOfTools(t *testing.T) {
	spec := trial.Spec{Scenario: lookup(t, ""), Model: "sim/oracle", Arm: "default", Guards: guard.MustProfile(guard.ProfileDefault), Seed: 1}
	whole, _ := finished(t, spec)
	if rep := replayBytes(t, whole, replayer.Options{Again: true}); rep.Verdict != replayer.Noop || rep.Code != replayer.CodeLiveTool {
		t.Errorf("%s %s", rep.Name(), rep.Code)
	}
	for spec.Seed = 2; spec.Seed < 50; spec.Seed++ {
		rep := replayBytes(t, whole, replayer.Options{Again: true, Trial: func(string, *session.Header) (*trial.Spec, error) { return &spec, nil }})
		if rep.Verdict != replayer.Exact {
			if rep.Code != replayer.CodeObservation || rep.Name() != "DIVERGED@1.execute" {
				t.Errorf("%s %s", rep.Name(), rep.Code)
			}
			return
		}
	}
	t.Error("the tool never says anything else")
}

// unseen are the codes that no change of one field of a recording of our own
// loop leads to, and why.
var unseen = map[replayer.Code]string{
	replayer.CodeExhausted:      "a verdict",
	replayer.CodeUnused:         "a verdict",
	replayer.CodeObservation:    "--tools=live",
	replayer.CodeLiveTool:       "--tools=live",
	replayer.CodeNormalised:     "a verdict",
	replayer.CodeNoop:           "a verdict",
	replayer.CodeOldBehaviour:   "a verdict",
	replayer.CodeTooNew:         "a verdict",
	replayer.CodeWireRoot:       "recorded traffic",
	replayer.CodeWireAPI:        "recorded traffic",
	replayer.CodeWireUnreadable: "recorded traffic",
	replayer.CodeWireStream:     "recorded traffic",
	replayer.CodeWireAgain:      "recorded traffic",
}

// Changing every field of some recordings leads to every other code, and never
// to a divergence without one.
func TestEveryCodeIsReached(t *testing.T) {
	seen := map[replayer.Code]bool{}
	dir := t.TempDir()
	for _, scenario := range []string{"retry-trap", "flaky-endpoint", "needle-log", "wrong-tool", "truncated-empty"} {
		raw, err := os.ReadFile(record(t, dir, scenario, "sim/weak", guard.ProfileDefault))
		if err != nil {
			t.Fatal(err)
		}
		rd := session.NewReader(bytes.NewReader(raw))
		for l, err := rd.Next(); err == nil; l, err = rd.Next() {
			for _, m := range changesOf(t, l) {
				rep := mutated(t, raw, filepath.Join(dir, "blobs"), m)
				if _, ok := replayer.Explain(string(rep.Code)); !ok || rep.Divergence != nil && rep.Divergence.Code != rep.Code {
					t.Errorf("%s line %d (%s) %s: %s has the code %q", scenario, l.No, l.Type, m.pointer, rep.Verdict, rep.Code)
				}
				if rep.Code == replayer.CodeInputs && rep.Divergence.Hint != "" {
					t.Errorf("%s line %d %s: a digest gets the hint %q", scenario, l.No, m.pointer, rep.Divergence.Hint)
				}
				seen[rep.Code] = true
			}
		}
	}
	// Simulated models write canonical arguments, so no request repeats them.
	raw := recorded(t, "retry-trap", guard.ProfileDefault)
	rd := session.NewReader(bytes.NewReader(raw))
	for l, err := rd.Next(); err == nil; l, err = rd.Next() {
		if l.Type == session.TypeToolRequest {
			seen[mutated(t, raw, dir, fieldChange{l.No, "/args", []byte(`"{}"`)}).Code] = true
			break
		}
	}
	for _, c := range replayer.Codes {
		if why := unseen[c.Code]; seen[c.Code] != (why == "") {
			t.Errorf("%s %s: reached %v, but listed as unreachable: %q", c.Code, c.Name, seen[c.Code], why)
		}
	}
}

// fieldChange is another value for one field; nil takes it away.
type fieldChange struct {
	line    int
	pointer string
	value   []byte
}

// changesOf gives every top-level field of a line another value of its type, or
// takes it away. Those that say which format the file has are left alone.
func changesOf(t *testing.T, l *session.Line) (out []fieldChange) {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte("{"+strings.TrimPrefix(string(l.Payload()), ",")+"}"), &m); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if name == "v" && l.Type == session.TypeHeader || name == "canon" || name == "labels" {
			continue
		}
		v := string(m[name])
		other := "null"
		switch v[0] {
		case '"':
			other = v[:len(v)-1] + `x"`
		case 't', 'f':
			other = map[byte]string{'t': "false", 'f': "true"}[v[0]]
		case '[', '{', 'n':
		default:
			other = "1" + strings.TrimPrefix(v, "-")
		}
		out = append(out, fieldChange{l.No, "/" + name, []byte(other)}, fieldChange{l.No, "/" + name, nil})
		if name == "body" || name == "items" {
			out = append(out, fieldChange{l.No, "/" + name, bytes.Replace(m[name], []byte(`e`), []byte(`o`), 1)})
		}
	}
	return out
}

// mutated replays a recording with one field changed.
func mutated(t *testing.T, raw []byte, blobs string, m fieldChange) *replayer.Report {
	t.Helper()
	var out bytes.Buffer
	err := session.Edit(&out, bytes.NewReader(raw), func(l *session.Line, emit func(session.Type, []byte) error) error {
		payload := l.Payload()
		if l.No == m.line {
			var err error
			if payload, err = l.With(m.pointer, m.value); err != nil {
				return err
			}
		}
		return emit(l.Type, slices.Clone(payload))
	})
	if err != nil {
		t.Fatal(err)
	}
	rep, err := replayer.Reader(context.Background(), session.NewReader(&out), session.BlobsBeside(blobs), "x", replayer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return rep
}
