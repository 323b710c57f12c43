package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/compare"
	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/results/importer"
	"github.com/harnessbench/harnessbench/results/report"
)

// output runs a command line that has to end with a code.
func output(t *testing.T, code int, args ...string) (stdout string) {
	t.Helper()
	var out, errs bytes.Buffer
	if got := run(context.Background(), &out, &errs, args); got != code {
		t.Fatalf("%q: exit %d, want %d: %s", args, got, code, errs.String())
	}
	return out.String()
}

const comparedSuite = `schema: harnessbench/suite/v1
name: compared
scenarios: [builtin/*]
models: [sim/weak, sim/strong]
arms: [{name: none, profile: none}, {name: default}, {name: full, profile: full}]
repetitions: 3
`

// What compare says of a run is what its report says.
func TestCompareEqualsReport(t *testing.T) {
	dir := t.TempDir()
	suite, runDir := filepath.Join(dir, "suite.yaml"), filepath.Join(dir, "run")
	if err := os.WriteFile(suite, []byte(comparedSuite), 0o600); err != nil {
		t.Fatal(err)
	}
	output(t, 0, "run", "-q", suite, "-o", runDir, "--fsync", "never")
	lock, raw, err := design.ReadLock(filepath.Join(runDir, design.LockFile))
	if err != nil {
		t.Fatal(err)
	}
	var rows []results.Trial
	err = eachTrial(runDir, func(tr *results.Trial) error { rows = append(rows, *tr); return nil })
	if err != nil {
		t.Fatal(err)
	}
	meta := reportMeta(lock, results.RunID(lock.Name, raw))
	meta.Comparisons = []report.Comparison{{Base: "none", Arm: "default", Margin: 0.1}, {Base: "none", Arm: "full", Margin: 0.1}}
	want, err := report.Compute(meta, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got compare.Report
	if err := json.Unmarshal([]byte(output(t, 0, "compare", runDir, "--base", "none", "--margin", "0.1", "--json")), &got); err != nil {
		t.Fatal(err)
	}
	samePool(t, compare.Pool{Arms: got.Arms, Comparisons: got.Comparisons}, want.Main)
	if got.Harms == nil || want.Harms == nil {
		t.Fatal("no pool of harms")
	}
	samePool(t, *got.Harms, *want.Harms)

	// The table alone keeps scenarios tagged harms apart, too.
	var table compare.Report
	if err := json.Unmarshal([]byte(output(t, 0, "compare", filepath.Join(runDir, "parquet", "trials.parquet"), "--base", "none", "--margin", "0.1", "--json")), &table); err != nil {
		t.Fatal(err)
	}
	if table.Harms == nil {
		t.Fatal("the table has no pool of harms")
	}
	for _, pools := range [][2][]compare.Comparison{{got.Comparisons, table.Comparisons}, {got.Harms.Comparisons, table.Harms.Comparisons}} {
		for _, c := range pools[0] {
			i := slices.IndexFunc(pools[1], func(o compare.Comparison) bool { return c.A == o.A && c.B == o.B })
			if i < 0 || *c.Diff != *pools[1][i].Diff || *c.PAdjusted != *pools[1][i].PAdjusted {
				t.Errorf("%s -> %s is another comparison in the table alone", c.A, c.B)
			}
		}
	}

	// A base on another model: paired by scenario alone.
	meta.Comparisons = []report.Comparison{{Base: "none", Arm: "default", BaseModel: "sim/strong", ArmModel: "sim/weak"}}
	if want, err = report.Compute(meta, rows, nil); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(output(t, 0, "compare", runDir, "--base", "sim/strong/none", "--json")), &got); err != nil {
		t.Fatal(err)
	}
	for _, c := range got.Comparisons {
		if c.B == "sim/weak/default" {
			sameComparison(t, c, want.Main.Comparisons[0])
			return
		}
	}
	t.Error("sim/weak/default was not compared with sim/strong/none")
}

