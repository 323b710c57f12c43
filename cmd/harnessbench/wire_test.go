package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

func TestVariablesOfACommand(t *testing.T) {
	env := []string{"A=1", "OPENAI_BASE_URL=http://old", "OPENAI_API_KEY=real", "NO_PROXY=corp.example", "B=a=b"}
	for _, dummy := range []bool{false, true} {
		got := wireEnv(env, "http://127.0.0.1:9", dummy)
		want := map[string]string{"A": "1", "B": "a=b", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_BASE": "http://127.0.0.1:9/v1",
			"ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "NO_PROXY": "corp.example,127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost", "OPENAI_API_KEY": "real"}
		if dummy {
			want["OPENAI_API_KEY"], want["ANTHROPIC_API_KEY"] = dummyKey, dummyKey
		}
		have := map[string]string{}
		for _, kv := range got {
			name, value, _ := strings.Cut(kv, "=")
			if _, twice := have[name]; twice {
				t.Errorf("%s stands twice", name)
			}
			have[name] = value
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("dummy %t (-want +got):\n%s", dummy, diff)
		}
	}
	if env[1] != "OPENAI_BASE_URL=http://old" {
		t.Error("the caller's list was changed")
	}
}

func TestSecretsOfTheEnvironment(t *testing.T) {
	got := secretsOf([]string{"OPENAI_API_KEY=k1", "github_token=k2", "HOME=/root", "AWS_SECRET=k3", "DB_PASSWORD=k4", "KEY_FILE=x", "X_TOKENS=y"})
	if want := []string{"k1", "k2", "k3", "k4"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestNamesOfRecordings(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "my agent.py")
	if err := os.WriteFile(script, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		argv []string
		want string
	}{
		{[]string{"agent"}, "agent"},
		{[]string{"/usr/bin/agent.sh", "x"}, "agent"},
		{[]string{"python", "-u", script, "task"}, "my-agent"},
		{[]string{"node", filepath.Join(dir, "none.js")}, "node"},
		{[]string{"...", dir}, "command"},
		{[]string{"\u202e../x\n"}, "x-"},
	} {
		if got := commandName(tt.argv); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.argv, got, tt.want)
		}
	}
}

func TestInCI(t *testing.T) {
	for value, want := range map[string]bool{"": false, "0": false, "false": false, "true": true, "1": true, "woodpecker": true} {
		t.Setenv("CI", value)
		if inCI() != want {
			t.Errorf("CI=%q: %t", value, !want)
		}
	}
}

// Every embedded scenario is known by its task, also with white space around it
// and where an agent wraps it in words of its own; its model is the trial's.
func TestTasksAreKnown(t *testing.T) {
	c, err := newCatalogue(nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := builtin.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, sc := range all {
		for _, text := range []string{sc.Instruction, "\n " + strings.TrimSpace(sc.Instruction) + "\r\n", "Your task:\n<task>\n" + strings.TrimSpace(sc.Instruction) + "\n</task>\nBe brief."} {
			got, ok := c.find(text)
			if !ok && len(strings.TrimSpace(sc.Instruction)) < shortTask && strings.Contains(text, "<task>") {
				continue
			}
			if !ok || got != sc.Digest {
				t.Errorf("%s: %q is taken for %q", sc.ID, text, got)
			}
		}
		m, err := c.model(sc.Digest, "sim/strong", 7)
		if err != nil || m.ID() != "sim/strong" {
			t.Errorf("%s: %v", sc.ID, err)
		}
		if _, err := trial.Simulated(sc, "sim/none", 7); err == nil {
			t.Error("an unknown profile makes a model")
		}
	}
	for _, text := range []string{"", "hello", strings.Repeat("x", 1000)} {
		if got, ok := c.find(text); ok {
			t.Errorf("%q is taken for %s", text, got)
		}
	}
	if _, err := c.model("none", "sim/strong", 7); err == nil {
		t.Error("an unknown scenario has a model")
	}
}
