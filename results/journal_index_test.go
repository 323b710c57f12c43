package results

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func journalFile(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), JournalFile)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestIndex: the same rows in the same order as reading the whole journal.
func TestIndex(t *testing.T) {
	var entries []Entry
	for _, scenario := range []string{"a", "b", "c"} {
		for _, arm := range []string{"x", "y"} {
			for rep := range 12 {
				entries = append(entries, entry(scenario, arm, rep))
			}
		}
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
	entries[7].Verdicts[0].Evidence = strings.Repeat("long ", 1<<19) // other entries come after it
	var data bytes.Buffer
	for i := range entries {
		line, err := entries[i].Encode()
		if err != nil {
			t.Fatal(err)
		}
		data.Write(line)
	}
	data.WriteString(`{"v":1,"tri`)
	path := journalFile(t, data.Bytes())
	want, err := ReadJournalFile(path)
	if err != nil {
		t.Fatal(err)
	}
	x, err := IndexJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	trials, err := x.Trials()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want.Trials(), trials); d != "" || x.Len() != len(trials) || x.Torn != 11 {
		t.Errorf("%d trials, torn %d:\n%s", x.Len(), x.Torn, d)
	}
	var verdicts []Verdict
	var events []GuardEvent
	for e, err := range x.Entries() {
		if err != nil {
			t.Fatal(err)
		}
		verdicts, events = append(verdicts, e.Verdicts...), append(events, e.Events...)
	}
	if d := cmp.Diff(want.Verdicts(), verdicts) + cmp.Diff(want.GuardEvents(), events); d != "" {
		t.Error(d)
	}
	i := 0
	for k := range x.Keys() {
		if k != trials[i].Key() {
			t.Fatalf("key %d is %v, the trial's %v", i, k, trials[i].Key())
		}
		i++
	}
}

// TestIndexRefuses: whatever is wrong is said with its line, at the latest when
// the entry is read.
func TestIndexRefuses(t *testing.T) {
	good, other := entry("a", "x", 0), entry("b", "x", 0)
	line, err := good.Encode()
	if err != nil {
		t.Fatal(err)
	}
	next, err := other.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for want, bad := range map[string]string{
		":2: broken journal line":               "{}}\n",
		":2: journal version is 9":              strings.Replace(string(next), `"v":1`, `"v":9`, 1),
		`:3: trial "a" "sim`:                    string(next) + string(line),
		`:2: trial "b" "sim/weak" "x" #0: verd`: strings.Replace(string(next), `"verdict":"pass"`, `"verdict":"yes"`, 1),
		"unknown":                               strings.Replace(string(next), `"outcome"`, `"outcame"`, 1),
	} {
		x, err := IndexJournal(journalFile(t, []byte(string(line)+bad)))
		if err == nil {
			_, err = x.Trials()
			x.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if _, err := IndexJournal(filepath.Join(t.TempDir(), "absent")); err == nil {
		t.Error("no journal: no error")
	}
}

// TestTrialColumns: lists to columns and back, whatever row came before.
func TestTrialColumns(t *testing.T) {
	on, off := GuardCount{Guard: "stuck", Mode: Enforce}, GuardCount{Guard: "stuck", Mode: Shadow}
	spill := GuardCount{Guard: "spill", Mode: Enforce}
	fired := func(g GuardCount, n, turn int) GuardCount { g.Fired, g.FirstTurn = n, &turn; return g }
	var rows []Trial
	for i, guards := range [][]GuardCount{
		{}, {spill, on}, {spill, on}, {spill, fired(on, 2, 4)}, {spill, fired(off, 1, 3)}, {fired(spill, 3, 1), fired(off, 12, 34)}, {spill, off}, {spill}, {fired(on, 1, 2), fired(off, 1, 5)}, {},
	} {
		tr := trial("a", "x", i)
		tr.Guards, tr.Tags = guards, []string{"one", "two"}[:i%3%2+i%2]
		tr.Normalize()
		rows = append(rows, tr)
	}
	want := append([]Trial(nil), rows...)
	var m TrialColumns
	m.Fill(rows)
	if r := rows[5]; r.GuardsEnforced != "spill" || r.GuardsShadow != "stuck" || r.FiredEnforced != "spill:3:1" || r.FiredShadow != "stuck:12:34" || r.TagNames != "one" {
		t.Errorf("columns %q %q %q %q %q", r.GuardsEnforced, r.GuardsShadow, r.FiredEnforced, r.FiredShadow, r.TagNames)
	}
	back := append([]Trial(nil), rows...)
	for i := range back {
		back[i].Guards, back[i].Tags = nil, nil // as a table has them
		if err := back[i].FromColumns(); err != nil {
			t.Fatal(err)
		}
	}
	m.Empty(rows)
	if d := cmp.Diff(want, back) + cmp.Diff(want, rows); d != "" {
		t.Error(d)
	}
	// Not in force is not the same as silent.
	if back[1].Fired("stuck", Enforce) != 0 || back[7].Exposed("stuck") || len(back[7].Guards) != 1 || !back[8].Exposed("stuck") {
		t.Error("exposure is lost")
	}
	for _, bad := range []Trial{{FiredShadow: "stuck:1:1"}, {GuardsShadow: "stuck", FiredShadow: "stuck"}, {GuardsShadow: "stuck", FiredShadow: "stuck:0:1"}, {GuardsEnforced: "stuck", FiredShadow: "stuck:1:1"}} {
		if err := bad.FromColumns(); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
}

// FuzzIndex: what reading the whole journal accepts, the index accepts with the
// same rows, and the reverse.
func FuzzIndex(f *testing.F) {
	one, two := entry("b", "x", 0), entry("a", "x", 0)
	first, err := one.Encode()
	if err != nil {
		f.Fatal(err)
	}
	second, err := two.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append(first, second...))
	f.Add(append(first, "{"...))
	f.Add([]byte("{}\n"))
	path := filepath.Join(f.TempDir(), "j")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		whole, wholeErr := ReadJournalFile(path)
		x, err := IndexJournal(path)
		var rows []Trial
		if err == nil {
			rows, err = x.Trials()
			_ = x.Close()
		}
		if (err == nil) != (wholeErr == nil) {
			t.Fatalf("the index says %v, reading all says %v", err, wholeErr)
		}
		if err == nil && !cmp.Equal(rows, whole.Trials()) {
			t.Fatal("the index gives other rows")
		}
	})
}
