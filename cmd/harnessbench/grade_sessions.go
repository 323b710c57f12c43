package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/graders"
	"github.com/harnessbench/harnessbench/replayer"
)

// meansRun reports whether an argument names a run folder, if a broken one, rather
// than sessions.
func meansRun(arg string) bool {
	if info, err := os.Stat(arg); err == nil && !info.IsDir() {
		return !cli.IsSession(arg)
	}
	_, err := os.Stat(filepath.Join(arg, machineFile))
	return err == nil
}

// graded asks the graders that the session's scenario has today about what it
// left; nil of left is a session that could not be rebuilt.
func (o *origins) graded(ctx context.Context, path string, left *replayer.Left) *replayer.Graded {
	g := &replayer.Graded{Verdict: graders.Ungraded}
	if was := o.verdict(path); was != "" {
		g.Recorded = &was
	}
	if left == nil {
		g.Reason = "the session does not come out as recorded"
		return g
	}
	spec, err := o.trial(path, left.Header)
	if err != nil {
		g.Reason = err.Error()
		return g
	}
	g.Changed = spec.Fits(left.Header) != nil
	all, list := left.Grade(ctx, spec.Scenario.Graders)
	g.Verdict, g.Score, g.Grader, g.Reason = all.Verdict, all.Score, all.Grader, all.Reason
	for i := range list {
		v := &list[i]
		g.Graders = append(g.Graders, replayer.Ruling{Grader: v.Grader, Type: v.Type, Verdict: v.Verdict, Score: v.Score, Reason: v.Reason})
	}
	return g
}

// gradeLine says a verdict in one line.
func gradeLine(g *replayer.Graded) string {
	out := g.Verdict
	if g.Recorded != nil && *g.Recorded != g.Verdict {
		out += " (recorded: " + *g.Recorded + ")"
	}
	if g.Grader != "" {
		out += " by " + cli.SanitizeLine(g.Grader)
	}
	if g.Reason != "" {
		out += ": " + cli.SanitizeLine(g.Reason)
	}
	if g.Changed {
		out += " [the scenario changed since]"
	}
	return out
}

// gradeSessions grades sessions wherever they lie, and changes nothing.
func gradeSessions(ctx context.Context, a *app, args []string, suite string, asJSON bool) error {
	paths, err := cli.Sessions(args)
	if err != nil {
		return err
	}
	m := &replayMore{grade: true}
	if m.origins, err = newOrigins(suite, ""); err != nil {
		return cli.WithCode(cli.Wrong, err)
	}
	bar := a.progress("sessions", len(paths))
	reports, err := replayAll(ctx, paths, runtime.GOMAXPROCS(0), replayer.Options{}, m, bar)
	bar.Close()
	if err != nil {
		return err
	}
	code := cli.OK
	counts := map[string]int{}
	for _, r := range reports {
		if counts[r.Graded.Verdict]++; r.Graded.Verdict == graders.Ungraded {
			code = cli.CannotJudge
		}
	}
	if asJSON {
		if err := cli.WriteJSON(a.stdout, gradeJSON{"harnessbench/grade/v1", reports, counts}); err != nil {
			return err
		}
		return cli.Status(code)
	}
	printOutcomes(a, reports)
	fmt.Fprintf(a.stdout, "%s: pass %d, fail %d, ungraded %d\n", cli.Count(len(reports), "session"),
		counts[graders.Pass], counts[graders.Fail], counts[graders.Ungraded])
	return cli.Status(code)
}

// gradeJSON is what grade --json prints of loose sessions.
type gradeJSON struct {
	Schema   string             `json:"schema"`
	Sessions []*replayer.Report `json:"sessions"`
	Verdicts map[string]int     `json:"verdicts"`
}
