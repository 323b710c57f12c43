package results

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func journal(t *testing.T) (*Journal, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), JournalFile)
	j, err := CreateJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j, path
}

func lines(t *testing.T, entries ...Entry) []byte {
	t.Helper()
	var b bytes.Buffer
	for i := range entries {
		line, err := entries[i].Encode()
		if err != nil {
			t.Fatal(err)
		}
		b.Write(line)
	}
	return b.Bytes()
}

func TestJournalRoundTrip(t *testing.T) {
	j, path := journal(t)
	want := []Entry{entry("b", "x", 0), entry("a", "x", 1), entry("a", "x", 0)}
	if err := j.Append(want[0]); err != nil {
		t.Fatal(err)
	}
	if err := j.Append(want[1:]...); err != nil {
		t.Fatal(err)
	}
	if !j.Has(want[0].Trial.Key()) || j.Has(TrialKey{}) {
		t.Error("Has does not know what is there")
	}
	c, err := ReadJournalFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		_, _ = want[i].Encode() // as it was written: in order
	}
	if d := cmp.Diff(want, c.Entries); d != "" || c.Torn != 0 {
		t.Errorf("torn %d\n%s", c.Torn, d)
	}
	trials, verdicts, events := c.Trials(), c.Verdicts(), c.GuardEvents()
	if len(trials) != 3 || trials[0].Scenario != "a" || trials[0].Repetition != 0 || trials[2].Scenario != "b" {
		t.Errorf("trials are not in canonical order: %v", trials)
	}
	if len(verdicts) != 6 || verdicts[0].Index != 0 || verdicts[1].Index != 1 || verdicts[5].Scenario != "b" || len(events) != 3 {
		t.Errorf("%d verdicts, %d events, or not in order", len(verdicts), len(events))
	}
}

