package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/results/importer"
)

var defaults = Options{Test: SignFlip, Adjust: Holm, Metric: Pass}

func table(t *testing.T, text string) Input {
	t.Helper()
	tab, err := importer.ReadTable("-", importer.TableOptions{Stdin: strings.NewReader(text)})
	if err != nil {
		t.Fatal(err)
	}
	return Input{Rows: tab.Rows}
}

func near(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil || math.Abs(*got-want) > 1e-9 {
		v := math.NaN()
		if got != nil {
			v = *got
		}
		t.Errorf("%s: %v, want %v", what, v, want)
	}
}

// testdata/check.py computes the same with numpy and scipy.
func TestAgainstPython(t *testing.T) {
	tab, err := importer.ReadTable("testdata/trials.csv", importer.TableOptions{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("testdata/check.json")
	if err != nil {
		t.Fatal(err)
	}
	type numbers struct {
		Rate         float64            `json:"rate"`
		CI           [2]float64         `json:"ci"`
		SEClustered  float64            `json:"se_clustered"`
		SENaive      float64            `json:"se_naive"`
		Passed       int                `json:"passed"`
		CostUSD      float64            `json:"cost_usd"`
		CostOfPass   float64            `json:"cost_of_pass"`
		CostOfPassCI [2]float64         `json:"cost_of_pass_ci"`
		Tokens       int64              `json:"tokens"`
		ICC          float64            `json:"icc"`
		PassHat      map[string]float64 `json:"pass_hat"`
		Diff         float64            `json:"diff"`
		P            float64            `json:"p"`
		PT           float64            `json:"p_t"`
		PAdjusted    float64            `json:"p_adjusted"`
		CostRatio    float64            `json:"cost_ratio"`
		CostRatioCI  [2]float64         `json:"cost_ratio_ci"`
	}
	var want struct {
		Arms        map[string]numbers `json:"arms"`
		Comparisons map[string]numbers `json:"comparisons"`
		McNemar     map[string]float64 `json:"mcnemar_first_repetition"`
	}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	opt := defaults
	opt.Base = "base"
	r, err := Compute([]Input{{Name: "trials", Rows: tab.Rows}}, opt)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Arms) != 3 || len(r.Comparisons) != 2 {
		t.Fatalf("%d arms, %d comparisons", len(r.Arms), len(r.Comparisons))
	}
	for _, a := range r.Arms {
		w := want.Arms[*a.Arm]
		near(t, a.label+" rate", a.Rate, w.Rate)
		if a.CIMethod == "Student t over scenarios" {
			near(t, a.label+" lo", &a.CI[0], w.CI[0])
			near(t, a.label+" hi", &a.CI[1], w.CI[1])
		}
		near(t, a.label+" se", a.SEClustered, w.SEClustered)
		near(t, a.label+" naive se", a.SENaive, w.SENaive)
		near(t, a.label+" cost", a.CostUSD, w.CostUSD)
		near(t, a.label+" cost of a pass", a.CostOfPass, w.CostOfPass)
		near(t, a.label+" cost of a pass, lo", a.CostPassCI[0], w.CostOfPassCI[0])
		near(t, a.label+" cost of a pass, hi", a.CostPassCI[1], w.CostOfPassCI[1])
		near(t, a.label+" ICC", a.ICC, w.ICC)
		for k, v := range w.PassHat {
			near(t, a.label+" pass^"+k, a.PassHat[k], v)
		}
		if a.Passed != w.Passed || *a.Tokens != w.Tokens || a.Trials != 48 || a.Scenarios != 12 || a.Model != nil {
			t.Errorf("%s: %+v", a.label, a)
		}
	}
	for _, c := range r.Comparisons {
		w := want.Comparisons[c.B]
		near(t, c.B+" diff", c.Diff, w.Diff)
		near(t, c.B+" diff of rates", c.Diff, *c.RateB-*c.RateA)
		near(t, c.B+" lo", &c.CI[0], w.CI[0])
		near(t, c.B+" hi", &c.CI[1], w.CI[1])
		near(t, c.B+" p", c.P, w.P)
		near(t, c.B+" adjusted p", c.PAdjusted, w.PAdjusted)
		near(t, c.B+" cost ratio", c.CostRatio, w.CostRatio)
		near(t, c.B+" cost ratio, lo", c.CostRatioCI[0], w.CostRatioCI[0])
		near(t, c.B+" cost ratio, hi", c.CostRatioCI[1], w.CostRatioCI[1])
		if c.A != "base" || c.Scenario != 12 || c.TrialsA != 48 || c.TrialsB != 48 {
			t.Errorf("%+v", c)
		}
	}
	opt.Test, opt.Adjust = T, None
	if r, err = Compute([]Input{{Name: "trials", Rows: tab.Rows}}, opt); err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Comparisons {
		near(t, c.B+" p of t", c.P, want.Comparisons[c.B].PT)
		near(t, c.B+" p not adjusted", c.PAdjusted, want.Comparisons[c.B].PT)
	}
	opt.Test = McNemar
	if _, err := Compute([]Input{{Name: "trials", Rows: tab.Rows}}, opt); !errors.Is(err, ErrUsage) || !strings.Contains(Hint(err), "sign-flip") {
		t.Errorf("McNemar over repetitions: %v", err)
	}
	var first []importer.TableRow
	for _, row := range tab.Rows {
		if row.Repetition == 0 {
			first = append(first, row)
		}
	}
	if r, err = Compute([]Input{{Name: "trials", Rows: first}}, opt); err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Comparisons {
		near(t, c.B+" p of McNemar", c.P, want.McNemar[c.B])
	}
}

// names says who is compared with whom.
func names(r *Report) string {
	var out []string
	for _, c := range r.Comparisons {
		out = append(out, c.A+" < "+c.B)
	}
	return strings.Join(out, "; ")
}

func TestWhoIsCompared(t *testing.T) {
	const plain = "scenario,passed\na,1\nb,0\n"
	arm := func(names ...string) string {
		s := "scenario,arm,passed\n"
		for _, n := range names {
			s += "a," + n + ",1\nb," + n + ",0\n"
		}
		return s
	}
	both := func(names ...string) string {
		s := "scenario,model,arm,passed\n"
		for _, n := range names {
			m, a, _ := strings.Cut(n, "/")
			s += "a," + m + "," + a + ",1\nb," + m + "," + a + ",0\n"
		}
		return s
	}
	models := "scenario,model,passed\na,m1,1\na,m2,0\n"
	for _, c := range []struct{ a, b, base, want, note string }{
		{plain, plain, "", "A < B", ""},
		{arm("x"), arm("x"), "", "A < B", ""},
		{arm("x"), arm("y"), "", "x < y", ""},
		{arm("x"), plain, "", "x < B", ""},
		{arm("B"), plain, "", "A < B", ""},
		{arm("x", "y"), arm("y", "x", "z"), "", "x@A < x@B; y@A < y@B", "without a partner in the other input, so not compared: z@B"},
		{arm("x"), arm("y", "z"), "", "x < y; x < z", ""},
		{arm("x", "y"), arm("z"), "", "", "no arm of A has a partner in B"},
		{models, models, "", "m1/A < m1/B; m2/A < m2/B", ""},
		{both("m1/x"), both("m2/x"), "", "m1/A < m2/B", ""},
		{both("m1/x", "m2/x"), both("m2/x", "m3/x"), "", "m2/A < m2/B", "so not compared: m1/A, m3/B"},
		{both("m1/x", "m2/y"), both("m2/x", "m2/y"), "", "m2/y@A < m2/y@B", "so not compared: m1/x@A, m2/x@B"},
		{arm("x", "y", "z"), "", "y", "y < x; y < z", ""},
		{both("m1/x", "m1/y", "m2/x", "m2/y", "m3/y"), "", "x", "m1/x < m1/y; m2/x < m2/y", "without x on its model, so not compared: m3/y"},
		{both("m1/x", "m1/y", "m2/x"), "", "m1/x", "m1/x < m1/y; m1/x < m2/x", ""},
		{models, "", "m1", "m1 < m2", ""},
		{arm("x", "y"), "", "", "", "no base"},
		{arm("x", "y"), "", "z", "", `no arm "z"`},
		{arm("x"), "", "x", "", "x is alone"},
		{arm("x"), arm("x"), "x", "", "--base is for one input"},
	} {
		a := table(t, c.a)
		a.Name = "A"
		in := []Input{a}
		if c.b != "" {
			b := table(t, c.b)
			b.Name = "B"
			in = append(in, b)
		}
		opt := defaults
		opt.Base = c.base
		r, err := Compute(in, opt)
		if c.want == "" {
			if err == nil || !strings.Contains(err.Error(), c.note) {
				t.Errorf("%q %q %q: %v, want %q", c.a, c.b, c.base, err, c.note)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q %q %q: %v", c.a, c.b, c.base, err)
			continue
		}
		if got := names(r); got != c.want {
			t.Errorf("%q %q %q: %s, want %s", c.a, c.b, c.base, got, c.want)
		}
		if got := strings.Join(r.Notes, "\n"); !strings.Contains(got, c.note) || c.note == "" && got != "" {
			t.Errorf("%q %q %q: notes %q, want %q", c.a, c.b, c.base, got, c.note)
		}
	}
}

// Of two inputs, scenarios alone are paired: the difference is that of the rates over
// the shared scenarios, however many repetitions each has.
func TestTwoInputs(t *testing.T) {
	a := table(t, "scenario,passed,cost\na,1,1\na,0,1\nb,0,1\nonly,1,1\nnone,,1\n")
	b := table(t, "scenario,passed,cost\na,1,2\na,1,2\na,0,2\nb,1,2\nother,0,2\n")
	a.Name, b.Name = "A", "B"
	a.Digests, b.Digests = map[string]string{"a": "1", "b": "1"}, map[string]string{"a": "1", "b": "2"}
	r, err := Compute([]Input{a, b}, defaults)
	if err != nil {
		t.Fatal(err)
	}
	c := r.Comparisons[0]
	near(t, "rate a", c.RateA, 0.25)
	near(t, "rate b", c.RateB, (2.0/3+1)/2)
	near(t, "diff", c.Diff, *c.RateB-*c.RateA)
	near(t, "p", c.P, 0.5)
	near(t, "cost ratio", c.CostRatio, 2)
	if c.Scenario != 2 || c.TrialsA != 3 || c.TrialsB != 4 || fmt.Sprint(c.OnlyA, c.OnlyB) != "[only] [other]" || c.Paired != "scenario" {
		t.Errorf("%+v", c)
	}
	for _, want := range []string{warnLeftOut, warnDigests, "fewer than 6 scenarios"} {
		if !strings.Contains(strings.Join(c.Warnings, "\n"), want) {
			t.Errorf("no warning %q in %q", want, c.Warnings)
		}
	}
	// The arms' own rows are over all that they have.
	near(t, "arm a", r.Arms[0].Rate, (0.5+0+1)/3)
	if r.Arms[0].Trials != 5 || r.Arms[0].Graded != 4 {
		t.Errorf("%+v", r.Arms[0])
	}
	lone := table(t, "scenario,passed\nzzz,1\n")
	lone.Name = "C"
	if _, err := Compute([]Input{a, lone}, defaults); !errors.Is(err, ErrNothing) {
		t.Errorf("nothing shared: %v", err)
	}
}

func TestScores(t *testing.T) {
	a, b := table(t, "scenario,score\na,0.25\na,0.75\nb,0.5\nc,1\n"), table(t, "scenario,score\na,1\nb,0.75\nc,1\nd,\n")
	a.Name, b.Name = "A", "B"
	opt := defaults
	opt.Metric = Score
	r, err := Compute([]Input{a, b}, opt)
	if err != nil {
		t.Fatal(err)
	}
	c := r.Comparisons[0] // differences 0.5, 0.25, 0
	near(t, "diff", c.Diff, 0.25)
	near(t, "hi", &c.CI[1], 0.25+4.302652729911275*0.25/math.Sqrt(3))
	near(t, "p", c.P, 0.5)
	near(t, "mean", r.Arms[0].Rate, 2.0/3)
	if len(r.Arms[0].PassHat) != 0 || r.Arms[0].CINaive != nil || c.RateA == nil || *c.RateA != *r.Arms[0].Rate {
		t.Errorf("%+v", r.Arms[0])
	}
	opt.Margin = 0.1
	if _, err := Compute([]Input{a, b}, opt); !errors.Is(err, ErrUsage) {
		t.Error(err)
	}
	opt.Margin, opt.Test = 0, McNemar
	if _, err := Compute([]Input{a, b}, opt); !errors.Is(err, ErrUsage) {
		t.Error(err)
	}
}

// Scenarios tagged harms are a pool of their own, also as a family of tests, as in the
// report of a run: a harmful scenario more must not change what is said of the others.
func TestHarms(t *testing.T) {
	in := table(t, "scenario,arm,passed\na,x,1\na,y,0\nh,x,0\nh,y,1\n")
	in.Harms = map[string]bool{"h": true}
	opt := defaults
	opt.Base, opt.Margin = "x", 0.05
	r, err := Compute([]Input{in}, opt)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "main", r.Comparisons[0].Diff, -1)
	near(t, "harms", r.Harms.Comparisons[0].Diff, 1)
	if r.Comparisons[0].Scenario != 1 || r.Comparisons[0].Margin.Answer == "" {
		t.Errorf("%+v", r.Comparisons[0])
	}
	if c := r.Comparisons[0]; *c.PAdjusted != *c.P {
		t.Errorf("one comparison: p %v is adjusted to %v", *c.P, *c.PAdjusted)
	}
	if want := "over 1 comparison, and 1 on scenarios tagged harms among themselves;"; !strings.Contains(r.legend(), want) {
		t.Errorf("%s does not hold %s", r.legend(), want)
	}
	in.Harms["a"] = true
	if r, err = Compute([]Input{in}, opt); err != nil || len(r.Comparisons) != 0 || r.Harms.Comparisons[0].Scenario != 2 {
		t.Errorf("only harms: %v", err)
	}
}

// Names of arms come from strangers, and CSV goes into spreadsheets.
func TestCSVFormulas(t *testing.T) {
	in := table(t, "scenario,arm,passed\na,x,1\na,=1+2,0\na,-b,0\na,@c,0\na,+d,0\na,e=1,0\n")
	opt := defaults
	opt.Base = "x"
	r, err := Compute([]Input{in}, opt)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := r.WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nx,'=1+2,", "\nx,'-b,", "\nx,'@c,", "\nx,'+d,", "\nx,e=1,"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if !strings.Contains(b.String(), ",-1,") {
		t.Error("numbers below 0 are no formulas")
	}
}

func TestLookup(t *testing.T) {
	in := table(t, "scenario,arm,passed\na,x,1\na,y,0\na,x,1\na,y,1\n")
	opt := defaults
	opt.Base = "x"
	r, err := Compute([]Input{in}, opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range Names {
		name, hat := strings.CutSuffix(n, "(k)")
		var args []float64
		if hat {
			args = []float64{2}
		}
		if err := Known(name, args); err != nil {
			t.Error(err)
		}
		_, ok := r.Comparisons[0].Lookup(name, args)
		if want := !strings.Contains(name, "cost"); ok != want {
			t.Errorf("%s is known: %v", n, ok)
		}
	}
	if v, _ := r.Comparisons[0].Lookup("pass_hat_b", []float64{2}); v != 0 {
		t.Errorf("pass^2 of b: %v", v)
	}
	for _, bad := range []error{Known("pass_hat_a", nil), Known("pass_hat_a", []float64{0.5}), Known("p", []float64{1}), Known("power", nil)} {
		if bad == nil {
			t.Error("a name that is none")
		}
	}
}
