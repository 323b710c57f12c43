package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/loop/model/sim"
	"github.com/harnessbench/harnessbench/results/pricing"
)

// modelInfo is one model as models --json prints it. Prices are USD per million
// tokens; null is unknown.
type modelInfo struct {
	Model     string         `json:"model"`
	Simulated bool           `json:"simulated"`
	Summary   string         `json:"summary"`
	Input     *pricing.Micro `json:"input_micro_usd_per_million"`
	CacheRead *pricing.Micro `json:"cache_read_micro_usd_per_million"`
	Output    *pricing.Micro `json:"output_micro_usd_per_million"`
}

func newModels(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "models",
		Short: "List the models that need no key",
		Args:  cli.Args(cobra.NoArgs),
	}
	asJSON := cli.JSONFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		table := pricing.Simulated()
		var list []modelInfo
		var rows [][]string
		for _, p := range sim.Profiles() {
			m := modelInfo{Model: p.Name, Simulated: true, Summary: p.Summary}
			in, out := "?", "?"
			if price, ok := table.Lookup(p.Name); ok {
				m.Input, m.CacheRead, m.Output = price.Input, price.CacheRead, price.Output
				in, out = price.Input.String(), price.Output.String()
			}
			list = append(list, m)
			rows = append(rows, []string{p.Name, in, out, p.Summary})
		}
		if *asJSON {
			return cli.WriteJSON(a.stdout, struct {
				Schema string      `json:"schema"`
				Models []modelInfo `json:"models"`
			}{"harnessbench/models/v1", list})
		}
		if err := cli.Table(a.stdout, []string{"model (simulated)", "in", "out", "what it does"}, rows); err != nil {
			return err
		}
		_, err := fmt.Fprintf(a.stdout, "\nin, out: USD per million tokens, fictitious. Simulated models exercise the harness; they say nothing about real models.\n")
		return err
	}
	return cmd
}
