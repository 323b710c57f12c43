package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/graders"
	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/workspace"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/scenarios"
)

// result is what one trial came to.
type result struct {
	verdict, reason string
	ended           event.Reason
	fired           map[string]bool
	tokens          int64
	took            time.Duration // on the trial's clock
	session         []byte
	verdicts        []string // of graders that were asked again
}

// regrades is how often graders are asked about the same finished session.
const regrades = 5

// Names in the checker's folder. The canary stands beside the folder of the trees
// and tells of whatever leaves it.
const (
	treesDir   = "trees"
	canaryFile = "canary"
	canaryText = "nothing here is a scenario's business\n"
)

func (c *checker) begin() error {
	if err := os.Mkdir(filepath.Join(c.dir, treesDir), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.dir, canaryFile), []byte(canaryText), 0o600)
}

// run runs a trial, once however often it is asked for.
func (c *checker) run(profile string, set guard.Settings, rep int, fallbacks ...string) (*result, error) {
	key := fmt.Sprintf("%s %d %q %s", profile, rep, fallbacks, set.AppendJSON(nil))
	if r, ok := c.ran[key]; ok {
		return r, nil
	}
	r, err := c.again(profile, set, rep, fallbacks...)
	if err == nil {
		c.ran[key] = r
	}
	return r, err
}

// again runs a trial whether it was run before or not.
func (c *checker) again(profile string, set guard.Settings, rep int, fallbacks ...string) (*result, error) {
	if fallbacks == nil {
		fallbacks = scenarios.FallbackModels
	}
	if err := c.ctx.Err(); err != nil {
		return nil, context.Cause(c.ctx)
	}
	spec := trial.Spec{Scenario: c.sc, Model: profile, Arm: "check", Guards: set, Repetition: rep, Seed: 1, Fallbacks: fallbacks}
	path := filepath.Join(c.dir, "check"+session.Suffix)
	w := &witness{spec: &spec, ctx: c.ctx}
	o, err := trial.Run(c.ctx, spec, trial.Options{Session: path, Sync: session.SyncNever, Overwrite: true,
		Temp: filepath.Join(c.dir, treesDir), Watch: w, Drive: w.meet})
	c.report.Trials++
	if err != nil {
		return nil, err
	}
	r := &result{verdict: o.Overall.Verdict, reason: o.Overall.Reason, ended: o.End.Reason, fired: map[string]bool{},
		tokens: o.End.Usage.Total(), took: o.End.At, verdicts: w.verdicts}
	for i := range o.Tally.Firings {
		r.fired[o.Tally.Firings[i].Name] = true
	}
	if r.session, err = os.ReadFile(path); err != nil {
		return nil, err
	}
	c.strays = append(c.strays, w.strays...)
	return r, c.tidy(path)
}

// tidy looks for what a trial left outside its tree, which is gone by now.
func (c *checker) tidy(path string) error {
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	if err := os.RemoveAll(session.BlobsBeside(path).Path()); err != nil {
		return err
	}
	canary, err := os.ReadFile(filepath.Join(c.dir, canaryFile))
	if err != nil || string(canary) != canaryText {
		c.strays = append(c.strays, "a file beside the workspace was changed")
	}
	for _, dir := range []string{c.dir, filepath.Join(c.dir, treesDir)} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.Name() != treesDir && e.Name() != canaryFile {
				c.strays = append(c.strays, "left beside the workspace: "+e.Name())
			}
		}
	}
	return nil
}

// witness watches a trial and asks its graders again while its tree is there.
type witness struct {
	spec     *trial.Spec
	ctx      context.Context
	ws       workspace.Workspace
	tally    trial.Tally
	verdicts []string
	strays   []string
}

func (w *witness) meet(_ *loop.Deps, _ *session.Header, ws workspace.Workspace) error {
	w.ws = ws
	return nil
}

// Emit implements event.Sink.
func (w *witness) Emit(ev event.Event) error {
	if err := w.tally.Emit(ev); err != nil {
		return err
	}
	switch ev := ev.(type) {
	case *event.ToolResult:
		for _, d := range ev.Delta {
			if !filepath.IsLocal(filepath.FromSlash(d.Path)) {
				w.strays = append(w.strays, fmt.Sprintf("turn %d, %s: %s %q", ev.Turn, ev.Call.Name, d.Op, d.Path))
			}
		}
	case *event.End:
		for range regrades {
			all, each := trial.Grade(w.ctx, w.spec.Scenario.Graders, ev, &w.tally, w.ws)
			w.verdicts = append(w.verdicts, gradesText(all, each))
		}
	}
	return nil
}

func gradesText(all graders.Overall, each []graders.Verdict) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%+v", all)
	for i := range each {
		fmt.Fprintf(&b, "\n%+v", each[i])
	}
	return b.String()
}

var errNoOracle = errors.New("there is no oracle.yaml: simulated models do not know how to solve it")

// firstDifference says where two sessions differ, in lines from 1; 0 = nowhere.
func firstDifference(a, b []byte) int {
	x, y := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range max(len(x), len(y)) {
		if i >= len(x) || i >= len(y) || !slices.Equal(x[i], y[i]) {
			return i + 1
		}
	}
	return 0
}
