package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/harnessbench/harnessbench/ablations/models"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/provider"
	"github.com/harnessbench/harnessbench/loop/model/sim"
	"github.com/harnessbench/harnessbench/results/pricing"
)

// modelInfo is one model as models --json prints it. Prices are USD per million
// tokens; null is unknown.
type modelInfo struct {
	Model      string         `json:"model"` // provider/* = any model of the provider
	Simulated  bool           `json:"simulated"`
	Summary    string         `json:"summary,omitempty"`
	Window     *int           `json:"context_window"`
	Input      *pricing.Micro `json:"input_micro_usd_per_million"`
	CacheRead  *pricing.Micro `json:"cache_read_micro_usd_per_million"`
	CacheWrite *pricing.Micro `json:"cache_write_micro_usd_per_million"`
	Output     *pricing.Micro `json:"output_micro_usd_per_million"`
	Endpoint   string         `json:"base_url,omitempty"`
	Missing    []string       `json:"missing_env"` // variables that it needs and that are not set
}

// modelsList is what models --json prints.
type modelsList struct {
	Schema string      `json:"schema"`
	File   string      `json:"file"` // empty: none was given
	Models []modelInfo `json:"models"`
}

func newModels(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "models",
		Short: "List the models: simulated ones, and those of a models file",
		Long: `Lists the simulated models, which need no key, and the models of a models file.
The file is that of --models, else of the environment variable ` + models.EnvFile + `. Without
one, openai/NAME is any model at OPENAI_BASE_URL, else at OpenAI, with the key in
OPENAI_API_KEY. docs/models.md shows files for common providers.`,
		Example: `  harnessbench models --models models.yaml
  harnessbench models ping openai/gpt-4o-mini`,
		Args: cli.Args(cobra.NoArgs),
	}
	path := cmd.PersistentFlags().String("models", "", "models file (default: that of "+models.EnvFile+", else none)")
	asJSON := cli.JSONFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		p, f, err := openModels(*path)
		if err != nil {
			return err
		}
		list := &modelsList{Schema: "harnessbench/model-list/v1", File: modelsPath(*path), Models: append(simulatedModels(), fileModels(p, f)...)}
		if *asJSON {
			return cli.WriteJSON(a.stdout, list)
		}
		return list.print(a)
	}
	cmd.AddCommand(newModelsPing(a, path))
	return cmd
}

// modelsPath is the models file that a command works with; empty = none.
func modelsPath(flag string) string {
	if flag == "" {
		return os.Getenv(models.EnvFile)
	}
	return flag
}

// openModels reads the models file that a command works with.
func openModels(flag string) (*provider.Provider, *models.File, error) {
	f, err := models.Open(flag, os.Getenv)
	if err != nil {
		return nil, nil, cli.WithCode(cli.Wrong, err)
	}
	p, err := provider.New(f, os.Getenv)
	return p, f, err
}

func simulatedModels() []modelInfo {
	var list []modelInfo
	table := pricing.Simulated()
	for _, p := range sim.Profiles() {
		m := modelInfo{Model: p.Name, Simulated: true, Summary: p.Summary, Missing: []string{}}
		if q, ok := table.Lookup(p.Name); ok {
			m.Input, m.CacheRead, m.CacheWrite, m.Output = q.Input, q.CacheRead, q.CacheWrite, q.Output
		}
		list = append(list, m)
	}
	return list
}

// fileModels lists the models of a file, each provider's in turn.
func fileModels(p *provider.Provider, f *models.File) []modelInfo {
	var list []modelInfo
	for i := range f.Providers {
		v := &f.Providers[i]
		missing := append([]string{}, p.Missing(v)...)
		for _, m := range f.Models {
			if !strings.HasPrefix(m.ID, v.ID+"/") {
				continue
			}
			info := modelInfo{Model: m.ID, Endpoint: v.BaseURL, Missing: missing}
			if m.ContextWindow > 0 {
				info.Window = &m.ContextWindow
			}
			if q := m.Prices; q != nil {
				info.Input, info.CacheRead, info.CacheWrite, info.Output = q.Input, q.CacheRead, q.CacheWrite, q.Output
			}
			list = append(list, info)
		}
		if v.AnyModel {
			list = append(list, modelInfo{Model: v.ID + "/*", Endpoint: v.BaseURL, Missing: missing})
		}
	}
	return list
}

// print writes the list for people.
func (l *modelsList) print(a *app) error {
	var simulated, real [][]string
	for _, m := range l.Models {
		if m.Simulated {
			simulated = append(simulated, []string{m.Model, usdOf(m.Input), usdOf(m.Output), m.Summary})
			continue
		}
		window, key := "?", ""
		if m.Window != nil {
			window = thousands(*m.Window)
		}
		if len(m.Missing) > 0 {
			key = ", " + strings.Join(m.Missing, " and ") + " not set"
		}
		real = append(real, []string{m.Model, usdOf(m.Input), usdOf(m.Output), window, m.Endpoint + key})
	}
	if err := cli.Table(a.stdout, []string{"model (simulated)", "in", "out", "what it does"}, simulated); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout)
	if err := cli.Table(a.stdout, []string{"model", "in", "out", "window", "endpoint"}, real); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "\nin, out: USD per million tokens, those of simulated models fictitious; ? is unknown. Simulated models exercise the harness; they say nothing about real models.\n")
	return err
}

// usdOf writes a price; ? is unknown.
func usdOf(m *pricing.Micro) string {
	if m == nil {
		return "?"
	}
	return m.String()
}
