package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/scenarios"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// docs/guards.md and docs/scenarios.md are made from the code.
func TestManual(t *testing.T) {
	all, err := builtin.All()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"guards.md": guardsManual(all), "scenarios.md": scenariosManual(t, all)} {
		path := filepath.Join("..", "..", "docs", name)
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("docs/%s is not what the code says; run the test with -update (%v)", name, err)
		}
	}
}

// Each guard has a scenario that stresses it, one that controls it and one in
// which a bad setting of it hurts; the headline ones have six that stress them.
func TestEveryGuardHasItsScenarios(t *testing.T) {
	all, err := builtin.All()
	if err != nil {
		t.Fatal(err)
	}
	for i := range guard.Table {
		g := guard.Table[i].Name
		traps, controls, hurts := scenariosOf(all, g)
		want := 1
		if slices.Contains(ablated, g) {
			want = 6
		}
		if len(traps) < want || len(controls) == 0 || len(hurts) == 0 {
			t.Errorf("%s: %d traps, want %d; %d controls, %d in which it hurts", g, len(traps), want, len(controls), len(hurts))
		}
	}
	if len(all) < 60 {
		t.Errorf("%d scenarios", len(all))
	}
}

// ablated are the guards that builtin/ablation leaves out in turn.
var ablated = []string{"stuck", "spill", "acceptance", "retry", "tool_deadline", "compaction", "truncated_empty", "no_progress"}

func scenariosOf(all []*scenarios.Scenario, g string) (traps, controls, hurts []string) {
	for _, s := range all {
		if slices.Contains(s.Stresses, g) {
			traps = append(traps, s.ID)
		}
		if slices.Contains(s.Controls, g) {
			controls = append(controls, s.ID)
		}
		for i := range s.Hurts {
			if h := &s.Hurts[i]; h.Guard == g {
				hurts = append(hurts, fmt.Sprintf("%s with `%s` (%s)", link(s.ID), h.Setting(), hurtWords[h.Shows()]))
			}
		}
		if s.Tagged(scenarios.TagHarms) && slices.Contains(s.Stresses, g) {
			hurts = append(hurts, link(s.ID)+" as it is by default")
		}
	}
	return traps, controls, hurts
}

var hurtWords = map[string]string{"fail": "the oracle fails", "tokens": "half as many tokens again", "time": "half as much time again"}

func link(id string) string { return fmt.Sprintf("[%s](scenarios.md#%s)", id, id) }

func links(ids []string) string {
	var out []string
	for _, id := range ids {
		out = append(out, link(id))
	}
	return strings.Join(out, ", ")
}

func guardsManual(all []*scenarios.Scenario) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<!-- Made from the code by go test ./cmd/harnessbench -run TestManual -update; change it there. -->

# Guards

A guard is a rule of the harness around the model. Each has a mode: **enforce**, **shadow** (its own state advances as if it acted, its firings are recorded, and
nothing is changed), or **off**. Most are folds: pure functions over the events of a session, with a state of bounded size. Those marked *policy* act inside a stage
of the loop. Every firing is recorded with its evidence, in shadow too, so that it is known in which trials a guard was tried at all.

A guard's settings are written in an arm of a suite, `+"`guards: {stuck: {nudge: 4, abort: 8}, spill: shadow}`"+`, or changed with `+"`--set guard.stuck.abort=4`"+`. The order of this
page is the order in which rewrites of a result compose, and in which the first stop wins. The *behaviour version* is raised whenever the same events lead to
another decision; a session says under which it was recorded.

*Traps* are scenarios in which the guard has to fire for the model that falls into them, *controls* those in which it must stay silent;
`+"`harnessbench run builtin/guards`"+` proves both, `+"`harnessbench scenario check 'builtin/*'`"+` also what bad settings cost.
What the guards are worth where they fire: `+"`harnessbench run builtin/ablation`"+`.

