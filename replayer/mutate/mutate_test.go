package mutate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// record runs embedded scenarios and returns their sessions.
func record(t testing.TB, scenarios ...string) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range scenarios {
		sc, err := builtin.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name+session.Suffix)
		spec := trial.Spec{Scenario: sc, Model: "sim/weak", Arm: "default", Guards: guard.MustProfile(guard.ProfileDefault), Seed: 1}
		if _, err := trial.Run(context.Background(), spec, trial.Options{Session: path, Sync: session.SyncNever}); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// Over the corpus: every class of change that occurs is caught, what means nothing
// is not minded, and what a digest alone catches is explained.
func TestCorpus(t *testing.T) {
	paths, err := filepath.Glob("../../testdata/corpus/good/*" + session.Suffix + "*")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	res, err := Corpus(context.Background(), paths, Options{Sample: 1, Seed: 1, Jobs: 2})
	if err != nil {
		t.Fatal(err)
	}
	if !res.OK() || len(res.Unjudged) > 0 {
		t.Errorf("missed %+v\nfalse alarms %+v\nunexplained %v\nstale %v\nunjudged %v", res.Missed, res.FalseAlarms, res.Unexplained, res.Stale, res.Unjudged)
	}
	if res.Tried < 500 || res.Harmless < 20 || res.Behaviour+res.Digest != res.Tried || res.Digest == 0 {
		t.Errorf("%d tried, %d by behaviour, %d by digest, %d harmless", res.Tried, res.Behaviour, res.Digest, res.Harmless)
	}
	tried := map[session.Type]bool{}
	for _, f := range res.Fields {
		name, _, _ := strings.Cut(f.Field, " ")
		tried[session.Type(name)] = true
	}
	for _, want := range []session.Type{session.TypeHeader, session.TypePart, session.TypeRequest, session.TypeAttempt, session.TypeResponse,
		session.TypeToolRequest, session.TypeToolResult, session.TypeGuard, session.TypeAcceptance, session.TypeState, session.TypeFooter} {
		if !tried[want] {
			t.Errorf("no field of a %s line was changed", want)
		}
	}
}

// All changes of all sessions, where nothing is chosen.
func TestFull(t *testing.T) {
	paths := record(t, "chat-answer")
	want := 0
	o, err := load(paths[0])
	if err == nil {
		err = o.each(func(*Change) { want++ })
	}
	if err != nil {
		t.Fatal(err)
	}
	res, err := Corpus(context.Background(), paths, Options{Jobs: 2, replay: func(context.Context, *session.Reader, session.Blobs, string) (*replayer.Report, error) {
		return &replayer.Report{Verdict: replayer.Exact}, nil
	}})
	if err != nil || res.Tried+res.Harmless != want || want < 1000 {
		t.Errorf("%v, %d of %d tried", err, res.Tried+res.Harmless, want)
	}
}

// The choice depends on the seed alone, and every class has one.
func TestSampleIsRepeatable(t *testing.T) {
	paths := record(t, "chat-answer", "retry-trap")
	run := func(o Options) *Result {
		t.Helper()
		o.replay = func(ctx context.Context, rd *session.Reader, blobs session.Blobs, name string) (*replayer.Report, error) {
			return &replayer.Report{Verdict: replayer.Exact}, nil
		}
		res, err := Corpus(context.Background(), paths, o)
		if err != nil {
			t.Fatal(err)
		}
		res.fields = nil
		return res
	}
	a, b, c := run(Options{Sample: 1, Seed: 7, Jobs: 1}), run(Options{Sample: 1, Seed: 7, Jobs: 4}), run(Options{Sample: 1, Seed: 8, Jobs: 1})
	if !reflect.DeepEqual(a, b) {
		t.Error("the same seed gave two choices")
	}
	if reflect.DeepEqual(a.Missed, c.Missed) || a.Tried != c.Tried {
		t.Errorf("another seed gave the same choice, or other classes: %d and %d tried", a.Tried, c.Tried)
	}
}

// What a replay that sees nothing, and one that minds everything, would get.
func TestWrongReplays(t *testing.T) {
	paths := record(t, "chat-answer")
	run := func(rep *replayer.Report, err error) *Result {
		t.Helper()
		res, cerr := Corpus(context.Background(), paths, Options{Sample: 1, replay: func(context.Context, *session.Reader, session.Blobs, string) (*replayer.Report, error) {
			return rep, err
		}})
		if cerr != nil {
			t.Fatal(cerr)
		}
		return res
	}
	blind := run(&replayer.Report{Verdict: replayer.Exact}, nil)
	if blind.OK() || blind.MissedAll != blind.Tried || blind.FalseAll != 0 || len(blind.Missed) != MaxFindings {
		t.Errorf("blind: %d of %d missed, %d listed", blind.MissedAll, blind.Tried, len(blind.Missed))
	}
	strict := run(&replayer.Report{Verdict: replayer.Diverged, Divergence: &replayer.Divergence{Line: 1 << 20}}, nil)
	if strict.OK() || strict.FalseAll != strict.Harmless || strict.MissedAll != 0 {
		t.Errorf("strict: %d of %d false alarms, %d missed", strict.FalseAll, strict.Harmless, strict.MissedAll)
	}
	blames := run(&replayer.Report{Verdict: replayer.Diverged, Divergence: &replayer.Divergence{Line: 0}}, nil)
	if blames.MissedAll == 0 || !strings.Contains(blames.Missed[0].Reason, "before it is blamed") {
		t.Errorf("a replay that blames the wrong line: %d missed", blames.MissedAll)
	}
	if broken := run(nil, errors.New("no")); broken.MissedAll != broken.Tried {
		t.Errorf("a replay that fails: %d of %d missed", broken.MissedAll, broken.Tried)
	}
}

