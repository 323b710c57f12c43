package replaytest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/clock"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
	"github.com/harnessbench/harnessbench/loop/tool/builtin"
	"github.com/harnessbench/harnessbench/loop/workspace"
	"github.com/harnessbench/harnessbench/recorder"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer"
)

// Loop is a loop of package loop under test, for one session.
type Loop struct {
	// Settings are the loop's, as for loop.Freeze. Tools may be left out: those of
	// Tools are meant. Scenario, when empty, is the session's name, and Models the
	// model of Params.
	Settings loop.Settings
	// Tools makes the loop's tools over a workspace. A replay asks them to validate
	// and canonicalise arguments and runs none; they must not need the workspace for
	// that. Tools of your own that use no workspace leave it alone.
	Tools func(ws workspace.Workspace) (*tool.Set, error)
	// Files is the initial workspace, by slash-separated path.
	Files map[string]string
	// Check looks at the answer, and at the workspace, when the model says that it
	// is done: the first failing reason, "" = accepted. Nil = there is none.
	Check func(ctx context.Context, ws workspace.Workspace, answer string) (fail string, err error)
	// Seals are globs of files that must not change, such as tests/**, for the guard
	// seals.
	Seals []string
	// Model makes the real model; only -update asks for it.
	Model func() (model.Model, error)
	// Clock is the time of a recording that is made; nil = the machine's.
	Clock func() clock.Clock
}

// Test replays every session that pattern (as of filepath.Glob) names, each as a
// subtest, with the loop that newLoop makes for it: name is the session's, without
// folder and suffix. It fails where the loop does anything else than was recorded,
// and where there is nothing to replay.
//
// With -update a session that is not as recorded is recorded again, live from
// where it departs; one that is stays as it is. A new session begins as an empty
// file: touch testdata/NAME.session.jsonl, then go test -update.
func Test(t *testing.T, pattern string, newLoop func(t testing.TB, name string) *Loop) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatalf("%s: %v", pattern, err)
	}
	paths = slices.DeleteFunc(paths, func(p string) bool { return strings.HasSuffix(p, session.PartialSuffix) })
	if len(paths) == 0 {
		t.Fatalf("%s: no session; a new one begins as an empty file: touch testdata/NAME%s, then go test -update", pattern, session.Suffix)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), session.ZstdSuffix), session.Suffix)
		t.Run(name, func(t *testing.T) {
			r, err := prepare(name, path, newLoop(t, name))
			if err != nil {
				t.Fatal(err)
			}
			if Update() {
				r.update(t)
			} else {
				r.replay(t)
			}
		})
	}
}

// run is one loop over one session.
type run struct {
	*Loop
	path  string
	cfg   *trial.Rebuilt
	files []session.TreeFile
}

// prepare freezes what a loop is configured with.
func prepare(name, path string, l *Loop) (*run, error) {
	if l == nil || l.Tools == nil {
		return nil, errors.New("replaytest: a Loop needs its Tools")
	}
	r := &run{Loop: l, path: path}
	for p, text := range l.Files {
		r.files = append(r.files, session.TreeFile{Path: p, Size: int64(len(text)), Mode: workspace.ModeFile, Digest: model.SumString(text), Content: []byte(text)})
	}
	slices.SortFunc(r.files, func(a, b session.TreeFile) int { return strings.Compare(a.Path, b.Path) })
	ws, err := r.workspace()
	if err != nil {
		return nil, err
	}
	tools, err := l.Tools(ws)
	if err != nil {
		return nil, err
	}
	s := l.Settings
	if s.Scenario == "" {
		s.Scenario = name
	}
	if s.Models == nil {
		s.Models = []string{s.Params.Model}
	}
	if s.Tools == nil {
		s.Tools = tools.Specs()
	}
	if s.Extra == "" {
		s.Extra = extraOf(s.Tools, l.Check != nil, l.Seals)
	}
	cfg, err := loop.Freeze(s)
	if err != nil {
		return nil, err
	}
	r.cfg = &trial.Rebuilt{Config: cfg, Tools: tools, Seals: l.Seals}
	if l.Check != nil {
		r.cfg.Check = func(ws workspace.Workspace) func(context.Context, string) (string, error) {
			return func(ctx context.Context, answer string) (string, error) { return l.Check(ctx, ws, answer) }
		}
	}
	return r, nil
}

// extraOf tells a replay from the command line which tools canonicalise as
// built-in ones, what is sealed, and that a check is not there.
func extraOf(specs []tool.Spec, check bool, seals []string) string {
	var names []string
	for _, t := range builtin.Tools(nil) {
		if spec := t.Spec(); slices.Contains(specs, spec) {
			names = append(names, `"`+spec.Name+`"`)
		}
	}
	own := ""
	if check {
		own = `"own_check":true,`
	}
	var globs []string
	for _, g := range seals {
		globs = append(globs, string(model.AppendString(nil, g)))
	}
	sealed := ""
	if globs != nil {
		sealed = `,"seals":[` + strings.Join(globs, ",") + `]`
	}
	return `{"acceptance":[],"builtin":[` + strings.Join(names, ",") + `],` + own + `"paths":{}` + sealed + `}`
}

