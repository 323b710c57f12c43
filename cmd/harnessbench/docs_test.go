package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/spf13/pflag"
)

var yamlBlocks = regexp.MustCompile("(?s)```yaml\n# (\\S+)\n(.*?)```")

// The workflows of docs/ci.md are YAML of the shape that GitHub or GitLab reads,
// need no secret, and call harnessbench as it is.
func TestWorkflows(t *testing.T) {
	doc := docFile(t, "ci.md")
	kinds := map[string]int{}
	for _, m := range yamlBlocks.FindAllStringSubmatch(doc, -1) {
		name, text := m[1], m[2]
		var y map[string]any
		if err := yaml.UnmarshalWithOptions([]byte(text), &y, yaml.Strict(), yaml.DisallowUnknownField()); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		// Only a run on a schedule may have a key: a pull request never does.
		scheduled := strings.Contains(text, "\n  schedule:") && !strings.Contains(text, "pull_request")
		if !scheduled && (strings.Contains(text, "secrets.") || strings.Contains(text, "_API_KEY")) {
			t.Errorf("%s: replaying needs no secret", name)
		}
		dir := filepath.Dir(name)
		kinds[dir]++
		switch dir {
		case ".github/workflows":
			gitHubWorkflow(t, name, y)
		case ".":
			gitLabJobs(t, name, y)
		default:
			t.Errorf("%s is no place for a workflow", name)
		}
		for _, line := range scripts(y) {
			calls(t, name, line)
			if strings.Contains(line, "--normalise") {
				t.Errorf("%s: %s: what does not count is declared when it is recorded", name, line)
			}
		}
	}
	if kinds[".github/workflows"] < 3 || kinds["."] < 2 || strings.Count(doc, "```yaml\n") != kinds[".github/workflows"]+kinds["."] {
		t.Errorf("workflows: %v", kinds)
	}
	for _, want := range []string{"replay --serve", "reports:\n      junit: replay.xml", "actions/cache@", "upload-artifact@", "record --name agent --normalise "} {
		if !strings.Contains(doc, want) {
			t.Errorf("docs/ci.md lacks %q", want)
		}
	}
}

func docFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// gitHubWorkflow checks what GitHub would refuse.
func gitHubWorkflow(t *testing.T, name string, y map[string]any) {
	t.Helper()
	jobs, ok := y["jobs"].(map[string]any)
	if y["on"] == nil || y["permissions"] == nil || !ok || len(jobs) == 0 {
		t.Errorf("%s: on, permissions and jobs are needed", name)
	}
	for id, j := range jobs {
		job, _ := j.(map[string]any)
		steps, ok := job["steps"].([]any)
		if job["runs-on"] == nil || job["timeout-minutes"] == nil || !ok {
			t.Errorf("%s: job %s needs runs-on, timeout-minutes and steps", name, id)
		}
		for i, s := range steps {
			step, _ := s.(map[string]any)
			uses, used := step["uses"].(string)
			_, run := step["run"].(string)
			if used == run {
				t.Errorf("%s: step %d of %s has to use or to run something", name, i+1, id)
			}
			if used && !regexp.MustCompile(`^actions/[a-z-]+@v\d+$`).MatchString(uses) {
				t.Errorf("%s: %s names no version", name, uses)
			}
			for key := range step {
				if !strings.Contains(" id if name uses run with env ", " "+key+" ") {
					t.Errorf("%s: step %d of %s has the key %s", name, i+1, id, key)
				}
			}
		}
	}
}

// gitLabJobs checks what GitLab would refuse.
func gitLabJobs(t *testing.T, name string, y map[string]any) {
	t.Helper()
	for id, j := range y {
		job, ok := j.(map[string]any)
		if _, script := job["script"].([]any); !ok || !script || job["image"] == nil {
			t.Errorf("%s: job %s needs image and script", name, id)
		}
		for key := range job {
			if !strings.Contains(" stage image timeout variables cache script artifacts needs ", " "+key+" ") {
				t.Errorf("%s: job %s has the key %s", name, id, key)
			}
		}
	}
}

// scripts gathers the command lines of a workflow.
func scripts(v any) (out []string) {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			out = append(out, scripts(e)...)
		}
	case []any:
		for _, e := range v {
			out = append(out, scripts(e)...)
		}
	case string:
		out = strings.Split(v, "\n")
	}
	return out
}

// The command lines of the documentation exist, with their flags.
func TestDocumentedCommands(t *testing.T) {
	block := regexp.MustCompile("(?s)```(?:sh|text|yaml)\n(.*?)```")
	span := regexp.MustCompile("`(harnessbench [^`\n]+)`")
	n := 0
	for _, name := range []string{"replay.md", "sessions.md", "ci.md"} {
		doc := docFile(t, name)
		for _, m := range block.FindAllStringSubmatch(doc, -1) {
			for line := range strings.Lines(m[1]) {
				n += calls(t, name, line)
			}
		}
		for _, m := range span.FindAllStringSubmatch(doc, -1) {
			n += calls(t, name, m[1])
		}
	}
	if n < 15 {
		t.Errorf("only %d command lines were found", n)
	}
}

var call = regexp.MustCompile(`(?:^|[\s/])harnessbench ((?:[a-z]+)\b.*)`)

// calls checks a line that calls harnessbench against the commands; it returns
// how many it found.
func calls(t *testing.T, where, line string) int {
	t.Helper()
	m := call.FindStringSubmatch(line)
	if m == nil {
		return 0
	}
	args := m[1]
	for _, end := range []string{" #", " |", " >", " -- "} {
		args, _, _ = strings.Cut(args, end)
	}
	if err := parses(strings.Fields(args)); err != nil {
		t.Errorf("docs/%s: harnessbench %s: %v", where, args, err)
	}
	return 1
}

// parses finds the command of a command line and reads its flags.
func parses(args []string) error {
	root := newRoot(&app{})
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if cmd == root {
		return fmt.Errorf("no such command")
	}
	if err := cmd.ParseFlags(rest); !errors.Is(err, pflag.ErrHelp) {
		return err
	}
	return nil
}