func samePool(t *testing.T, got compare.Pool, want report.Section) {
	t.Helper()
	if len(got.Arms) != len(want.Arms) || len(got.Comparisons) != len(want.Comparisons) || len(want.Comparisons) == 0 {
		t.Fatalf("%d arms, %d comparisons, want %d, %d", len(got.Arms), len(got.Comparisons), len(want.Arms), len(want.Comparisons))
	}
	arms := map[string]compare.Arm{}
	for _, a := range got.Arms {
		arms[*a.Model+"/"+*a.Arm] = a
	}
	for _, w := range want.Arms {
		// Every member that both have, by name, is the same to the last bit.
		a, b := members(t, arms[w.Model+"/"+w.Arm]), members(t, w)
		for name, v := range a {
			if other, ok := b[name]; ok && !reflect.DeepEqual(v, other) && name != "warnings" {
				t.Errorf("%s/%s: %s is %v, the report has %v", w.Model, w.Arm, name, v, other)
			}
		}
		for _, name := range strings.Fields("rate ci ci_method ci_naive se_clustered se_naive pass_hat pass_at icc tokens cost_usd cost_of_pass cost_of_pass_ci") {
			if _, ok := b[name]; !ok {
				t.Errorf("the report has no %s", name)
			}
		}
	}
	for _, w := range want.Comparisons {
		for _, c := range got.Comparisons {
			if c.A == w.Model+"/"+w.Base && c.B == w.Model+"/"+w.Arm {
				sameComparison(t, c, w)
				if !reflect.DeepEqual(c.PAdjusted, w.Test.Adjusted) {
					t.Errorf("%s -> %s: adjusted p %v, the report has %v", c.A, c.B, *c.PAdjusted, *w.Test.Adjusted)
				}
			}
		}
	}
}

func sameComparison(t *testing.T, c compare.Comparison, w report.Contrast) {
	t.Helper()
	for _, x := range []struct {
		name      string
		got, want any
	}{
		{"diff", c.Diff, w.OverAll.Value}, {"ci", c.CI, pairOf(w.OverAll)}, {"ci_method", c.CIMethod, w.OverAll.Method},
		{"test", c.Test, w.Test.Test}, {"p", c.P, w.Test.P}, {"cost ratio", c.CostRatio, w.CostRatio.Estimate.Value},
		{"cost of a pass ratio", c.PassRatio, w.PerPassRatio.Estimate.Value}, {"its upper end", open(c.PassRatioCI), w.PerPassRatio.Estimate.Hi},
		{"cost of a pass, a", c.CostOfPassA, w.A.CostOfPass.USD}, {"cost of a pass, b", c.CostOfPassB, w.B.CostOfPass.USD},
	} {
		if !reflect.DeepEqual(x.got, x.want) && !closeTo(x.got, x.want) {
			a, _ := json.Marshal(x.got)
			b, _ := json.Marshal(x.want)
			t.Errorf("%s -> %s: %s is %s, the report has %s", c.A, c.B, x.name, a, b)
		}
	}
	if w.BaseModel == "" && (c.Helped != w.Flips.Helped || c.Hurt != w.Flips.Hurt) {
		t.Errorf("%s -> %s: flips %d, %d, the report has %+v", c.A, c.B, c.Helped, c.Hurt, w.Flips)
	}
	if c.Margin != nil && (w.Margin == nil || c.Margin.Answer != w.Margin.Answer || !reflect.DeepEqual(c.Margin.PNonInferior, w.Margin.PNonInferior)) {
		t.Errorf("%s -> %s: margin %+v, the report has %+v", c.A, c.B, c.Margin, w.Margin)
	}
}

func open(i *compare.OpenInterval) *float64 {
	if i == nil {
		return nil
	}
	return i[1]
}

func pairOf(e report.Estimate) *compare.Interval {
	if e.Lo == nil || e.Hi == nil {
		return nil
	}
	return &compare.Interval{*e.Lo, *e.Hi}
}

// closeTo forgives the last bits of sums that were made in another order.
func closeTo(a, b any) bool {
	x, ok1 := a.(*float64)
	y, ok2 := b.(*float64)
	return ok1 && ok2 && x != nil && y != nil && math.Abs(*x-*y) <= 1e-12*max(1, math.Abs(*x))
}

