package replaytest

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/replayer"
)

// The flag is shared with other packages of golden files, whoever defines it
// first. A test package with an -update flag of its own asks flag.Lookup first, as
// is done here, or uses Update.
func init() {
	if flag.Lookup("update") == nil {
		flag.Bool("update", false, "record sessions again where they differ, and golden files")
	}
}

// Update reports whether the tests are run with -update.
func Update() bool {
	f := flag.Lookup("update")
	if f == nil {
		return false
	}
	g, ok := f.Value.(flag.Getter)
	if !ok {
		return false
	}
	set, _ := g.Get().(bool)
	return set
}

// blank reports whether there is no recording at path yet: no file, or an empty
// one.
func blank(path string) bool {
	info, err := os.Stat(path)
	return err != nil || info.Size() == 0
}

// need ends a test that has no recording.
func need(t testing.TB, path string) {
	t.Helper()
	t.Fatalf("%s: there is no recording; make it with: go test -run '^%s$' -update", path, t.Name())
}

// describe writes a report for a test's log.
func describe(r *replayer.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s", r.Verdict, r.Path, r.Reason)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "\n  %-9s %s", name, strings.ReplaceAll(strings.TrimRight(value, "\n"), "\n", "\n            "))
		}
	}
	if c, ok := replayer.Explain(string(r.Code)); ok {
		row(string(c.Code), c.Title)
	}
	if d := r.Divergence; d != nil {
		if d.Diff != "" {
			row("diff", d.Diff)
		} else {
			row("recorded", d.Recorded)
			row("now", d.Actual)
		}
		row("hint", d.Hint)
		row("after", d.After)
		row("more", d.Show)
	}
	return b.String()
}
