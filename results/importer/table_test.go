package importer

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/results/parquet"
)

// readText reads a table from memory.
func readText(text string, opt TableOptions) (*Table, error) {
	opt.Stdin = strings.NewReader(text)
	return ReadTable("-", opt)
}

// say writes rows in a line each.
func say(rows []TableRow) string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%s/%s/%s#%d:%s", r.Model, r.Arm, r.Scenario, r.Repetition, []string{"?", "F", "P"}[r.Verdict])
		if r.Errored {
			b.WriteString("!")
		}
		if r.Harms {
			b.WriteString("h")
		}
		fmt.Fprintf(&b, " %v %v %v %v; ", r.Score, r.CostUSD, r.Tokens, r.DurationS)
	}
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "; "), "NaN", "-")
}

func TestReadTable(t *testing.T) {
	half := 0.5
	for name, c := range map[string]struct {
		text    string
		opt     TableOptions
		want    string
		taken   string
		ignored string
	}{
		"csv": {text: "scenario,repetition,passed,model,arm,cost_usd,tokens,duration_s\nb,0,true,m,x,0.5,10,1.5\na,1,0,m,x,,,\na,0,yes,m,x,1e-3,7.0,\n",
			want: "m/x/a#0:P - 0.001 7 -; m/x/a#1:F - - -1 -; m/x/b#0:P - 0.5 10 1.5"},
		"aliases, case, ignored": {text: "Task ID,Trial,Success,Notes,Total-Tokens\nt,3,PASS,\"a, b\",5\n",
			want: "//t#3:P - - 5 -", taken: "scenario=Task ID repetition=Trial passed=Success tokens=Total-Tokens", ignored: "Notes"},
		"best alias wins": {text: "id,task_id,passed\n1,t,1\n", want: "//t#0:P - - -1 -", taken: "scenario=task_id", ignored: "id"},
		"numbered":        {text: "task,ok\nt,1\nu,0\nt,0\nt,\n", want: "//t#0:P - - -1 -; //t#1:F - - -1 -; //t#2:? - - -1 -; //u#0:F - - -1 -", taken: "scenario=task passed=ok"},
		"score":           {text: "scenario,score\na,1\nb,0.5\nc,0\nd,NaN\ne,0.9999999999\n", want: "//a#0:P 1 - -1 -; //b#0:F 0.5 - -1 -; //c#0:F 0 - -1 -; //d#0:? - - -1 -; //e#0:P 0.9999999999 - -1 -"},
		"pass at":         {text: "scenario,passed,score\na,0,0.5\nb,1,0.4\n", opt: TableOptions{PassAt: &half}, want: "//a#0:P 0.5 - -1 -; //b#0:F 0.4 - -1 -"},
		"passed wins":     {text: "scenario,passed,score\na,0,1\nb,,1\n", want: "//a#0:F 1 - -1 -; //b#0:? 1 - -1 -"},
		"harms":           {text: "scenario,passed,harms\na,1,true\nb,1,False\nc,1,\n", want: "//a#0:Ph - - -1 -; //b#0:P - - -1 -; //c#0:P - - -1 -"},
		"errored":         {text: "scenario,passed,errored\na,1,true\nb,1,false\n", want: "//a#0:?! - - -1 -; //b#0:P - - -1 -"},
		"columns":         {text: "x,passed,good\na,0,1\n", opt: TableOptions{Columns: map[string]string{"scenario": "x", "passed": "good"}}, want: "//a#0:P - - -1 -", taken: "scenario=x passed=good", ignored: "passed"},
		"tabs":            {text: "scenario\tpassed\na b\t1\n", want: "//a b#0:P - - -1 -"},
		"semicolons":      {text: "scenario;passed\na;1\n", want: "//a#0:P - - -1 -"},
		"sep=":            {text: "\xef\xbb\xbfsep=;\r\nscenario;passed;note\r\na;1;x,y\r\n", want: "//a#0:P - - -1 -", ignored: "note"},
		"quoted comma":    {text: "scenario;\"pass, or \"\"not\"\"\";passed\na;1;0\n", want: "//a#0:F - - -1 -", ignored: `pass, or "not"`},
		"mark, CRLF":      {text: "\xef\xbb\xbfscenario,passed\r\na,1\r\n", want: "//a#0:P - - -1 -"},
		"jsonl": {text: `{"scenario":"a","passed":true,"model":"m","cost_usd":0.25,"x":{"deep":[1]}}` + "\n\n" + `{"passed":"fail","model":"m","scenario":7,"tokens":12}`,
			want: "m//7#0:F - - 12 -; m//a#0:P - 0.25 -1 -", ignored: "x"},
		"jsonl, late columns": {text: `{"task":"a"}` + "\n" + `{"task":"b","success":null}` + "\n" + `{"task":"c","success":false}`, want: "//a#0:? - - -1 -; //b#0:? - - -1 -; //c#0:F - - -1 -", taken: "scenario=task passed=success"},
	} {
		for _, zip := range []bool{false, true} {
			text := c.text
			if zip {
				var b bytes.Buffer
				z := gzip.NewWriter(&b)
				_, _ = z.Write([]byte(text))
				_ = z.Close()
				text = b.String()
			}
			tab, err := readText(text, c.opt)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if got := say(tab.Rows); got != c.want {
				t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
			}
			if got := strings.Join(tab.Taken, " "); got != c.taken {
				t.Errorf("%s: taken %q, want %q", name, got, c.taken)
			}
			if got := strings.Join(tab.Ignored, " "); got != c.ignored {
				t.Errorf("%s: ignored %q, want %q", name, got, c.ignored)
			}
		}
	}
}

