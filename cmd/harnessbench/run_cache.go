package main

import (
	"fmt"
	"slices"

	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/loop/guard"
)

// cacheCaution says that a response cache will not be used. Trials of a scenario
// that fills its own need no folder.
func cacheCaution(a *app, p *design.Plan, dir string) {
	on := slices.ContainsFunc(p.Arms, func(x design.Arm) bool { return x.Guards.Mode("response_cache") != guard.Off })
	wanted := slices.ContainsFunc(p.Trials, func(t design.Trial) bool {
		return t.Scenario.Cache == "" && t.Arm.Guards.Mode("response_cache") != guard.Off
	})
	switch {
	case wanted && dir == "":
		fmt.Fprintln(a.stderr, "caution: the guard response_cache is on and has no cache: name a folder with --response-cache")
	case !on && dir != "":
		fmt.Fprintln(a.stderr, "caution: --response-cache does nothing: no arm has the guard response_cache on")
	}
}

// again is the command that takes an interrupted run up.
func (f *runFlags) again(dir string) string {
	if f.cache == "" {
		return resumeCommand(dir)
	}
	return resumeCommand(dir) + " --response-cache " + cli.ShellQuote(f.cache)
}
