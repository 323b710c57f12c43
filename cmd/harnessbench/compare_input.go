package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/ablations"
	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/compare"
	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/results/importer"
	"github.com/harnessbench/harnessbench/results/parquet"
)

// compareMemory is what the garbage collector lets compare grow to before it works
// harder, in bytes: a million trials stay well below 1 GiB.
const compareMemory = 700 << 20

// readInputs reads runs and tables. notes say what a reader has to know of them.
func readInputs(a *app, paths []string, opt importer.TableOptions, metric string) (inputs []compare.Input, notes []string, err error) {
	limitMemory(compareMemory)
	if len(paths) == 2 && paths[0] == "-" && paths[1] == "-" {
		return nil, nil, cli.Usagef("save one into a file", "both inputs are stdin")
	}
	names := inputNames(paths)
	tables := 0
	for i, path := range paths {
		in, n, isTable, err := readInput(a, path, names[i], opt)
		if err != nil {
			return nil, nil, err
		}
		if isTable {
			tables++
		}
		if metric == compare.Score && !slices.ContainsFunc(in.Rows, func(r importer.TableRow) bool { return !math.IsNaN(r.Score) }) {
			return nil, nil, cli.Usagef("name its column with --columns score=NAME, or leave --metric score out", "%s has no scores", path)
		}
		inputs, notes = append(inputs, in), append(notes, n...)
	}
	if tables == 0 && (len(opt.Columns) > 0 || opt.PassAt != nil) {
		return nil, nil, cli.Usagef("leave them out: a run has one meaning", "--columns and --pass-at are for tables")
	}
	return inputs, notes, nil
}

// readInput reads one run or table.
func readInput(a *app, path, name string, opt importer.TableOptions) (in compare.Input, notes []string, isTable bool, err error) {
	if path != "-" {
		info, err := os.Stat(path)
		if err != nil {
			return in, nil, false, cli.WithCode(cli.Wrong, err)
		}
		if info.IsDir() {
			in, notes, err = readRun(path, name)
			return in, notes, false, err
		}
	}
	t, err := importer.ReadTable(path, opt)
	if err != nil {
		var bad *importer.InputError
		if errors.As(err, &bad) {
			return in, nil, true, &cli.Exit{Code: cli.Wrong, Err: err, Hint: "docs/compare.md says what a table is"}
		}
		return in, nil, true, cli.WithCode(cli.Wrong, err)
	}
	if len(t.Taken) > 0 {
		fmt.Fprintf(a.stderr, "%s: columns: %s\n", cli.SanitizeLine(t.Path), cli.SanitizeLine(strings.Join(t.Taken, ", ")))
	}
	if len(t.Ignored) > 0 {
		fmt.Fprintf(a.stderr, "%s: columns not used: %s\n", cli.SanitizeLine(t.Path), cli.SanitizeLine(strings.Join(t.Ignored, ", ")))
	}
	in = compare.Input{Name: name, Rows: t.Rows, Harms: map[string]bool{}}
	for i := range t.Rows {
		if t.Rows[i].Harms {
			in.Harms[t.Rows[i].Scenario] = true
		}
	}
	in.Models, in.Arms = appearance(t.Rows)
	return in, nil, true, nil
}

// appearance lists models and arms in the order in which a table has them.
func appearance(rows []importer.TableRow) (models, arms []string) {
	firstModel, firstArm := map[string]int32{}, map[string]int32{}
	note := func(m map[string]int32, name string, line int32) {
		if at, ok := m[name]; !ok || line < at {
			m[name] = line
		}
	}
	for i := range rows {
		note(firstModel, rows[i].Model, rows[i].Line)
		note(firstArm, rows[i].Arm, rows[i].Line)
	}
	return byValue(firstModel), byValue(firstArm)
}

func byValue(m map[string]int32) []string {
	var out []string
	for name := range m {
		out = append(out, name)
	}
	slices.SortFunc(out, func(a, b string) int { return int(m[a]) - int(m[b]) })
	return out
}

// readRun reads a run folder: the journal, or where there is none the table.
func readRun(dir, name string) (compare.Input, []string, error) {
	in := compare.Input{Name: name, Simulated: map[string]bool{}, Harms: map[string]bool{}, Digests: map[string]string{}}
	lock, _, err := design.ReadLock(filepath.Join(dir, design.LockFile))
	switch {
	case err == nil:
		in.Seed, in.Repetitions, in.Models = lock.Seed, lock.Repetitions, lock.Models
		for _, a := range lock.Arms {
			in.Arms = append(in.Arms, a.Name)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return in, nil, cli.WithCode(cli.Wrong, err)
	}
	err = eachTrial(dir, newRunRows(&in).add)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return in, nil, cli.Usagef("name the folder that run printed, or a table", "%s is no run folder: it has neither %s nor parquet/%s", dir, results.JournalFile, parquet.TrialsFile)
	case err != nil:
		return in, nil, cli.WithCode(cli.CannotJudge, err)
	case len(in.Rows) == 0:
		return in, nil, &cli.Exit{Code: cli.CannotJudge, Err: fmt.Errorf("%s has no trials", dir), Hint: "take the run up with run --resume"}
	}
	importer.SortRows(in.Rows)
	var notes []string
	if n := planned(dir, lock); len(in.Rows) < n {
		notes = append(notes, fmt.Sprintf("UNFINISHED: %d of %d planned trials of %s have been run; the numbers are of these alone", len(in.Rows), n, name))
	}
	return in, notes, nil
}

