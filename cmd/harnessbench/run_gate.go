package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/render"
	"github.com/harnessbench/harnessbench/results/report"
)

// gateFlags are the flags of commands that end with the verdict on a run.
type gateFlags struct {
	gate  bool
	junit string
	begun bool // the JUnit report is an empty file so far
}

func (f *gateFlags) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.gate, "gate", false, "the run is a gate: a suite without gates is refused, and a gate that cannot be judged is exit 3")
	cmd.Flags().StringVar(&f.junit, "junit", "", "also write the gates as a JUnit report to this file")
}

// check refuses what cannot be done, before any work.
func (f *gateFlags) check(cmd *cobra.Command, shard bool) error {
	if cmd.Flags().Changed("junit") && f.junit == "" {
		return cli.Usagef("name a file", "--junit has no name")
	}
	if cli.IsSession(f.junit) {
		return cli.Usagef("name another file", "--junit %s would be written over a session", f.junit)
	}
	if f.gate && shard {
		return cli.Usagef("give --gate to the merge of the shards", "a shard judges no gates")
	}
	return nil
}

// ready refuses a suite without gates where gates are wanted, and makes sure that
// the JUnit report can be written, before anything is run.
func (f *gateFlags) ready(gates []design.Gate, suite string) error {
	if f.gate && len(gates) == 0 {
		return cli.Usagef("write what must hold under gates: in the suite, see docs/ci.md; or leave --gate out", "--gate: the suite %s has no gates", suite)
	}
	out := replayOutput{junit: f.junit}
	_, err := out.open()
	f.begun = err == nil && f.junit != ""
	return err
}

// close takes a JUnit report away that was begun and not written.
func (f *gateFlags) close() {
	if f.begun {
		os.Remove(f.junit)
	}
}

// gatesOf gives a lock's gates to the report. Where one stands is told by its
// place in the list: the suite file is not part of a run.
func gatesOf(l design.Lock) []report.Gate {
	var out []report.Gate
	for i, g := range l.Gates {
		x := report.Gate{Arm: g.Arm, Model: g.Model, Metric: g.Metric, K: g.K, Of: g.Of, Min: g.Min, Max: g.Max, Source: gateSource(i)}
		if c := g.Comparison; c != nil {
			x.Guard, x.A, x.B = c.Guard, c.A, c.B
		}
		if x.Of == "" {
			x.Of = "value"
		}
		out = append(out, x)
	}
	return out
}

func gateSource(i int) string { return fmt.Sprintf("gates[%d]", i) }

// verdict is what a run comes to.
type verdict struct {
	sum    *report.Summary
	allow  float64       // share of errored trials that the suite allows
	gates  []design.Gate // of the suite, with their places; nil where only the lock is known
	shard  bool          // a part of a suite: its gates are not judged
	broken error         // what else keeps the run from being whole
}

// conclude tells everyone of the gates, then returns the exit: 4 when trials errored or were
// cut, 3 when a gate that had to be judged was not, 1 when one failed.
func (f *gateFlags) conclude(a *app, v verdict) error {
	trouble := v.trouble()
	r := &render.Run{Summary: v.sum, Strict: f.gate, Trouble: trouble != nil, Place: v.place}
	if err := f.tell(a, r); err != nil {
		return err
	}
	failed, open := 0, 0
	for _, g := range v.sum.Gates {
		switch {
		case g.Verdict == report.GateFail:
			failed++
			fmt.Fprintf(a.stderr, "gate failed: %s (%s)\n", cli.SanitizeLine(g.Reason), g.Source)
		case g.Verdict == report.GateNotJudged:
			open++
			fmt.Fprintf(a.stderr, "gate not judged: %s (%s)\n", cli.SanitizeLine(g.Reason), g.Source)
		}
	}
	gates := cli.Count(len(v.sum.Gates), "gate")
	switch {
	case trouble != nil:
		return trouble
	case v.sum.Unexpected() > 0 && !v.shard:
		return &cli.Exit{Code: cli.No, Err: fmt.Errorf("%d of %s did not fire in all of their traps and in none of their controls", v.sum.Unexpected(), cli.Count(len(v.sum.Firing), "guard")),
			Hint: "the table says which; show and replay take the sessions"}
	case open > 0 && f.gate:
		return &cli.Exit{Code: cli.CannotJudge, Err: fmt.Errorf("%d of %s cannot be judged, %d failed", open, gates, failed), Hint: "a gate without a value does not hold"}
	case failed > 0:
		return &cli.Exit{Code: cli.No, Err: fmt.Errorf("%d of %s failed", failed, gates)}
	case v.shard:
		fmt.Fprintln(a.stderr, "gates are not judged on a shard: merge judges them")
	case len(v.sum.Gates) == 1 && open == 0:
		fmt.Fprintln(a.stderr, "the gate holds")
	case len(v.sum.Gates) > 0 && open == 0:
		fmt.Fprintf(a.stderr, "all of %s hold\n", gates)
	}
	return nil
}