func members(t *testing.T, v any) map[string]any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// The 200 recorded trials of gpt-4o, airline, through import and compare: the table that
// tau-bench publishes.
func TestCompareTauBench(t *testing.T) {
	path := filepath.Join("..", "..", "..", "shared", "data", "tau-bench", "gpt-4o-airline.json")
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		t.Skipf("no recorded trials at %s: put tau-bench's historical_trajectories/gpt-4o-airline.json there", path)
	}
	dir := filepath.Join(t.TempDir(), "tau")
	output(t, 0, "import", "-q", "tau-bench", path, "-o", dir)
	var r compare.Report
	if err := json.Unmarshal([]byte(output(t, 0, "compare", dir, filepath.Join(dir, "parquet", "trials.parquet"), "--json")), &r); err != nil {
		t.Fatal(err)
	}
	for _, a := range r.Arms {
		if a.Scenarios != 50 || a.Trials != 200 || a.Graded != 200 || a.Passed != 84 {
			t.Errorf("%+v", a)
		}
		got := fmt.Sprintf("%.4f %.4f %.2f", *a.SEClustered, *a.SENaive, *a.ICC)
		for _, k := range []string{"1", "2", "3", "4"} {
			got += fmt.Sprintf(" %.5f %.5f", *a.PassHat[k], *a.PassAt[k])
		}
		if want := "0.0522 0.0349 0.40 0.42000 0.42000 0.27333 0.56667 0.22000 0.66000 0.20000 0.72000"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if c := r.Comparisons[0]; len(r.Comparisons) != 1 || *c.Diff != 0 || *c.P != 1 || c.Scenario != 50 || c.A != "tau" || c.B != "trials" {
		t.Errorf("a run against its own table: %+v", c)
	}
}

// docs/compare.schema.json is the schema that the types make, and what compare prints is
// valid.
func TestCompareSchema(t *testing.T) {
	m := schemaMaker{t, map[string]string{}}
	m.read("internal/compare/types.go")
	s := m.structure(reflect.TypeFor[compare.Report]())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "harnessbench compare --json"
	s["properties"].(map[string]any)["schema"] = map[string]any{"const": compare.Schema}
	got, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	schema := documented(t, "compare.schema.json", append(got, '\n'))
	csv := filepath.Join("internal", "compare", "testdata", "trials.csv")
	bare := filepath.Join(t.TempDir(), "bare.csv")
	if err := os.WriteFile(bare, []byte("scenario,passed\ntask-00,1\ntask-01,\nnew,0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	one := filepath.Join(t.TempDir(), "one.csv")
	if err := os.WriteFile(one, []byte("scenario,passed\ntask-00,0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"full": output(t, 0, "compare", csv, "--base", "base", "--margin", "0.1", "--fail-if", "diff < -0.5", "--json"),
		"bare": output(t, 0, "compare", bare, one, "--json"),
	} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, change := range [][2]string{{`"trials_a": `, `"trials": `}, {`"test": "`, `"test": 1, "x": "`}, {`compare/v1`, `compare/v9`}} {
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(strings.Replace(text, change[0], change[1], 1)))
			if err != nil {
				t.Fatal(err)
			}
			if schema.Validate(v) == nil {
				t.Errorf("%s: %q for %q is valid", name, change[1], change[0])
			}
		}
	}
}

// docs/compare.md lists the fields and names that are understood.
func TestCompareDoc(t *testing.T) {
	doc := docFile(t, "compare.md")
	for _, f := range importer.TableFields() {
		row := fmt.Sprintf("| `%s` | %s |", f, strings.Join(importer.TableAliases(f), ", "))
		if !strings.Contains(doc, row) {
			t.Errorf("docs/compare.md lacks the row %s", row)
		}
	}
	if names := strings.Join(compare.Names, " "); !strings.Contains(doc, "`"+names+"`") {
		t.Errorf("docs/compare.md lacks the names %s", names)
	}
}
