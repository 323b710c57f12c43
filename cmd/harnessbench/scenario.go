package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/scenarios"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// scenarioInfo is one scenario as scenario list --json prints it.
type scenarioInfo struct {
	Scenario string   `json:"scenario"`
	Digest   string   `json:"digest"`
	Summary  string   `json:"summary"`
	Tags     []string `json:"tags"`
	Stresses []string `json:"stresses"` // guards that should fire
	Controls []string `json:"controls"` // guards that must not
	Tools    []string `json:"tools"`
	Graders  int      `json:"graders"`
}

func newScenario(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "scenario",
		Short: "Look at scenarios, prove them, begin one",
		Args:  unknownCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newScenarioList(a), newScenarioShow(a), newScenarioCheck(a), newScenarioNew(a))
	return cmd
}

func newScenarioList(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the embedded scenarios",
		Args:  cli.Args(cobra.NoArgs),
	}
	asJSON := cli.JSONFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		all, err := builtin.All()
		if err != nil {
			return err
		}
		list := []scenarioInfo{}
		var rows [][]string
		for _, s := range all {
			info := infoOf(s)
			list = append(list, info)
			rows = append(rows, []string{info.Scenario, dash(s.Stresses), dash(s.Controls), s.Summary})
		}
		if *asJSON {
			return cli.WriteJSON(a.stdout, struct {
				Schema    string         `json:"schema"`
				Scenarios []scenarioInfo `json:"scenarios"`
			}{"harnessbench/scenarios/v1", list})
		}
		return cli.Table(a.stdout, []string{"scenario", "stresses", "controls", "summary"}, rows)
	}
	return cmd
}

func infoOf(s *scenarios.Scenario) scenarioInfo {
	info := scenarioInfo{Scenario: scenarioName(s), Digest: s.Digest, Summary: s.Summary, Tags: notNil(s.Tags),
		Stresses: notNil(s.Stresses), Controls: notNil(s.Controls), Tools: []string{}, Graders: len(s.Graders)}
	for _, t := range s.Tools {
		info.Tools = append(info.Tools, t.Name)
	}
	return info
}

func notNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func dash(list []string) string {
	if len(list) == 0 {
		return "-"
	}
	return strings.Join(list, " ")
}
