package report

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/results"
)

var update = flag.Bool("update", false, "write golden files")

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update to write it)", err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s differs (-want +got); run with -update if the change is meant:\n%s", path, d)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func compute(t *testing.T, meta Meta, rows []results.Trial) *Summary {
	t.Helper()
	s, err := Compute(meta, rows, nil)
	must(t, err)
	return s
}

func text(t *testing.T, s *Summary, o TextOptions) string {
	t.Helper()
	var b bytes.Buffer
	must(t, s.WriteText(&b, o))
	return b.String()
}

func TestGolden(t *testing.T) {
	s := compute(t, fixtureMeta(), fixture())
	dir := t.TempDir()
	must(t, WriteFiles(dir, s))
	for _, name := range []string{JSONFile, MarkdownFile} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		golden(t, filepath.Join("testdata", name), got)
	}
	golden(t, "testdata/report.txt", []byte(text(t, s, TextOptions{})))
	golden(t, "testdata/report-all.txt", []byte(text(t, s, TextOptions{All: true})))
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("folder holds %v, %v; want the two reports", entries, err)
	}
}

// TestOrderDoesNotMatter: trials finish in any order.
func TestOrderDoesNotMatter(t *testing.T) {
	rows := fixture()
	want := compute(t, fixtureMeta(), rows)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		if d := cmp.Diff(want, compute(t, fixtureMeta(), rows)); d != "" {
			t.Fatalf("summary depends on the order of rows:\n%s", d)
		}
	}
}

// TestFitsTheTerminal: names and reasons of any length.
func TestFitsTheTerminal(t *testing.T) {
	meta, rows := fixtureMeta(), fixture()
	long := "without-" + strings.Repeat("a-guard-whose-name-nobody-can-remember-", 5)
	meta.Arms = append(meta.Arms, long)
	for _, r := range rows {
		if r.Arm == "none" {
			r.Arm = long
			rows = append(rows, r)
		}
	}
	rows[0].Errored, rows[0].ErrorClass, rows[0].Verdict, rows[0].Score = true, ptr(results.ErrorInternal), results.Ungraded, nil
	rows[0].ErrorText = ptr(strings.Repeat("x", 500))
	for i := range rows {
		rows[i].Suite = long
		if rows[i].Model == "sim/strong" {
			rows[i].Model = "sim/" + long
		}
	}
	meta.Suite, meta.RunID = long, long
	meta.Comparisons = append(meta.Comparisons, Comparison{Base: long, Arm: "default"}, Comparison{Guard: "stuck", Base: long, Arm: "default"})
	for i, line := range strings.Split(text(t, compute(t, meta, rows), TextOptions{All: true}), "\n") {
		if n := len([]rune(line)); n > width {
			t.Errorf("line %d has %d columns: %s", i+1, n, line)
		}
	}
}
