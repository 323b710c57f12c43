package guard

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/internal/mutant"
)

// spillDir is where spilled results lie, relative to the workspace.
const spillDir = ".harness/spill/"

// harnessPrefix is how the agent spells the harness's own space.
const harnessPrefix = "/workspace/.harness/"

// spill keeps a large result in a file and leaves a preview.
type spill struct {
	over, preview int64
	readers       string // the tools that can read slices, for the marker
}

func newSpill(v []int64, env Env) Guard {
	s := &spill{over: v[0], preview: v[1]}
	var how []string
	if slices.Contains(env.Tools, "read_file") {
		how = append(how, "read slices of it with read_file (offset, limit)")
	}
	if slices.Contains(env.Tools, "grep") {
		how = append(how, "search it with grep (path, pattern)")
	}
	s.readers = strings.Join(how, " or ")
	return s
}

func (*spill) Listens() event.Kind { return event.KindToolResult }

func (s *spill) Step(ev event.Event) (Guard, Decision) {
	r, ok := ev.(*event.ToolResult)
	if !ok || int64(len(r.Shown)) <= s.over || readsHarness(r.Resources) {
		return s, Decision{}
	}
	path := spillPath(r)
	head := Head(r.Shown, int(s.preview))
	if mutant.Is("spill") && head != "" {
		head = Head(head, len(head)-1)
	}
	lines := strings.Count(r.Shown, "\n")
	if !strings.HasSuffix(r.Shown, "\n") {
		lines++
	}
	var b strings.Builder
	b.WriteString(head)
	fmt.Fprintf(&b, "\n[result of %d bytes in %d lines; only the first %d bytes are above]\nfull output: /workspace/%s\n",
		len(r.Shown), lines, len(head), path)
	if s.readers != "" {
		b.WriteString("[" + s.readers + "]\n")
	}
	return s, Decision{Act: "spill", On: r.Call.ID, Rewrite: b.String(), HasRewrite: true,
		Evidence: fmt.Sprintf("%d bytes to %s", len(r.Shown), path),
		Spill:    &Spill{Path: path, Data: r.Shown}}
}

func readsHarness(resources []string) bool {
	for _, r := range resources {
		if strings.HasPrefix(r, harnessPrefix) || r+"/" == harnessPrefix {
			return true
		}
	}
	return false
}

// spillPath is <lane>-<turn>-<index>-<tool>.{txt,json}: unique in the session,
// safe for any file system whatever the tool is called.
func spillPath(r *event.ToolResult) string {
	ext := "txt"
	if t := strings.TrimLeft(r.Shown, " \t\r\n"); strings.HasPrefix(t, "{") || strings.HasPrefix(t, "[") {
		if jsontext.Value(r.Shown).IsValid() {
			ext = "json"
		}
	}
	return fmt.Sprintf("%s%s-%d-%d-%s.%s", spillDir, laneName(r.Lane), r.Turn, r.Index, safeName(r.Call.Name), ext)
}

// laneName is a lane's part of a path. Turn and index stand behind it, so what ends
// like them gets a piece of its digest, or two lanes could write to one file.
func laneName(lane string) string {
	if !strings.Contains(lane, "-") {
		return safeName(lane)
	}
	sum := sha256.Sum256([]byte(lane))
	return safeName(strings.ReplaceAll(lane, "-", "_") + "_" + hex.EncodeToString(sum[:4]))
}

// safeName keeps letters, digits, '_' and '-'. A name that loses anything gets a
// piece of its digest, so that two odd names stay two.
func safeName(s string) string {
	safe := strings.Map(func(c rune) rune {
		if c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return c
		}
		return '_'
	}, s)
	if safe == s && len(s) <= 48 && s != "" {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return safe[:min(len(safe), 40)] + "_" + hex.EncodeToString(sum[:4])
}

// ceiling cuts what is still too large after spill.
type ceiling struct{ bytes int64 }

func newCeiling(v []int64, _ Env) Guard { return &ceiling{v[0]} }

func (*ceiling) Listens() event.Kind { return event.KindToolResult }

func (c *ceiling) Step(ev event.Event) (Guard, Decision) {
	r, ok := ev.(*event.ToolResult)
	if !ok || int64(len(r.Shown)) <= c.bytes {
		return c, Decision{}
	}
	head := Head(r.Shown, int(c.bytes))
	if mutant.Is("result_ceiling") {
		head = Head(r.Shown, int(c.bytes)-1)
	}
	cut := len(r.Shown) - len(head)
	return c, Decision{Act: "cut", On: r.Call.ID, HasRewrite: true,
		Evidence: fmt.Sprintf("%d of %d bytes", cut, len(r.Shown)),
		Rewrite:  fmt.Sprintf("%s\n[result cut: the last %d of %d bytes are not shown]", head, cut, len(r.Shown))}
}

// Head returns the first n bytes of s, fewer where that would split a UTF-8
// sequence.
func Head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// unknownTool turns the plain error into one that helps.
type unknownTool struct{ tools []string }

func newUnknownTool(_ []int64, env Env) Guard { return &unknownTool{slices.Clone(env.Tools)} }

func (*unknownTool) Listens() event.Kind { return event.KindToolResult }

func (u *unknownTool) Step(ev event.Event) (Guard, Decision) {
	r, ok := ev.(*event.ToolResult)
	if !ok || r.Outcome != event.UnknownTool {
		return u, Decision{}
	}
	// The name is the model's own and may be of any length; no later row cuts.
	name := Head(r.Call.Name, 64)
	text := fmt.Sprintf("unknown tool %q.", name)
	act := "list"
	if near, ok := Nearest(r.Call.Name, u.tools); ok && !mutant.Is("unknown_tool") {
		text += fmt.Sprintf(" did you mean %q?", near)
		act = "suggest"
	}
	text += " The tools are: " + strings.Join(u.tools, ", ") + "."
	return u, Decision{Act: act, On: r.Call.ID, Evidence: name, Rewrite: text, HasRewrite: true}
}

// Nearest returns the known name closest to name by Levenshtein distance, ties
// by order, when it is close: at most a third of the longer name's bytes, and
// at least one edit is allowed.
func Nearest(name string, known []string) (string, bool) {
	if len(name) > 128 {
		return "", false
	}
	best, dist := "", 1<<30
	for _, k := range known {
		if d := levenshtein(name, k); d < dist && d <= max(1, max(len(name), len(k))/3) {
			best, dist = k, d
		}
	}
	return best, best != ""
}

// levenshtein is the edit distance over bytes (Wagner and Fischer 1974).
func levenshtein(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diag := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			sub := diag
			if a[i-1] != b[j-1] {
				sub++
			}
			diag = row[j]
			row[j] = min(sub, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