func TestTableErrors(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for name, c := range map[string]struct{ text, want string }{
		"empty":            {"", "stdin:1:1: is empty"},
		"no rows":          {"scenario,passed\n", "stdin: has no rows"},
		"no scenario":      {"a,passed\n1,1\n", "stdin:1:1: has no column for scenario; name it with --columns scenario=NAME; its columns are: a, passed"},
		"sep=, no more":    {"sep=;\n", "stdin"},
		"sep=, place":      {"sep=;\nscenario;passed\na;maybe\n", "stdin:3:3: passed: is \"maybe\""},
		"sep=, head":       {"sep=;\na;passed\n1;1\n", "stdin:2:1: has no column for scenario"},
		"no verdict":       {"scenario,b\n1,1\n", "has no column for passed or score"},
		"verdict":          {"scenario,passed\na,1\nb,maybe\n", `stdin:3:3: passed: is "maybe"; want true, false`},
		"fraction":         {"scenario,passed\na,0.5\n", "stdin:2:3: passed: is 0.5; want true or false, 1 or 0: a fraction is a score (--columns score=NAME)"},
		"fraction, JSON":   {`{"scenario":"a","passed":0.5}`, "stdin:1:26: passed: is 0.5"},
		"scenario":         {"scenario,passed\n,1\n", "stdin:2:1: scenario: is empty"},
		"repetition":       {"task,trial,passed\na,one,1\n", `stdin:2:3: repetition (column trial): is "one"; want a number`},
		"negative":         {"scenario,repetition,passed\na,-1,1\n", "stdin:2:3: repetition: is -1; want a whole number >= 0"},
		"no repetition":    {"scenario,repetition,passed\na,,1\n", "stdin:2:3: repetition: is empty"},
		"cost":             {"scenario,passed,cost\na,1,-2\n", "stdin:2:5: cost_usd (column cost): is -2; want a finite number >= 0"},
		"infinite":         {"scenario,passed,cost\na,1,inf\n", "want a finite number"},
		"score":            {"scenario,score\na,70\n", "stdin:2:3: score: is 70; a score is 0 to 1"},
		"twice":            {"scenario,repetition,passed\na,0,1\nb,0,1\na,0,0\n", `stdin:4:1: scenario "a", repetition 0 is there already, in line 2`},
		"twice, arms":      {"scenario,arm,model,repetition,passed\na,x,m,0,1\na,x,m,0,1\n", `scenario "a", model "m", arm "x", repetition 0 is there already`},
		"fields":           {"scenario,passed\na\n", "stdin:2:1: has another number of fields than the head"},
		"quote":            {"scenario,passed\n\"a,1\n", "stdin:2:"},
		"columns twice":    {"scenario,passed,passed\na,1,1\n", `stdin:1:17: the column "passed" is there twice`},
		"two for one":      {"scenario,Passed,passed\na,1,1\n", `are both passed; say which one with --columns passed=NAME`},
		"model missing":    {"scenario,model,passed\na,,1\n", "stdin:2:1: model is empty"},
		"late model":       {`{"scenario":"a","passed":1}` + "\n" + `{"scenario":"a","passed":1,"model":"m"}`, "stdin:1:1: model is empty"},
		"array":            {"[{}]", "stdin:1:1: is a JSON array; a table has one object a line (jq -c '.[]')"},
		"no object":        {`{"scenario":"a","passed":1}` + "\n[1]", "stdin:2:1: is no JSON object but"},
		"broken":           {`{"scenario":"a","passed":1}` + "\n" + `{"scenario":"a",}`, "stdin:2:1"},
		"two objects":      {`{"scenario":"a","passed":1}{}`, "something follows the object"},
		"two names":        {`{"scenario":"a","passed":1,"passed":0}`, "stdin:1:28: is no JSON object: duplicate object member name"},
		"nested":           {`{"scenario":{"id":1},"passed":1}`, "stdin:1:13: scenario: is a list or an object"},
		"long line, CSV":   {"scenario,passed\na,1\n\"" + strings.Repeat(long+"\n", 2) + "\",1\n", "stdin:3:1: a line has more than 1 MiB"},
		"long head":        {strings.Repeat(long, 2), "stdin:1:1: a line has more than 1 MiB"},
		"long line, JSONL": {`{"scenario":"a","passed":1}` + "\n{\"a\":\"" + long + "\"}", "stdin:2:1: a line has more than 1 MiB"},
		"long name":        {"scenario,passed\n" + long[:5000] + ",1\n", "is a name of 5000 bytes; at most 4096"},
		"UTF-16":           {"\xff\xfes\x00", "is UTF-16"},
		"no UTF-8":         {"scenario,passed\n\xff,1\n", "stdin:2:1: scenario: is no UTF-8"},
		"Parquet":          {"PAR1....", "Parquet is read from a file only"},
		"gzip":             {"\x1f\x8b", "is no whole gzip file"},
	} {
		_, err := readText(c.text, TableOptions{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	_, err := readText("a,b\n1,2\n", TableOptions{Columns: map[string]string{"scenario": "c"}})
	if err == nil || !strings.Contains(err.Error(), `has no column "c" for scenario; its columns are: a, b`) {
		t.Error(err)
	}
	if _, err := readText("", TableOptions{Columns: map[string]string{"pass": "c"}}); err == nil {
		t.Error("an unknown field is taken")
	}
	if _, err := ReadTable(t.TempDir(), TableOptions{}); err == nil || !strings.Contains(err.Error(), "is no file") {
		t.Error(err)
	}
	if _, err := ReadTable(filepath.Join(t.TempDir(), "no"), TableOptions{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// Whatever a table holds, reading it ends with rows that are in order and in their
// ranges, or with an error.
func checkTable(t *testing.T, tab *Table, err error) {
	if err != nil {
		if tab != nil || strings.TrimSpace(err.Error()) == "" {
			t.Fatalf("%v with %v", tab, err)
		}
		return
	}
	if len(tab.Rows) == 0 || !slices.IsSortedFunc(tab.Rows, func(a, b TableRow) int { return compareRows(&a, &b) }) {
		t.Fatal("no rows, or out of order")
	}
	for i, r := range tab.Rows {
		if i > 0 && compareRows(&tab.Rows[i-1], &r) == 0 {
			t.Fatal("a row twice")
		}
		if r.Scenario == "" || r.Repetition < 0 || r.Tokens < -1 || r.CostUSD < 0 || math.IsInf(r.CostUSD, 0) || r.Score > 1 || r.Score < 0 {
			t.Fatalf("%+v", r)
		}
	}
}

func FuzzCSV(f *testing.F) {
	f.Add("scenario,repetition,passed,score,cost\na,0,1,0.5,2\nb,1,no,,\n")
	f.Add("task\tok\n\"a\nb\"\ttrue\n")
	f.Add("id;pass\n1;\n")
	f.Fuzz(func(t *testing.T, s string) {
		if strings.HasPrefix(strings.TrimSpace(s), "{") {
			return
		}
		tab, err := readText(s, TableOptions{})
		checkTable(t, tab, err)
	})
}

func FuzzJSONL(f *testing.F) {
	f.Add(`{"scenario":"a","passed":true,"x":[1,{"y":null}]}` + "\n" + `{"scenario":2,"passed":"no","tokens":1e2}`)
	f.Add(`{"task":"a","score":0.5}` + "\n")
	f.Fuzz(func(t *testing.T, s string) {
		tab, err := readText("{"+s, TableOptions{})
		checkTable(t, tab, err)
	})
}

// Our own trials.parquet is a table like any other, and so are damaged ones errors.
func TestTableParquet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trials.parquet")
	score, cost, class := 1.0, 0.25, results.ErrorQuota
	rows := []results.Trial{
		{Scenario: "a", Repetition: 0, Verdict: results.Pass, Score: &score, CostUSD: &cost},
		{Scenario: "a", Repetition: 1, Verdict: results.Fail},
		{Scenario: "b", Repetition: 0, Verdict: results.Ungraded, Errored: true, ErrorClass: &class},
	}
	for i := range rows {
		rows[i].RunID, rows[i].Model, rows[i].Arm, rows[i].Outcome = "r", "m", "x", "completed"
	}
	if err := parquet.WriteTrials(path, "r", rows); err != nil {
		t.Fatal(err)
	}
	tab, err := ReadTable(path, TableOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := say(tab.Rows), "m/x/a#0:P 1 0.25 -1 -; m/x/a#1:F - - -1 -; m/x/b#0:?! - - -1 -"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	foreign := filepath.Join("..", "parquet", "testdata", "foreign.parquet")
	for columns, want := range map[string]string{
		"text flag": "row 2: scenario (column text): is empty",
		"list flag": "scenario (column list): the column is nested; make a column of one plain value first",
		"when flag": "scenario (column when): the column is of the type",
		"nope flag": `has no column "nope" for scenario`,
		"i64 f32":   "row 1: passed (column f32): is 0.5; want true or false",
	} {
		scenario, passed, _ := strings.Cut(columns, " ")
		_, err := ReadTable(foreign, TableOptions{Columns: map[string]string{"scenario": scenario, "passed": passed}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", columns, err, want)
		}
	}
}

func FuzzTableParquet(f *testing.F) {
	path := filepath.Join(f.TempDir(), "trials.parquet")
	rows := []results.Trial{{RunID: "r", Scenario: "a", Model: "m", Arm: "x", Outcome: "completed", Verdict: results.Pass}}
	if err := parquet.WriteTrials(path, "r", rows); err != nil {
		f.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "x.parquet")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		tab, err := ReadTable(path, TableOptions{})
		checkTable(t, tab, err)
	})
}