// workspace lays the initial files in memory.
func (r *run) workspace() (*workspace.Mem, error) {
	entries := make([]workspace.Entry, len(r.files))
	contents := map[model.Digest][]byte{}
	for i, f := range r.files {
		entries[i] = workspace.Entry{Path: f.Path, Size: f.Size, Mode: f.Mode, Digest: f.Digest}
		contents[f.Digest] = f.Content
	}
	return workspace.NewMem(entries, func(d model.Digest) ([]byte, error) { return contents[d], nil })
}

// current is the configuration under test, for the session that was recorded.
func (r *run) current(h *session.Header) (*trial.Rebuilt, error) {
	same := slices.EqualFunc(r.files, h.Tree, func(a, b session.TreeFile) bool { return a.Path == b.Path && a.Digest == b.Digest })
	if !same {
		return nil, errFiles
	}
	return r.cfg, nil
}

// errFiles says that a session was recorded on another tree.
var errFiles = errors.New("the initial files are not those that were recorded: go test -update records it again")

// replay is the test.
func (r *run) replay(t testing.TB) {
	t.Helper()
	if blank(r.path) {
		need(t, r.path)
	}
	rep, err := replayer.File(t.Context(), r.path, replayer.Options{Current: r.current})
	if err != nil {
		t.Fatal(err)
	}
	if rep.Verdict.Exit() != 0 {
		t.Errorf("%s\n  meant     go test -run '^%s$' -update", describe(rep), t.Name())
	}
}

// update records the session again where it is not what the loop does.
func (r *run) update(t testing.TB) {
	t.Helper()
	var was *replayer.Report
	if !blank(r.path) {
		var err error
		if was, err = replayer.File(t.Context(), r.path, replayer.Options{Current: r.current}); err != nil {
			t.Fatal(err)
		}
		if was.Verdict.Exit() == 0 {
			return
		}
	}
	end, err := r.record(t.Context(), was)
	if err != nil {
		t.Fatal(err)
	}
	if was == nil {
		t.Logf("%s: recorded: %s", r.path, end)
		return
	}
	t.Logf("%s: recorded again: %s\n%s", r.path, end, describe(was))
}

// record makes the session: live from where the one that is there departs, or all
// of it.
func (r *run) record(ctx context.Context, was *replayer.Report) (string, error) {
	if r.Model == nil {
		return "", errors.New("replaytest: the Loop has no Model to ask")
	}
	if was != nil && was.Verdict.Exit() == 1 {
		d, err := replayer.Drive(ctx, r.path, replayer.DriveOptions{
			Config: func(h *session.Header, _ *trial.Rebuilt) (*trial.Rebuilt, error) { return r.current(h) },
			Live: func(_ *session.Header, _ *trial.Rebuilt, ws workspace.Workspace) (*replayer.Live, error) {
				return r.live(ws)
			},
			Record: r.path, Overwrite: true})
		if err != nil {
			return "", err
		}
		if d.Left != nil {
			return fmt.Sprintf("%s after %d turns; %d calls served, %d live", d.Left.End.Reason, d.Left.End.Turns, d.Served, d.Asked), nil
		}
	}
	return r.anew(ctx)
}

// live is what the loop acts through.
func (r *run) live(ws workspace.Workspace) (*replayer.Live, error) {
	m, err := r.Model()
	if err != nil {
		return nil, err
	}
	tools, err := r.Tools(ws)
	if err != nil {
		return nil, err
	}
	l := &replayer.Live{Model: m, Run: tools, Clock: clock.NewReal()}
	if r.Clock != nil {
		l.Clock = r.Clock()
	}
	return l, nil
}

// anew records the whole session.
func (r *run) anew(ctx context.Context) (said string, err error) {
	ws, err := r.workspace()
	if err != nil {
		return "", err
	}
	live, err := r.live(ws)
	if err != nil {
		return "", err
	}
	f, err := session.Create(r.path, session.FileOptions{Sync: session.SyncTurns, Overwrite: true})
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = f.Close() // the error is known
			_ = os.Remove(f.Partial())
		}
	}()
	rec, err := recorder.New(f.Writer, r.header(ws), recorder.Config{Blobs: session.BlobsBeside(r.path), TreeDigest: func() (model.Digest, error) { return digestOf(ws) }})
	if err != nil {
		return "", err
	}
	l, err := loop.New(r.cfg.Config, loop.Deps{Model: live.Model, Tools: r.cfg.Tools, Run: live.Run, Clock: live.Clock, Sink: rec,
		Spill: func(path, data string) error { return ws.Spill(path, []byte(data)) }, Check: r.cfg.Checker(ws),
		Sealed: trial.Sealer(r.cfg.Seals, ws)})
	if err != nil {
		return "", err
	}
	end, err := l.Run(ctx)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s after %d turns", end.Reason, end.Turns), nil
}

func (r *run) header(ws workspace.Workspace) session.Header {
	set := r.cfg.Config.Settings()
	h := session.Header{Canon: model.CanonVersion, Scenario: set.Scenario, Repetition: set.Repetition, Model: set.Params.Model,
		Simulated: trial.IsSimulated(set.Params.Model), Config: []byte(r.cfg.Config.JSON()), ConfigDigest: r.cfg.Config.Digest(), Tree: r.files}
	h.TreeDigest, _ = digestOf(ws) // a tree in memory has a manifest
	return h
}

func digestOf(ws workspace.Workspace) (model.Digest, error) {
	entries, err := ws.Manifest()
	return workspace.TreeDigest(entries), err
}
