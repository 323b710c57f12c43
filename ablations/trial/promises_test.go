package trial_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/graders"
	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/clock"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/workspace"
	"github.com/harnessbench/harnessbench/recorder"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/scenarios"
)

// answering is a model made of a function.
type answering func(req *model.Request) *model.Response

func (answering) ID() string { return "sim/oracle" }

func (f answering) Generate(ctx context.Context, req *model.Request, _ func(model.Delta)) (*model.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := f(req)
	r.Usage = model.Usage{InputUncached: 10, Output: 2}
	r.Elapsed = time.Second
	return r, nil
}

func says(text string) *model.Response {
	return &model.Response{Finish: model.FinishStop, Items: []model.Item{{Type: model.Text, Text: text}}}
}

func calls(name, args string, a ...any) *model.Response {
	return &model.Response{Finish: model.FinishCalls, Items: []model.Item{{Type: model.CallItem, Call: model.ToolCall{Name: name, Args: fmt.Sprintf(args, a...)}}}}
}

// last is the text of the last part of a request.
func last(req *model.Request) string {
	return model.TextOf(req.Parts[len(req.Parts)-1].Message.Items)
}

func scenario(t *testing.T, text string) *scenarios.Scenario {
	t.Helper()
	sc, err := scenarios.LoadTxtar("x.txtar", []byte("-- scenario.yaml --\nschema: harnessbench/scenario/v1\nid: x\nsummary: x\n"+text+"-- instruction.md --\nDo it.\n"))
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// run runs a trial with m under guards.
func run(t *testing.T, sc *scenarios.Scenario, m answering, guards guard.Settings, o trial.Options) (*trial.Outcome, error) {
	t.Helper()
	o.Session, o.Sync, o.Overwrite = filepath.Join(t.TempDir(), "x"+session.Suffix), session.SyncNever, true
	o.Model = func(model.Model) model.Model { return m }
	return trial.Run(context.Background(), trial.Spec{Scenario: sc, Model: "sim/oracle", Arm: "x", Guards: guards, Seed: 1}, o)
}

const exporting = `tools:
- read_file
- {name: export, kind: mock, description: Exports all., responses: [{generate: {lines: 5000, line: 'é {n:5} {hex:31}', seed: 7}}]}
graders: [{type: contains, want: done}]
`

// What is spilled can be read back with the tools that the marker names, page by
// page, to the last byte, and no page of it is spilled again or cut.
func TestSpilledBytesComeBack(t *testing.T) {
	path := regexp.MustCompile(`/workspace/\.harness/spill/[\w.-]+`)
	next := regexp.MustCompile(`read on with (offset|start_byte)=(\d+)\]$`)
	remark := regexp.MustCompile(`\[lines [^\]]*\]$`)
	for _, over := range []string{"24KiB", "256"} {
		guards, err := guard.MustProfile(guard.ProfileDefault).WithParam("spill", "over", over)
		if err != nil {
			t.Fatal(err)
		}
		var file, whole string
		var back strings.Builder
		m := answering(func(req *model.Request) *model.Response {
			switch {
			case req.Turn == 1:
				return calls("export", "{}")
			case req.Turn == 2:
				if file = path.FindString(last(req)); file == "" {
					t.Fatalf("no path in %.200q", last(req))
				}
				return calls("read_file", `{"path":%q}`, file)
			}
			back.WriteString(remark.ReplaceAllString(last(req), ""))
			if on := next.FindStringSubmatch(last(req)); on != nil {
				return calls("read_file", `{"path":%q,%q:%s}`, file, on[1], on[2])
			}
			return says("done")
		})
		spills := 0
		watch := sinkFunc(func(ev event.Event) error {
			switch ev := ev.(type) {
			case *event.ToolResult:
				if ev.Call.Name == "export" {
					whole = ev.Raw
				}
			case *event.Guard:
				if ev.Name == "spill" || ev.Name == "result_ceiling" {
					spills++
				}
			}
			return nil
		})
		out, err := run(t, scenario(t, exporting), m, guards, trial.Options{Watch: watch})
		if err != nil {
			t.Fatal(err)
		}
		if out.End.Reason != event.Completed || spills != 1 {
			t.Errorf("over %s: ended %s, %d results spilled or cut, want 1", over, out.End.Reason, spills)
		}
		if len(whole) < 200_000 || back.String() != whole {
			t.Errorf("over %s: of %d bytes %d came back, equal: %v", over, len(whole), back.Len(), back.String() == whole)
		}
	}
}

type sinkFunc func(event.Event) error

func (f sinkFunc) Emit(ev event.Event) error { return f(ev) }

// A recorder or a hook that fails, wherever it does, fails the trial by name; there
// is no finished session then, and no outcome that somebody could count.
func TestFailingRecorderOrHookIsNeverSilent(t *testing.T) {
	sc := scenario(t, "tools: [write_file]\nacceptance: [{file_exists: a.txt}]\ngraders: [{type: contains, want: done}]\n")
	m := answering(func(req *model.Request) *model.Response {
		if req.Turn == 1 {
			return calls("write_file", `{"path":"a.txt","content":"a"}`)
		}
		return says("done")
	})
	boom := errors.New("the hook broke")
	events := 0
	if _, err := run(t, sc, m, guard.MustProfile(guard.ProfileDefault), trial.Options{Watch: sinkFunc(func(event.Event) error { events++; return nil })}); err != nil {
		t.Fatal(err)
	}
	if events < 10 {
		t.Fatalf("only %d events", events)
	}
	for at := range events {
		n := 0
		o := trial.Options{Watch: sinkFunc(func(event.Event) error {
			if n++; n > at {
				return boom
			}
			return nil
		})}
		out, err := run(t, sc, m, guard.MustProfile(guard.ProfileDefault), o)
		if out != nil || !errors.Is(err, boom) {
			t.Errorf("the hook fails at event %d: %+v, %v", at, out, err)
		}
	}
	for name, drive := range map[string]func(*loop.Deps){
		"check": func(d *loop.Deps) {
			d.Check = func(context.Context, string) (string, error) { return "", boom }
		},
		"model": func(d *loop.Deps) { d.Model = failing{boom} },
	} {
		out, err := run(t, sc, m, guard.MustProfile(guard.ProfileDefault), trial.Options{Drive: func(d *loop.Deps, _ *session.Header, _ workspace.Workspace) error {
			drive(d)
			return nil
		}})
		if err == nil && (out.End.Reason != event.InternalError || !strings.Contains(out.End.Evidence, boom.Error())) || err != nil && !errors.Is(err, boom) {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
	}
}

// failing is a driver that fails, which is no answer of a model.
type failing struct{ err error }

func (failing) ID() string { return "sim/oracle" }

func (f failing) Generate(context.Context, *model.Request, func(model.Delta)) (*model.Response, error) {
	return nil, f.err
}

// full is a disk with room for so many bytes.
type full struct{ left int }

var errFull = errors.New("no space left")

func (f *full) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// A disk that is full ends the loop, at whatever byte that happens.
func TestFullDiskIsNeverSilent(t *testing.T) {
	spec := trial.Spec{Scenario: scenario(t, exporting), Model: "sim/oracle", Guards: guard.MustProfile(guard.ProfileNone), Seed: 1}
	record := func(w io.Writer) (*event.End, error) {
		settings, err := spec.Settings()
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := loop.Freeze(settings)
		if err != nil {
			t.Fatal(err)
		}
		tools, err := spec.Tools(nil)
		if err != nil {
			t.Fatal(err)
		}
		sw := session.NewWriter(w)
		rec, err := recorder.New(sw, session.Header{Canon: model.CanonVersion, Scenario: "x", Model: "sim/oracle", Config: []byte(cfg.JSON()), ConfigDigest: cfg.Digest()}, recorder.Config{})
		if err != nil {
			return nil, err
		}
		turns := answering(func(req *model.Request) *model.Response {
			if req.Turn < 4 {
				return calls("nothing", "{}")
			}
			return says("done")
		})
		l, err := loop.New(cfg, loop.Deps{Model: turns, Tools: tools, Run: tools, Clock: clock.NewVirtual(), Sink: rec})
		if err != nil {
			t.Fatal(err)
		}
		end, err := l.Run(t.Context())
		if err == nil {
			err = rec.Finish()
		}
		return end, err
	}
	var whole strings.Builder
	if end, err := record(&whole); err != nil || end.Reason != event.Completed {
		t.Fatal(end, err)
	}
	for room := 0; room < whole.Len(); room += 97 {
		end, err := record(&full{room})
		if !errors.Is(err, errFull) || end != nil && end.Reason != event.InternalError && end.Reason != event.Completed {
			t.Errorf("%d of %d bytes: %v, %v", room, whole.Len(), end, err)
		}
	}
	if _, err := record(&full{whole.Len()}); err != nil {
		t.Errorf("room for all: %v", err)
	}
}

// Unchecked says that no check stood behind an end, not that one failed: the
// outcome is completed, and the verdict is the graders'. A check that failed is
// another outcome, and is not called unchecked.
func TestUncheckedIsNotFailed(t *testing.T) {
	with := func(checks string) *scenarios.Scenario {
		return scenario(t, "tools: [write_file]\n"+checks+"graders: [{type: contains, want: done}]\n")
	}
	m := answering(func(*model.Request) *model.Response { return says("done") })
	const missing = "acceptance: [{file_exists: a.txt}]\n"
	for _, c := range []struct {
		name, checks string
		mode         guard.Mode
		reason       event.Reason
		unchecked    bool
	}{
		{"no checks", "", guard.Enforce, event.Completed, true},
		{"guard off", missing, guard.Off, event.Completed, true},
		{"in shadow", missing, guard.Shadow, event.Completed, true},
		{"check passed", "acceptance: [{type: contains, want: done}]\n", guard.Enforce, event.Completed, false},
		{"check failed", missing, guard.Enforce, event.Unverified, false},
	} {
		guards, err := guard.MustProfile(guard.ProfileDefault).With("acceptance", c.mode)
		if err != nil {
			t.Fatal(err)
		}
		out, err := run(t, with(c.checks), m, guards, trial.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if out.End.Reason != c.reason || out.End.Unchecked != c.unchecked {
			t.Errorf("%s: %s, unchecked %v", c.name, out.End.Reason, out.End.Unchecked)
		}
		if out.Overall.Verdict != graders.Pass {
			t.Errorf("%s: the verdict is %+v", c.name, out.Overall)
		}
	}
}

// What is authorised, recorded and told apart is the canonical operation, however
// the model spells it: a write of unknown outcome is not issued again under another
// spelling of its path or another order of its arguments.
func TestOperationsAreCanonicalBeforeTheyAreAuthorised(t *testing.T) {
	sc := scenario(t, "tools: [read_file, write_file]\nfaults: [{tool: write_file, at_call: 1, kind: hang}]\ngraders: [{type: contains, want: done}]\n")
	spellings := []string{`{"path":"exports/a.txt","content":"x"}`, `{"content":"x","path":"./exports/../exports/a.txt"}`, `{ "path": "/workspace/exports//a.txt", "content": "\u0078" }`}
	m := answering(func(req *model.Request) *model.Response {
		if req.Turn <= len(spellings) {
			return calls("write_file", "%s", spellings[req.Turn-1])
		}
		return says("done")
	})
	var digests, problems []string
	watch := sinkFunc(func(ev event.Event) error {
		if r, ok := ev.(*event.ToolRequest); ok {
			digests, problems = append(digests, fmt.Sprint(r.Digest.Short(), " ", r.Args, r.Resources)), append(problems, string(r.Problem))
		}
		return nil
	})
	if _, err := run(t, sc, m, guard.MustProfile(guard.ProfileDefault), trial.Options{Watch: watch}); err != nil {
		t.Fatal(err)
	}
	if len(digests) != 3 || digests[0] != digests[1] || digests[1] != digests[2] {
		t.Errorf("spellings of one operation:\n%s", strings.Join(digests, "\n"))
	}
	if got := strings.Join(problems, ","); got != ",permission_denied,permission_denied" {
		t.Errorf("problems %s", got)
	}
	if !strings.Contains(digests[0], "[/workspace/exports/a.txt]") {
		t.Errorf("the resource is %s", digests[0])
	}
}

// A trial leaves nothing of its tree behind, whichever way it ends.
func TestNothingIsLeftBehind(t *testing.T) {
	temp := t.TempDir()
	sc := scenario(t, "tools: [write_file]\ngraders: [{type: contains, want: done}]\n")
	m := answering(func(req *model.Request) *model.Response {
		if req.Turn == 1 {
			return calls("write_file", `{"path":"a.txt","content":"a"}`)
		}
		return says("done")
	})
	for _, hook := range []error{nil, errors.New("the hook broke")} {
		n := 0
		_, err := run(t, sc, m, guard.MustProfile(guard.ProfileDefault), trial.Options{Temp: temp, Watch: sinkFunc(func(event.Event) error {
			if n++; n > 12 {
				return hook
			}
			return nil
		})})
		if !errors.Is(err, hook) {
			t.Error(err)
		}
	}
	if list, err := os.ReadDir(temp); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
}
