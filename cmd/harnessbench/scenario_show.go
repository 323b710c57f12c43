package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/scenarios"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// shownScenario is one scenario as scenario show --json prints it.
type shownScenario struct {
	Schema string `json:"schema"`
	scenarioInfo
	Instruction string      `json:"instruction"`
	Files       []shownFile `json:"files"` // of the workspace at the start
	Turns       int         `json:"turns"`
	ToolCalls   int         `json:"tool_calls"`
	WallMS      int64       `json:"wall_ms"`
	Window      int         `json:"context_window"` // tokens; 0 = unbounded
	Hurts       []shownHurt `json:"hurts"`
	Sources     []shownFile `json:"sources"` // the scenario's own files, in full for an embedded one
}

type shownFile struct {
	Path  string `json:"path"`
	Bytes int    `json:"bytes"`
	Text  string `json:"text,omitempty"`
}

type shownHurt struct {
	Guard   string `json:"guard"`
	Setting string `json:"setting"`
	By      string `json:"by"`
}

func newScenarioShow(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show SCENARIO",
		Short: "Show a scenario: task, tools, files, checks, oracle",
		Long: `Shows one scenario: what the agent is told and given, which guards it is for, and the
files that define it. SCENARIO is builtin/NAME, a folder, or a .txtar archive.`,
		Args: cli.Args(cobra.ExactArgs(1)),
	}
	asJSON := cli.JSONFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		list, err := findScenarios(args)
		if err != nil {
			return err
		}
		if len(list) != 1 {
			return cli.Usagef("name one", "%q names %d scenarios", args[0], len(list))
		}
		s := describeScenario(list[0])
		if *asJSON {
			return cli.WriteJSON(a.stdout, s)
		}
		return printScenario(a.stdout, &s)
	}
	return cmd
}

func describeScenario(sc *scenarios.Scenario) shownScenario {
	s := shownScenario{Schema: "harnessbench/scenario-show/v1", scenarioInfo: infoOf(sc), Instruction: sc.Instruction,
		Files: []shownFile{}, Turns: sc.Limits.Turns, ToolCalls: sc.Limits.ToolCalls, WallMS: sc.Limits.Wall.Milliseconds(),
		Window: sc.Limits.ContextWindow, Hurts: []shownHurt{}, Sources: []shownFile{}}
	for _, f := range sc.Files {
		s.Files = append(s.Files, shownFile{Path: f.Path, Bytes: len(f.Data)})
	}
	for _, h := range sc.Hurts {
		s.Hurts = append(s.Hurts, shownHurt{h.Guard, h.Setting(), h.Shows()})
	}
	if !strings.HasPrefix(s.Scenario, "builtin/") {
		return s
	}
	files, _ := builtin.Files(sc.ID) // an embedded scenario has its files
	for _, f := range files {
		if !strings.HasPrefix(f.Path, "workspace/") {
			s.Sources = append(s.Sources, shownFile{f.Path, len(f.Data), string(f.Data)})
		}
	}
	return s
}

func printScenario(w io.Writer, s *shownScenario) error {
	say := func(format string, args ...any) { fmt.Fprintf(w, format, args...) }
	say("%s: %s\n", cli.SanitizeLine(s.Scenario), cli.SanitizeLine(s.Summary))
	say("  tags:     %s\n  stresses: %s\n  controls: %s\n", dash(s.Tags), dash(s.Stresses), dash(s.Controls))
	for _, h := range s.Hurts {
		say("  hurts:    %s set to %s (by %s)\n", h.Guard, cli.SanitizeLine(h.Setting), h.By)
	}
	say("  tools:    %s\n", dash(s.Tools))
	say("  limits:   %d turns, %d tool calls, %s", s.Turns, s.ToolCalls, time.Duration(s.WallMS)*time.Millisecond)
	if s.Window > 0 {
		say(", context window of %d tokens", s.Window)
	}
	say("\n  digest:   %s\n\n%s\n", s.Digest, strings.TrimRight(cli.Sanitize(s.Instruction), "\n"))
	if len(s.Files) > 0 {
		say("\nWorkspace\n")
		var rows [][]string
		for _, f := range s.Files {
			rows = append(rows, []string{"  " + f.Path, fmt.Sprint(f.Bytes)})
		}
		if err := cli.Table(w, []string{"  file", "bytes"}, rows); err != nil {
			return err
		}
	}
	for _, f := range s.Sources {
		if f.Path != "instruction.md" {
			say("\n-- %s --\n%s", f.Path, f.Text)
		}
	}
	return nil
}