// TestJournalConcurrent: many writers, one sync for several; the sorted file is
// the same whatever the order.
func TestJournalConcurrent(t *testing.T) {
	j, path := journal(t)
	var wg sync.WaitGroup
	var want []string
	for i := range 60 {
		e := entry(fmt.Sprintf("s%02d", i%6), "x", i/6)
		want = append(want, string(lines(t, e)))
		wg.Go(func() {
			if err := j.Append(e); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.SplitAfter(strings.TrimSuffix(string(data), "\n"), "\n")
	got[len(got)-1] += "\n"
	slices.Sort(got)
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestJournalRefuses(t *testing.T) {
	j, path := journal(t)
	if err := j.Append(entry("a", "x", 0)); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(path)
	foreign := entry("a", "x", 2)
	foreign.Verdicts[0].Arm = "y"
	for want, entries := range map[string][]Entry{
		"there already":    {entry("a", "x", 1), entry("a", "x", 0)},
		"finished once":    {entry("a", "x", 3), entry("a", "x", 3)},
		"another trial":    {foreign},
		"outcome is empty": {{Trial: Trial{RunID: "r", Scenario: "a", Model: "m", Arm: "x"}}},
	} {
		if err := j.Append(entries...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("a refused append wrote something")
	}
	if _, err := CreateJournal(path); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("second create: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := j.Append(entry("z", "x", 0)); err == nil {
		t.Error("append after close succeeds")
	}
}

// TestJournalCutAnywhere: whatever byte a crash stopped at, the whole lines
// before it are read, and resuming gives the file that was never cut.
func TestJournalCutAnywhere(t *testing.T) {
	whole := lines(t, entry("a", "x", 0), entry("a", "x", 1))
	firstLine := bytes.IndexByte(whole, '\n') + 1
	dir := t.TempDir()
	for cut := 0; cut <= len(whole); cut += 7 {
		path := filepath.Join(dir, fmt.Sprint(cut))
		if err := os.WriteFile(path, whole[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		j, c, err := ResumeJournal(path, nil)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		wantTorn := cut
		if cut >= firstLine {
			wantTorn -= firstLine
		}
		if cut == len(whole) {
			wantTorn = 0
		}
		if c.Torn != wantTorn || c.Torn > 0 && c.Line != len(c.Entries)+1 {
			t.Errorf("cut at %d: torn %d at line %d, want %d", cut, c.Torn, c.Line, wantTorn)
		}
		for rep := range 2 {
			if e := entry("a", "x", rep); !j.Has(e.Trial.Key()) {
				if err := j.Append(e); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); !bytes.Equal(got, whole) {
			t.Fatalf("cut at %d: the resumed journal differs from one never cut", cut)
		}
	}
}

func TestResumeAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), JournalFile)
	bad := entry("a", "x", 1)
	bad.Trial.Errored, bad.Trial.ErrorClass, bad.Trial.Verdict, bad.Trial.Score = true, ptr("internal"), Ungraded, nil
	if err := os.WriteFile(path, lines(t, entry("a", "x", 0), bad, entry("a", "x", 2)), 0o644); err != nil {
		t.Fatal(err)
	}
	j, c, err := ResumeJournal(path, func(t *Trial) bool { return t.Errored })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	if len(c.Entries) != 2 || j.Has(bad.Trial.Key()) {
		t.Errorf("%d entries left; the errored one must go", len(c.Entries))
	}
	if err := j.Append(entry("a", "x", 1)); err != nil {
		t.Error(err)
	}
	if c, err := ReadJournalFile(path); err != nil || len(c.Entries) != 3 {
		t.Errorf("after resuming: %v, %v", c, err)
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
}

func TestJournalBroken(t *testing.T) {
	good := string(lines(t, entry("a", "x", 0)))
	other := string(lines(t, entry("a", "x", 1)))
	for _, c := range []struct{ name, data, want string }{
		{"not JSON", good + "{oops}\n" + other, `j:2: broken journal line: at byte 1`},
		{"empty line", good + "\n" + other, "j:2: broken journal line"},
		{"two values", strings.TrimSuffix(good, "\n") + " {}\n", "j:1: broken journal line"},
		{"duplicate member", strings.Replace(good, `"v":1`, `"v":1,"v":1`, 1), `j:1: broken journal line`},
		{"duplicate member deep", strings.Replace(good, `"run_id":"r"`, `"run_id":"r","run_id":"r"`, 1), `"/trial/run_id"`},
		{"unknown member", strings.Replace(good, `"run_id"`, `"colour":1,"run_id"`, 1), `colour`},
		{"newer version", strings.Replace(good, `"v":1`, `"v":2`, 1), "j:1: journal version is 2; this version reads 1"},
		{"wrong type", strings.Replace(good, `"turns":3`, `"turns":"3"`, 1), `"/trial/turns"`},
		{"invalid row", strings.Replace(good, `"turns":3`, `"turns":-3`, 1), "turns is -3"},
		{"invalid UTF-8", strings.Replace(good, `completed`, "\xff", 1), "j:1"},
		{"same trial twice", good + other + good, "j:3: trial \"a\" \"sim/weak\" \"x\" #0 is on line 1 already"},
		{"deep", `{"v":1,"trial":` + strings.Repeat("[", 100_000) + "\n", "j:1: broken journal line"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ReadJournal(strings.NewReader(c.data), "j")
			if err == nil || !strings.Contains(err.Error(), c.want) || got != nil {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if err != nil && len(err.Error()) > 1000 {
				t.Errorf("the error has %d characters", len(err.Error()))
			}
		})
	}
}

// TestJournalLineTooLong: with a limit of 1 MiB, as 64 take long.
func TestJournalLineTooLong(t *testing.T) {
	const limit = 1 << 20
	if _, err := readJournal(endless{}, "j", limit); err == nil || !strings.Contains(err.Error(), "j:1: line is over 1 MiB") {
		t.Errorf("error %v", err)
	}
	e := entry("a", "x", 9)
	e.Verdicts[0].Evidence = strings.Repeat("x", limit)
	if _, err := e.encode(limit); err == nil || !strings.Contains(err.Error(), "the limit is 1048576") {
		t.Errorf("error %v", err)
	}
	line, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	// Exactly at the limit it still reads.
	if _, err := readJournal(bytes.NewReader(line), "j", len(line)); err != nil {
		t.Error(err)
	}
	if _, err := readJournal(bytes.NewReader(line), "j", len(line)-1); err == nil {
		t.Error("one byte over the limit reads")
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestReadErrorIsNoTornLine(t *testing.T) {
	boom := errors.New("disk gone")
	_, err := ReadJournal(io.MultiReader(bytes.NewReader(lines(t, entry("a", "x", 0))), failing{boom}), "j")
	if !errors.Is(err, boom) || !strings.Contains(err.Error(), "j:2") {
		t.Errorf("error %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func FuzzReadJournal(f *testing.F) {
	e := entry("a", "x", 0)
	line, err := e.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	f.Add(append(line, line[:len(line)/2]...))
	f.Add([]byte(`{"v":1}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ReadJournal(bytes.NewReader(data), "j")
		if err != nil {
			return
		}
		// What was read can be written and read again, equal.
		var b bytes.Buffer
		for i := range c.Entries {
			line, err := c.Entries[i].Encode()
			if err != nil {
				t.Fatalf("entry %d was read but cannot be written: %v", i, err)
			}
			b.Write(line)
		}
		again, err := ReadJournal(&b, "again")
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.Entries, again.Entries); d != "" {
			t.Fatal(d)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	j, err := CreateJournal(filepath.Join(b.TempDir(), JournalFile))
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		if err := j.Append(entry("a", "x", n)); err != nil {
			b.Fatal(err)
		}
		n++
	}
	_ = j.Close()
}