// trouble is why a run is not whole: too many errored trials, or a budget that
// ended it.
func (v *verdict) trouble() error {
	s := v.sum
	if float64(s.Errored) > v.allow*float64(s.Trials) {
		return &cli.Exit{Code: cli.Errored, Err: fmt.Errorf("%d of %d trials errored; the suite allows %g %%", s.Errored, s.Trials, 100*v.allow),
			Hint: "the report says why"}
	}
	if s.CutTrials > 0 && cli.CodeOf(v.broken) != cli.Errored {
		return &cli.Exit{Code: cli.Errored, Err: fmt.Errorf("the budget was used up: %d of %d trials were not run", s.CutTrials, s.Trials+s.CutTrials),
			Hint: "whole blocks were left out, so the arms stay comparable"}
	}
	return v.broken
}

// place finds a gate in the suite's file.
func (v *verdict) place(source string) (file string, line int) {
	for i, g := range v.gates {
		if gateSource(i) == source && g.File != design.LockFile {
			return g.File, g.Line
		}
	}
	return "", 0
}

// tell writes the JUnit report and, on GitHub, annotations and the summary of the
// step. These go to stderr: stdout may be data.
func (f *gateFlags) tell(a *app, r *render.Run) error {
	if f.junit != "" {
		var b bytes.Buffer
		if err := render.JUnitRun(&b, r); err != nil {
			return err
		}
		if err := os.WriteFile(f.junit, b.Bytes(), 0o644); err != nil {
			return cli.WithCode(cli.Wrong, fmt.Errorf("--junit: %w", err))
		}
		f.begun = false
	}
	g := render.OnGitHub(os.Getenv)
	if g == nil {
		return nil
	}
	if err := g.AnnotateRun(a.stderr, r); err != nil {
		return err
	}
	// A summary that cannot be written takes nothing from the verdict.
	if err := g.SummariseRun(r); err != nil {
		fmt.Fprintf(a.stderr, "harnessbench: the step summary was not written: %s\n", render.Neutral(cli.SanitizeLine(err.Error())))
	}
	return nil
}

// isShard reports whether the folder's run is one part of a suite.
func isShard(dir string) bool {
	m, err := readMachine(dir)
	return err == nil && m.Shard != ""
}

// judgeRun is report --gate: the gates of a run folder, judged on what it holds.
func (f *gateFlags) judgeRun(a *app, dir string, sum *report.Summary) error {
	lock, _, err := design.ReadLock(filepath.Join(dir, design.LockFile))
	if err != nil {
		return cli.WithCode(cli.Wrong, err)
	}
	if err := f.ready(lock.Gates, lock.Name); err != nil {
		return err
	}
	defer f.close()
	v := verdict{sum: sum, allow: lock.Errors}
	switch n := planned(dir, lock); {
	case f.gate && isShard(dir):
		return cli.WithCode(cli.CannotJudge, fmt.Errorf("%s is a shard, and a shard judges no gates: merge does", dir))
	case f.gate && sum.Trials < n:
		v.broken = &cli.Exit{Code: cli.CannotJudge, Err: fmt.Errorf("%s cannot be judged: %d of %d trials have been run", dir, sum.Trials, n), Hint: "take it up with: " + resumeCommand(dir)}
	}
	err = f.conclude(a, v)
	if !f.gate {
		return nil
	}
	return err
}