// Every change gives a session that can be read, is not the original, and
// differs in the very line.
func TestChangesAreSealed(t *testing.T) {
	for _, path := range record(t, "flaky-endpoint") {
		o, err := load(path)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		err = o.each(func(c *Change) {
			n++
			raw, err := o.changed(c)
			if err != nil {
				t.Errorf("%s: %v", c, err)
				return
			}
			if c.Pointer == "/turn" && (c.Kind == Lexeme || c.Kind == Huge) {
				return // no turn: a reader refuses it, as it should
			}
			if first, err := firstOther(o, raw); err != nil || first != c.Line && c.Kind != Double && c.Kind != UnknownLine || first == 0 {
				t.Errorf("%s: the first other line is %d, %v", c, first, err)
			}
		})
		if err != nil || n < 1000 {
			t.Errorf("%d changes, %v", n, err)
		}
	}
}

// firstOther is the number of the first line that differs from the original; 0 =
// none.
func firstOther(o *original, raw []byte) (int, error) {
	r := session.NewReader(bytes.NewReader(raw))
	first := 0
	for i := 0; ; i++ {
		l, err := r.Next()
		if errors.Is(err, io.EOF) {
			if !r.Complete() && first == 0 {
				first = i + 1
			}
			return first, nil
		}
		if err != nil {
			return 0, err
		}
		if first == 0 && (i >= len(o.lines) || l.Type != o.lines[i].Type || !bytes.Equal(l.Payload(), o.lines[i].Payload())) {
			first = i + 1
		}
	}
}

// A refitted session is the original where nothing was changed, and carries the
// digests of its inputs where something was.
func TestRefit(t *testing.T) {
	path := record(t, "needle-log")[0]
	o, err := load(path)
	if err != nil {
		t.Fatal(err)
	}
	same, err := Refit(mustChange(t, o, &Change{Kind: Swap}), "")
	if err != nil {
		t.Fatal(err)
	}
	if first, err := firstOther(o, same); first != 0 || err != nil {
		t.Errorf("refitting a sound session changed line %d, %v", first, err)
	}
	shorter := mustChange(t, o, &Change{Line: 1, Kind: Remove, Pointer: "/scenario_digest"})
	if again, err := Refit(shorter, ""); err != nil || bytes.Equal(again, shorter) {
		t.Errorf("%v", err)
	}
}

func mustChange(t *testing.T, o *original, c *Change) []byte {
	t.Helper()
	raw, err := o.changed(c)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestReasons(t *testing.T) {
	for field, want := range map[string]bool{
		"header /simulated": true, "header /config/guards/stuck/nudge": true, "tool.result /exit": true, "response /items/*/args": true,
		"header /config": false, "header /config/guards": false, "state /usage": false, "tool.result": false, "header /config/models/*/x": false,
	} {
		if _, reason := Reasons(field); (reason != "") != want {
			t.Errorf("%s: %q", field, reason)
		}
	}
	// A table that is wrong either way is told.
	r := newResult(Options{})
	add := func(line int, typ session.Type, pointer string, out Outcome) {
		r.add(&Tried{Change: &Change{Line: line, Type: typ, Pointer: pointer, Field: string(typ) + " " + pointer, Kind: Letter, Origin: session.Input}, Outcome: out})
	}
	add(1, session.TypeHeader, "/simulated", Behaviour)
	add(2, session.TypeResponse, "/usage/0", DigestOnly)
	add(3, session.TypeResponse, "/finish", DigestOnly)
	r.finish()
	if r.OK() || fmt.Sprint(r.Stale) != "[header /simulated]" || fmt.Sprint(r.Unexplained) != "[response /usage/0]" {
		t.Errorf("stale %v, unexplained %v", r.Stale, r.Unexplained)
	}
}

func TestOtherLetter(t *testing.T) {
	for in, want := range map[string]string{"": "", "   ": "", "a": "b", "f": "e", "z": "y", "9": "8", "ab": "ac", "é": "", `\n`: "", "T-Z": "T-Y"} {
		got, ok := otherLetter(in)
		if ok != (want != "") || got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// Sessions that do not replay as they are, or are none, are said to be unjudged.
func TestUnjudged(t *testing.T) {
	path := record(t, "chat-answer")[0]
	o, err := load(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad"+session.Suffix)
	w, err := session.Create(bad, session.FileOptions{Sync: session.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range o.lines[:len(o.lines)-1] {
		if l.Type == session.TypeState {
			continue
		}
		if err := w.Line(l.Type, l.Payload()); err != nil {
			t.Fatal(err)
		}
	}
	last := o.lines[len(o.lines)-1]
	if err := errors.Join(w.Line(last.Type, last.Payload()), w.Close()); err != nil {
		t.Fatal(err)
	}
	wire := "../../recorder/wire/tape/testdata/various.session.jsonl"
	res, err := Corpus(context.Background(), []string{bad, filepath.Join(dir, "none"), wire}, Options{Sample: 1})
	if err != nil || len(res.Unjudged) != 2 || res.Tried != 0 || len(res.Skipped) != 1 {
		t.Errorf("%v, %+v", err, res)
	}
}
