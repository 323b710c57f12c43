//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/workspace"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/scenarios"
)

// fetchedModel is a model that fetches a page in every turn and reads none.
type fetchedModel struct{ id string }

func (f fetchedModel) ID() string { return f.id }

func (f fetchedModel) Generate(context.Context, *model.Request, func(model.Delta)) (*model.Response, error) {
	return &model.Response{Items: []model.Item{{Type: model.CallItem, Call: model.ToolCall{Name: "fetch", Args: "{}"}}},
		Finish: model.FinishCalls, Usage: model.Usage{InputUncached: 100, Output: 10}, Elapsed: time.Millisecond}, nil
}

// longSession records one session of about size bytes, all guards on, each turn
// with a result of 16 KiB. It keeps no part of the conversation, so that the test
// stays small.
func longSession(t *testing.T, path string, size int64) (turns int) {
	t.Helper()
	const page = 16 << 10
	turns = int(size / (page + 900))
	var b strings.Builder
	fmt.Fprintf(&b, "-- scenario.yaml --\nschema: harnessbench/scenario/v1\nid: pages\nsummary: one call a turn\nlimits: {turns: %d, tool_calls: %d, wall: 600h}\n"+
		"tools:\n- name: fetch\n  kind: mock\n  description: Fetches the next page.\n  takes: 5ms\n  cycle: true\n  responses:\n", turns, turns)
	for i := range 8 {
		fmt.Fprintf(&b, "  - {text: %q}\n", strings.Repeat(fmt.Sprintf("%d page. ", i), page/8))
	}
	b.WriteString("graders:\n- {type: contains, want: x}\n-- instruction.md --\nFetch all pages.\n-- oracle.yaml --\nrules: [{id: a, do: {say: unused}}]\n")
	sc, err := scenarios.LoadTxtar("pages", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	set := guard.MustProfile(guard.ProfileFull)
	for _, name := range []string{"monotony", "goal_reminder", "dedupe"} { // they end what does nothing else, or take the bytes away
		if set, err = set.With(name, guard.Off); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range [][3]string{{"limits", "turns", fmt.Sprint(turns)}, {"limits", "calls", fmt.Sprint(turns)}, {"run_deadline", "total", "700h"}} {
		if set, err = set.WithParam(p[0], p[1], p[2]); err != nil {
			t.Fatal(err)
		}
	}
	spec := trial.Spec{Scenario: sc, Model: "sim/oracle", Arm: "full", Guards: set, Seed: 1}
	o := trial.Options{Session: path, Sync: session.SyncNever, Drive: func(d *loop.Deps, _ *session.Header, _ workspace.Workspace) error {
		d.Model, d.Forget = fetchedModel{d.Model.ID()}, true
		return nil
	}}
	if _, err := trial.Run(context.Background(), spec, o); err != nil {
		t.Fatal(err)
	}
	return turns
}

// TestLongSession reads a session of 64 MiB, or of the size that
// HARNESSBENCH_LONG_MIB says, by each command: memory does not grow with it, or by
// a small share.
func TestLongSession(t *testing.T) {
	mib := int64(64)
	if s := os.Getenv("HARNESSBENCH_LONG_MIB"); s != "" {
		if _, err := fmt.Sscan(s, &mib); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	bin := program(t, dir)
	path := filepath.Join(dir, "long"+session.Suffix)
	turns := longSession(t, path, mib<<20)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d MiB, %d turns", info.Size()>>20, turns)
	for _, args := range [][]string{{"replay", "-q", path}, {"verify", "-q", path}, {"show", "-q", path}, {"show", "-q", "--turn", fmt.Sprint(turns / 2), path}, {"diff", "-q", path, path}} {
		m := measure(t, 10*time.Minute, bin, args...)
		if m.code != 0 {
			t.Errorf("%s: exit %d: %s%s", args[0], m.code, cut(m.out), cut(m.errs))
		}
		most := int64(64 << 20)
		if args[0] == "verify" || args[0] == "diff" {
			most += info.Size() / 16 // they keep some digests of every part and turn
		}
		if m.resident > most {
			t.Errorf("%s: %d MiB resident", args[0], m.resident>>20)
		}
		t.Logf("%s: %s wall, %s CPU, %d MiB resident", strings.Join(args[:len(args)-1], " "), m.wall.Round(time.Millisecond), m.cpu.Round(time.Millisecond), m.resident>>20)
	}
}

// TestManySessions reads ten thousand sessions in one command, with room for 256
// open files.
func TestManySessions(t *testing.T) {
	const many = 10_000
	dir := t.TempDir()
	bin := program(t, dir)
	good, err := os.ReadFile(filepath.Join(corpusGood, "brief"+session.Suffix))
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "sessions")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range many {
		name := filepath.Join(folder, fmt.Sprintf("%05d%s", i, session.Suffix))
		if i%1000 == 0 { // links, but not more of one file than a file system allows
			err = os.WriteFile(name, good, 0o644)
		} else {
			err = os.Link(filepath.Join(folder, fmt.Sprintf("%05d%s", i/1000*1000, session.Suffix)), name)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, cmd := range []string{"replay", "verify"} {
		m := measure(t, 5*time.Minute, "/bin/sh", "-c", `ulimit -n 256 && exec "$0" "$@"`, bin, cmd, "-q", folder)
		if m.code != 0 || !strings.Contains(m.out, "10000") && !strings.Contains(m.out, "10,000") {
			t.Errorf("%s: exit %d: %s%s", cmd, m.code, cut(m.out), cut(m.errs))
		}
		if m.resident > 128<<20 {
			t.Errorf("%s: %d MiB resident", cmd, m.resident>>20)
		}
		t.Logf("%s: %s wall, %s CPU, %d MiB resident: %s", cmd, m.wall.Round(time.Millisecond), m.cpu.Round(time.Millisecond), m.resident>>20, strings.TrimSpace(m.out))
	}
}
