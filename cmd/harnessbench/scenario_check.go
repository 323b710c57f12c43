package main

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/harnessbench/harnessbench/ablations/check"
	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/scenarios"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// checkedScenario is one scenario as scenario check --json prints it.
type checkedScenario struct {
	Scenario string        `json:"scenario"`
	Digest   string        `json:"digest"`
	OK       bool          `json:"ok"`
	Trials   int           `json:"trials"`
	Findings []findingInfo `json:"findings"`
}

type findingInfo struct {
	Check   string `json:"check"`   // oracle, noop, spam, harms, graders, stable, stresses, controls, hurts, confined
	Subject string `json:"subject"` // the guard or the model that it is about
	OK      bool   `json:"ok"`
	Detail  string `json:"detail"`
}

func newScenarioCheck(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check SCENARIO...",
		Short: "Prove that scenarios measure what they say",
		Long: `Runs trials of each scenario on simulated models and checks that

  - the oracle passes, an agent that does nothing fails, one that only guesses fails;
  - graders give the same verdict every time, and a trial the same session;
  - the guards that it stresses fire for the model that falls into their trap;
  - the guards that it controls stay silent for good, weak and trapped models;
  - the bad settings under hurts do worse than the profile default;
  - nothing outside the workspace is touched.

SCENARIO is builtin/NAME or a glob like 'builtin/*', a folder, or a .txtar archive.

Exit 0: all hold. 1: one does not. 2: a scenario is wrong.`,
		Example: `  harnessbench scenario check 'builtin/*'
  harnessbench scenario check ./my-scenario`,
		Args: cli.Args(cobra.MinimumNArgs(1)),
	}
	asJSON := cli.JSONFlag(cmd)
	jobs := cmd.Flags().IntP("concurrency", "j", 0, "scenarios at a time (default: the number of CPUs)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		list, err := findScenarios(args)
		if err != nil {
			return err
		}
		bar := a.progress("scenarios", len(list), "ok", "failed")
		reports, err := check.All(cmd.Context(), list, check.Options{Concurrency: *jobs, Done: func(r *check.Report) {
			bar.Done(map[bool]string{true: "ok", false: "failed"}[r.OK()], nil)
		}})
		bar.Close()
		if err != nil {
			return cli.WithCode(cli.Wrong, err)
		}
		if err := printChecked(a, reports, *asJSON); err != nil {
			return err
		}
		failed := 0
		for _, r := range reports {
			if !r.OK() {
				failed++
			}
		}
		if failed > 0 {
			return &cli.Exit{Code: cli.No, Err: fmt.Errorf("%d of %s do not hold what they say", failed, cli.Count(len(reports), "scenario"))}
		}
		return nil
	}
	return cmd
}

func printChecked(a *app, reports []*check.Report, asJSON bool) error {
	list := []checkedScenario{}
	var rows [][]string
	trials := 0
	for _, r := range reports {
		c := checkedScenario{Scenario: scenarioName(r.Scenario), Digest: r.Scenario.Digest, OK: r.OK(), Trials: r.Trials, Findings: []findingInfo{}}
		trials += r.Trials
		proved := map[string][]string{}
		for _, f := range r.Findings {
			c.Findings = append(c.Findings, findingInfo(f))
			if f.OK {
				proved[f.Check] = append(proved[f.Check], f.Subject)
				continue
			}
			rows = append(rows, []string{c.Scenario, "FAILED", f.Check + " " + f.Subject, f.Detail})
		}
		if c.OK {
			rows = append(rows, []string{c.Scenario, "ok", dash(proved["stresses"]), dash(proved["controls"]) + " / " + dash(proved["hurts"])})
		}
		list = append(list, c)
	}
	if asJSON {
		return cli.WriteJSON(a.stdout, struct {
			Schema    string            `json:"schema"`
			Scenarios []checkedScenario `json:"scenarios"`
		}{"harnessbench/scenario-check/v1", list})
	}
	if err := cli.Table(a.stdout, []string{"scenario", "result", "fires", "silent / hurts when badly set"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "\n%s, %s\n", cli.Count(len(reports), "scenario"), cli.Count(trials, "trial"))
	return err
}

// scenarioName is how the command line names a scenario.
func scenarioName(s *scenarios.Scenario) string {
	if b, err := builtin.Get(s.ID); err == nil && b.Digest == s.Digest {
		return design.BuiltinPrefix + s.ID
	}
	return s.ID
}

// findScenarios loads what arguments name: builtin/ globs, folders, archives.
// Each scenario comes once, in the order of the arguments.
func findScenarios(args []string) ([]*scenarios.Scenario, error) {
	var out []*scenarios.Scenario
	add := func(sc *scenarios.Scenario) error {
		for _, o := range out {
			if o.ID == sc.ID && o.Digest != sc.Digest {
				return cli.Usagef("rename one", "two scenarios have the id %s: %s and %s", sc.ID, o.Source, sc.Source)
			}
		}
		if !slices.ContainsFunc(out, func(o *scenarios.Scenario) bool { return o.ID == sc.ID }) {
			out = append(out, sc)
		}
		return nil
	}
	for _, arg := range args {
		found, err := matchScenarios(arg)
		if err != nil {
			return nil, err
		}
		for _, sc := range found {
			if err := add(sc); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func matchScenarios(arg string) ([]*scenarios.Scenario, error) {
	pattern, embedded := strings.CutPrefix(arg, design.BuiltinPrefix)
	if !embedded {
		sc, err := loadScenario(arg)
		if err != nil {
			return nil, cli.WithCode(cli.Wrong, err)
		}
		return []*scenarios.Scenario{sc}, nil
	}
	all, err := builtin.All()
	if err != nil {
		return nil, err
	}
	var out []*scenarios.Scenario
	for _, sc := range all {
		ok, err := path.Match(pattern, sc.ID)
		if err != nil {
			return nil, cli.Usagef("use * and ?", "the pattern %q is wrong: %v", arg, err)
		}
		if ok {
			out = append(out, sc)
		}
	}
	if len(out) == 0 {
		return nil, cli.Usagef("see: harnessbench scenario list", "no embedded scenario matches %q", arg)
	}
	return out, nil
}