| guard | class | default | full | what it does |
|---|---|---|---|---|
`)
	for i := range guard.Table {
		d := &guard.Table[i]
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s | %s | %s |\n", d.Name, d.Name, d.Class, modeWords(d, d.Mode), modeWords(d, d.Full), d.Summary)
	}
	for i := range guard.Table {
		d := &guard.Table[i]
		m := d.Manual()
		kind := "fold"
		if d.Policy {
			kind = "policy"
		}
		traps, controls, hurts := scenariosOf(all, d.Name)
		fmt.Fprintf(&b, "\n## %s\n\n%s. Class %s, %s, behaviour version %d. When off: %s.\n\n%s\n\n", d.Name, upper(d.Summary), d.Class, kind, d.Version, d.WhenOff, m.Semantics)
		if len(d.Params) > 0 {
			b.WriteString("| parameter | default | range | meaning |\n|---|---|---|---|\n")
			for j := range d.Params {
				p := &d.Params[j]
				fmt.Fprintf(&b, "| `%s` | %s | %s to %s | %s |\n", p.Name, p.Format(p.Default), p.Format(p.Min), p.Format(p.Max), p.Doc)
			}
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "*What it costs when it is wrong.* %s\n\n- Traps: %s\n- Controls: %s\n- Hurts: %s\n", m.Cost, links(traps), links(controls), strings.Join(hurts, "; "))
	}
	return b.String()
}

func modeWords(d *guard.Def, m guard.Mode) string {
	if d.Stays {
		return "always"
	}
	return string(m)
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func scenariosManual(t *testing.T, all []*scenarios.Scenario) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<!-- Made from the code by go test ./cmd/harnessbench -run TestManual -update; change it there. -->

# Scenarios

%d scenarios are embedded. They measure harnesses, not models: each is built so that one guard, or one mistake, decides it, and simulated models know how to solve
it and how to fail. `+"`harnessbench scenario show builtin/NAME`"+` prints one in full, `+"`scenario check`"+` proves that it measures what it says, `+"`scenario new FOLDER`"+` begins
one of your own. A scenario is a folder, or a txtar archive of one:

| file | what it is |
|---|---|
| `+"`scenario.yaml`"+` | what follows |
| `+"`instruction.md`"+` | the task, as the model reads it |
| `+"`workspace/`"+` | the files at the start |
| `+"`graders/`"+` | files for graders, never visible to the agent |
| `+"`oracle.yaml`"+` | how simulated models solve it |

`+"```yaml\n%s```\n\n```yaml\n# oracle.yaml\n%s```\n\nUnknown keys, wrong types, duplicate keys, and names of guards, tools and models that there are not, are errors with file, line and column.\n\n", len(all),
		strings.NewReplacer("[Response]", "below", "[FaultKinds]", "below", "[ModelFaultKinds]", "below").Replace(docComment(t, "../../scenarios/doc.go", "Only schema, id, summary and graders are required:")), docComment(t, "../../loop/model/sim/script.go", "The YAML, all keys but rules optional:"))
	fmt.Fprintf(&b, `## What the keys mean

- **stresses**: the guard fires for its trap model (sim/trap-GUARD) under the profile default with it, or with it alone. **controls**: it stays silent for a perfect,
  a weak, a strong and the trap model. **hurts**: set so, the model does worse than under the profile default: it fails, takes half as many tokens again, or half as
  much time.
- **responses** of a scripted tool: a call takes the first whose `+"`when`"+` fits its arguments and whose `+"`at_call`"+` holds its number; without one the first that fits and has no
  `+"`at_call`"+`, which with those of the very same `+"`when`"+` is a sequence over the calls. A call that nothing fits gets an error that says so. `+"`${name}`"+` is the argument of that name.
- **faults** of tools: %s. Of the model's endpoint: %s. Without `+"`at_call`, `at_turn`, `at_attempt`"+` every call.
- **permissions**: globs over workspace paths, relative or below /workspace/. `+"`*` and `?`"+` stay within a name, `+"`**`"+` is any number of names, and a glob covers what it matches and all
  below. An empty list allows everything in the workspace, `+"`deny`"+` wins. In `+"`commands`, `*`"+` is any text without the shell's operators.
  `+"`network`"+` is none or any.
- **approvals**: where the guard approval is on, the first entry that fits a call decides. Without `+"`decide`"+` nobody is there, and the request expires.
- **secrets**: of 8 bytes or more; they are overwritten, length kept, before the model or a session sees them.
- **user**: an answer without a call gets the first line that was not said yet and whose `+"`when`"+` fits it; without one it is the end.
- **seals**: globs relative to the workspace, without `+"`.` and `..`"+`; a seal over a folder is `+"`folder/**`"+`.
- **oracle.yaml**: %s

`, strings.Join(scenarios.FaultKinds, ", "), strings.Join(scenarios.ModelFaultKinds, ", "), docProse(t, "../../loop/model/sim/script.go", "// A fact holds once", "type Script struct"))
	b.WriteString("## The embedded set\n\n| scenario | summary | stresses | controls |\n|---|---|---|---|\n")
	for _, s := range all {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s | %s |\n", s.ID, s.ID, s.Summary, strings.Join(s.Stresses, ", "), strings.Join(s.Controls, ", "))
	}
	for _, s := range all {
		fmt.Fprintf(&b, "\n### %s\n\n%s.", s.ID, upper(strings.TrimSuffix(s.Summary, ".")))
		if len(s.Tags) > 0 {
			fmt.Fprintf(&b, " Tags: %s.", strings.Join(s.Tags, ", "))
		}
		if len(s.Stresses) > 0 {
			fmt.Fprintf(&b, " Stresses %s.", strings.Join(s.Stresses, ", "))
		}
		if len(s.Controls) > 0 {
			fmt.Fprintf(&b, " Controls %s.", strings.Join(s.Controls, ", "))
		}
		for i := range s.Hurts {
			h := &s.Hurts[i]
			fmt.Fprintf(&b, " With `%s` %s.", h.Setting(), map[string]string{"fail": "a model fails that passed", "tokens": "it takes half as many tokens again", "time": "it takes half as much time again"}[h.Shows()])
		}
		fmt.Fprintf(&b, "\n\n> %s\n", strings.ReplaceAll(strings.TrimRight(s.Instruction, "\n"), "\n", "\n> "))
	}
	return b.String()
}

// docComment is the indented block that follows a line of a Go comment.
func docComment(t *testing.T, file, after string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(data), after+"\n//\n")
	if !found {
		t.Fatalf("%s does not say %q", file, after)
	}
	var b strings.Builder
	for line := range strings.SplitSeq(rest, "\n") {
		text, ok := strings.CutPrefix(line, "//\t")
		if !ok {
			break
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}

// docProse is the text of a Go comment from its line that begins with one text up to
// the line that begins with the other, paragraphs as those of a list's entry.
func docProse(t *testing.T, file, from, to string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil {
		t.Fatal(err)
	}
	_, text, there := strings.Cut("\n"+string(data), "\n"+from)
	text, _, ends := strings.Cut(text, "\n"+to)
	if !there || !ends {
		t.Fatalf("%s: no comment from %q to %q", file, from, to)
	}
	lines := strings.Split(from+text, "\n")
	for i, l := range lines {
		if l = strings.TrimPrefix(strings.TrimPrefix(l, "//"), " "); i > 0 && l != "" {
			l = "  " + l
		}
		lines[i] = l
	}
	return strings.Join(lines, "\n")
}
