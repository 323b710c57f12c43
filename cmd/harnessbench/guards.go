package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/scenarios"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// guardInfo is one guard as guards --json prints it.
type guardInfo struct {
	Guard    string      `json:"guard"`
	Class    string      `json:"class"`
	Version  int         `json:"version"` // behaviour version
	Policy   bool        `json:"policy"`
	Default  guard.Mode  `json:"default"` // mode in profile default
	Full     guard.Mode  `json:"full"`    // mode in profile full
	Params   []paramInfo `json:"params"`
	Summary  string      `json:"summary"`
	WhenOff  string      `json:"when_off"`
	Headline bool        `json:"headline"` // one of those that matter first
	Stays    bool        `json:"stays"`    // in force in every arm
	Manual   string      `json:"manual"`   // what it does, exactly
	Cost     string      `json:"cost"`     // what it costs when it is wrong
	Traps    []string    `json:"traps"`    // embedded scenarios in which it has to fire
	Controls []string    `json:"controls"` // and in which it must not
}

type paramInfo struct {
	Name    string     `json:"name"`
	Unit    guard.Unit `json:"unit"`
	Default string     `json:"default"`
	Min     string     `json:"min"`
	Max     string     `json:"max"`
	Doc     string     `json:"doc"`
}

// headline lists the guards that matter first, most telling first.
var headline = []string{"stuck", "spill", "acceptance", "retry", "tool_deadline", "truncated_empty",
	"result_ceiling", "empty_response", "unknown_tool", "run_deadline"}

func newGuards(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "guards [NAME]",
		Short: "List the guards, their parameters and defaults",
		Long: `Lists the guards by class, the ten that matter first on top. With NAME: one guard in full.
Settings are written guards: {stuck: {nudge: 4, abort: 8}, spill: shadow} in a suite's arm.`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
	}
	asJSON := cli.JSONFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		all, err := builtin.All()
		if err != nil {
			return err
		}
		list := guardInfos(all)
		if len(args) == 1 {
			i := slices.IndexFunc(list, func(g guardInfo) bool { return g.Guard == args[0] })
			if i < 0 {
				return cli.Usagef("there are "+strings.Join(guard.Names(), ", "), "no guard %q", args[0])
			}
			list = list[i : i+1]
		}
		switch {
		case *asJSON:
			return cli.WriteJSON(a.stdout, struct {
				Schema string      `json:"schema"`
				Guards []guardInfo `json:"guards"`
			}{"harnessbench/guards/v1", list})
		case len(args) == 1:
			return printGuard(a, &list[0])
		}
		return printGuards(a, list)
	}
	return cmd
}

func guardInfos(all []*scenarios.Scenario) []guardInfo {
	var out []guardInfo
	for i := range guard.Table {
		d := &guard.Table[i]
		g := guardInfo{Guard: d.Name, Class: string(d.Class), Version: d.Version, Policy: d.Policy, Default: d.Mode, Full: d.Full,
			Params: []paramInfo{}, Summary: d.Summary, WhenOff: d.WhenOff, Headline: slices.Contains(headline, d.Name),
			Stays: d.Stays, Manual: d.Manual().Semantics, Cost: d.Manual().Cost, Traps: []string{}, Controls: []string{}}
		for _, s := range all {
			if slices.Contains(s.Stresses, d.Name) {
				g.Traps = append(g.Traps, s.ID)
			}
			if slices.Contains(s.Controls, d.Name) {
				g.Controls = append(g.Controls, s.ID)
			}
		}
		for j := range d.Params {
			p := &d.Params[j]
			g.Params = append(g.Params, paramInfo{p.Name, p.Unit, p.Format(p.Default), p.Format(p.Min), p.Format(p.Max), p.Doc})
		}
		out = append(out, g)
	}
	return out
}

func printGuards(a *app, list []guardInfo) error {
	byName := map[string]guardInfo{}
	for _, g := range list {
		byName[g.Guard] = g
	}
	var first [][]string
	for _, name := range headline {
		g := byName[name]
		first = append(first, []string{"  " + g.Guard, string(g.Default), g.Summary})
	}
	fmt.Fprintln(a.stdout, "The ten that matter first")
	if err := cli.Table(a.stdout, []string{"  guard", "default", "what it does"}, first); err != nil {
		return err
	}
	var classes []string
	for _, g := range list {
		if !slices.Contains(classes, g.Class) {
			classes = append(classes, g.Class)
		}
	}
	fmt.Fprintln(a.stdout, "\nAll, by class")
	var rows [][]string
	for _, class := range classes {
		for _, g := range list {
			if g.Class != class {
				continue
			}
			var params []string
			for _, p := range g.Params {
				params = append(params, p.Name+"="+p.Default)
			}
			rows = append(rows, []string{"  " + class, g.Guard, string(g.Default), strings.Join(params, " ")})
		}
	}
	if err := cli.Table(a.stdout, []string{"  class", "guard", "default", "parameters"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(a.stdout, "\nA scenario's own limits are a backstop that no arm can switch off. harnessbench guards NAME says more.")
	return err
}

func printGuard(a *app, g *guardInfo) error {
	fmt.Fprintf(a.stdout, "%s (%s, behaviour version %d)\n  %s\n  when off: %s\n  profile default: %s, full: %s\n",
		g.Guard, g.Class, g.Version, g.Summary, g.WhenOff, g.Default, g.Full)
	fmt.Fprintf(a.stdout, "\n  %s\n\n  When it is wrong:\n  %s\n\n  traps:    %s\n  controls: %s\n", wrap(g.Manual, "  "), wrap(g.Cost, "  "), dash(g.Traps), dash(g.Controls))
	if len(g.Params) == 0 {
		return nil
	}
	var rows [][]string
	for _, p := range g.Params {
		rows = append(rows, []string{"  " + p.Name, p.Default, p.Min + ".." + p.Max, p.Doc})
	}
	fmt.Fprintln(a.stdout)
	return cli.Table(a.stdout, []string{"  parameter", "default", "range", "meaning"}, rows)
}
