package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/spf13/pflag"

	"github.com/harnessbench/harnessbench/recorder/wire/canon"
	"github.com/harnessbench/harnessbench/replayer"
)

func recordDoc(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The agents of docs/record-replay.md are those that testdata/agents/check.sh records
// and replays, and its workflow is YAML.
func TestRecordReplayDocBlocks(t *testing.T) {
	doc := recordDoc(t, "docs", "record-replay.md")
	for head, file := range map[string]string{"```python\n# agent.py\n": "python/small.py", "```typescript\n// agent.ts\n": "typescript/small.ts"} {
		_, rest, _ := strings.Cut(doc, head)
		got, _, ok := strings.Cut(rest, "```\n")
		if want := recordDoc(t, "testdata", "agents", file); !ok || got != want {
			t.Errorf("the block of %s is not testdata/agents/%s; it has\n%s", strings.TrimSpace(head), file, got)
		}
	}
	_, rest, _ := strings.Cut(doc, "```yaml\n")
	text, _, _ := strings.Cut(rest, "```\n")
	var y struct {
		Jobs map[string]struct {
			Steps []struct{ Run, Uses string }
		}
	}
	if err := yaml.Unmarshal([]byte(text), &y); err != nil || len(y.Jobs["replay"].Steps) < 6 {
		t.Errorf("the workflow: %v, %+v", err, y)
	}
}

// Commands, flags, normalisers and verdicts of docs/record-replay.md exist.
func TestRecordReplayDocNames(t *testing.T) {
	doc := recordDoc(t, "docs", "record-replay.md")
	calls := 0
	for _, m := range regexp.MustCompile(`harnessbench ((?:record|replay|serve|show)\b[^\n`+"`"+`]*)`).FindAllStringSubmatch(doc, -1) {
		line, _, _ := strings.Cut(m[1], " -- ")
		if strings.HasPrefix(line, "replay:") {
			continue // a message
		}
		line, _, _ = strings.Cut(line, " --\x60")
		cmd, rest, err := newRoot(&app{}).Find(strings.Fields(line))
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err != nil && !errors.Is(err, pflag.ErrHelp) {
			t.Errorf("harnessbench %s: %v", line, err)
		}
		calls++
	}
	if calls < 12 {
		t.Errorf("only %d commands were found", calls)
	}
	for _, m := range regexp.MustCompile("`(--[a-z-]+)").FindAllStringSubmatch(doc, -1) {
		known := m[1] == "--no-git" // of another program
		for _, cmd := range newRoot(&app{}).Commands() {
			known = known || cmd.Flags().Lookup(strings.TrimPrefix(m[1], "--")) != nil
		}
		if !known {
			t.Errorf("no command has the flag %s", m[1])
		}
	}
	for _, name := range append(canon.Presets(), "home", "cwd", "tmp", "host", "date", "uuid", "result-order") {
		if !strings.Contains(doc, "`"+name+"`") {
			t.Errorf("the normaliser %s is not named", name)
		}
		if _, err := canon.Normalisers([]string{name}, canon.Env{Home: "/h", Cwd: "/w"}); err != nil {
			t.Errorf("the normaliser %s: %v", name, err)
		}
	}
	for _, v := range []replayer.Verdict{replayer.Exact, replayer.Normalised, replayer.Diverged, replayer.Exhausted, replayer.Unused, replayer.Noop} {
		row := regexp.MustCompile("(?m)^\\| `" + string(v) + "(?:\\(n\\))?` \\| (\\d) \\|").FindStringSubmatch(doc)
		if row == nil || row[1] != string(rune('0'+v.Exit())) {
			t.Errorf("%s: exit %d is not what the table says: %q", v, v.Exit(), row)
		}
	}
}
