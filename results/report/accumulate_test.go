package report

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/results"
)

// TestColumns: a row of trials.parquet, with its lists in columns, says what the journal's
// row says.
func TestColumns(t *testing.T) {
	rows := fixture()
	want := compute(t, fixtureMeta(), rows)
	var m results.TrialColumns
	m.Fill(rows)
	for i := range rows {
		rows[i].Guards, rows[i].Tags = nil, nil
	}
	if d := cmp.Diff(want, compute(t, fixtureMeta(), rows)); d != "" {
		t.Errorf("columns and lists differ:\n%s", d)
	}
	rows[3].FiredShadow = "stuck:x:1"
	if _, err := Compute(fixtureMeta(), rows, nil); err == nil || !strings.Contains(err.Error(), "trial ") || !strings.Contains(err.Error(), `"stuck:x:1"`) {
		t.Errorf("a broken column: %v", err)
	}
}

// TestManyGuards: a trial keeps one bit of each compared guard.
func TestManyGuards(t *testing.T) {
	var meta Meta
	for i := range maxGuards + 1 {
		meta.Comparisons = append(meta.Comparisons, Comparison{Guard: fmt.Sprint("g", i), Base: "a", Arm: "b"})
	}
	if _, err := NewAccumulator(meta); err == nil || !strings.Contains(err.Error(), "65 guards") {
		t.Errorf("error %v", err)
	}
	meta.Comparisons = meta.Comparisons[1:]
	if _, err := NewAccumulator(meta); err != nil {
		t.Error(err)
	}
}

// maxBytes is what one more trial may make the program allocate, its row and the name of
// its session not counted: slices grow by copying, so some times what is kept.
const maxBytes = 400

// TestMemory: a million trials must fit, so one may not take much; of what is allocated
// for the report of few trials, more trials of the same cells need a share only.
func TestMemory(t *testing.T) {
	const most = 200 // repetitions
	row := fixture()[0]
	grown := func(reps int) float64 {
		x, err := NewAccumulator(fixtureMeta())
		must(t, err)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		n := 0
		for scenario := range 20 {
			row.Scenario = fmt.Sprint("s", scenario)
			for _, arm := range fixtureArms {
				row.Arm = arm
				for rep := range reps {
					row.Repetition = rep
					must(t, x.Add(&row))
					n++
				}
			}
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc-before.TotalAlloc) / float64(n)
	}
	if got := grown(most); got > maxBytes {
		t.Errorf("a trial allocates %.0f bytes; want at most %d", got, maxBytes)
	}
}