// eachTrial reads the trials of a run folder one at a time.
func eachTrial(dir string, do func(*results.Trial) error) error {
	err := eachEntry(filepath.Join(dir, results.JournalFile), do)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, err = parquet.ScanTrials(filepath.Join(dir, ablations.ParquetDir, parquet.TrialsFile), func(batch []results.Trial) error {
		for i := range batch {
			if err := do(&batch[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// runRows takes in the trials of a run.
type runRows struct {
	in    *compare.Input
	names map[string]string
}

func newRunRows(in *compare.Input) *runRows { return &runRows{in, map[string]string{}} }

func (r *runRows) name(s string) string {
	if v, ok := r.names[s]; ok {
		return v
	}
	s = strings.Clone(s) // it may be a part of a larger text
	r.names[s] = s
	return s
}

func (r *runRows) add(t *results.Trial) error {
	row := tableRow(t)
	row.Scenario, row.Model, row.Arm = r.name(row.Scenario), r.name(row.Model), r.name(row.Arm)
	r.in.Rows = append(r.in.Rows, row)
	r.in.Simulated[row.Model] = t.Simulated
	if _, seen := r.in.Digests[row.Scenario]; !seen {
		r.in.Digests[row.Scenario] = strings.Clone(t.ScenarioDigest)
		r.in.Scenarios = append(r.in.Scenarios, row.Scenario)
	}
	if t.Harms {
		r.in.Harms[row.Scenario] = true
	}
	return nil
}

// tableRow keeps of a trial what a comparison needs.
func tableRow(t *results.Trial) importer.TableRow {
	r := importer.TableRow{Scenario: t.Scenario, Model: t.Model, Arm: t.Arm, Repetition: int64(t.Repetition), Errored: t.Errored,
		Score: math.NaN(), CostUSD: math.NaN(), DurationS: math.NaN(), Tokens: -1}
	if t.Graded() {
		r.Verdict = importer.TableFail
		if t.Verdict == results.Pass {
			r.Verdict = importer.TablePass
		}
	}
	if t.Score != nil {
		r.Score = *t.Score
	}
	if t.CostUSD != nil {
		r.CostUSD = *t.CostUSD
	}
	if t.InputUncached != nil && t.CacheRead != nil && t.CacheWrite != nil && t.Output != nil {
		r.Tokens = *t.InputUncached + *t.CacheRead + *t.CacheWrite + *t.Output
	}
	if t.ModelUS != nil && t.ToolUS != nil && t.WaitUS != nil {
		r.DurationS = float64(*t.ModelUS+*t.ToolUS+*t.WaitUS) / 1e6
	}
	return r
}

// inputNames gives inputs short names that tell them apart: as many of the last parts
// of their paths as that takes.
func inputNames(paths []string) []string {
	names := make([]string, len(paths))
	if len(paths) == 2 && filepath.Clean(paths[0]) == filepath.Clean(paths[1]) {
		name := shortName(paths[0], 1)
		return []string{name, name + "#2"}
	}
	for parts := 1; parts <= 8; parts++ {
		for i, p := range paths {
			names[i] = shortName(p, parts)
		}
		if len(names) < 2 || names[0] != names[1] {
			return names
		}
	}
	names[1] += "#2"
	return names
}

func shortName(path string, parts int) string {
	if path == "-" {
		return "stdin"
	}
	all := strings.Split(filepath.ToSlash(filepath.Clean(path)), "/")
	name := strings.Join(all[max(0, len(all)-parts):], "/")
	if abs, err := filepath.Abs(path); err == nil && (name == "." || name == "..") {
		name = filepath.Base(abs)
	}
	for _, ext := range []string{".gz", ".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".txt"} {
		if s := strings.TrimSuffix(name, ext); s != "" {
			name = s
		}
	}
	return name
}

// baseNames completes --base: the arms of a run folder.
func baseNames(args []string) []string {
	if len(args) != 1 {
		return nil
	}
	lock, _, err := design.ReadLock(filepath.Join(args[0], design.LockFile))
	if err != nil {
		return nil
	}
	var out []string
	for _, a := range lock.Arms {
		out = append(out, a.Name)
	}
	for _, m := range lock.Models {
		for _, a := range lock.Arms {
			out = append(out, m+"/"+a.Name)
		}
	}
	return out
}
