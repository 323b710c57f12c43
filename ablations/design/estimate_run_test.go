package design_test

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"github.com/harnessbench/harnessbench/ablations"
	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/results"
)

// No trial of the starter suite takes more than its worst case, and what an
// earlier run of the same suite took is what is typical.
func TestEstimateHolds(t *testing.T) {
	s, list, err := design.OpenSuite(design.DefaultSuite)
	if err != nil {
		t.Fatal(err)
	}
	s.Repetitions = 1
	p, err := design.NewPlan(s, list)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := ablations.Run(context.Background(), p, ablations.RunOptions{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	c, err := results.ReadJournalFile(filepath.Join(dir, results.JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	worst := map[results.TrialKey]design.Need{}
	for i := range p.Trials {
		worst[p.Trials[i].Key()] = design.WorstOf(&p.Trials[i])
	}
	rows := c.Trials()
	spent := 0.0
	for i := range rows {
		got, most := design.NeedOf(&rows[i]), worst[rows[i].Key()]
		if *got.Calls > *most.Calls || *got.Tokens > *most.Tokens || *got.USD > *most.USD || *got.Seconds > *most.Seconds {
			t.Errorf("%s took more than its worst case: %v of %v calls, %v of %v tokens, %v of %v USD, %v of %v s", rows[i].Key(),
				*got.Calls, *most.Calls, *got.Tokens, *most.Tokens, *got.USD, *most.USD, *got.Seconds, *most.Seconds)
		}
		spent += *rows[i].SpentUSD
	}
	e := p.Estimate(rows)
	if e.Total.Trials != len(rows) || e.Total.Typical.SpentUSD == nil || math.Abs(*e.Total.Typical.SpentUSD-spent) > 1e-9 {
		t.Errorf("typical %+v, spent %v", e.Total.Typical, spent)
	}
	// a scenario that the earlier run did not have is unknown, and so is the sum
	kept := rows[:0:0]
	for _, r := range rows {
		if r.Scenario != list[0].ID {
			kept = append(kept, r)
		}
	}
	if e = p.Estimate(kept); e.Rows[0].Typical.Calls != nil || e.Total.Typical.Calls != nil || e.Rows[len(e.Rows)-1].Typical.Calls == nil {
		t.Errorf("%+v", e.Total.Typical)
	}
	// an unknown price stays unknown
	rows[0].SpentUSD = nil
	if e = p.Estimate(rows); e.Total.Typical.SpentUSD != nil || e.Total.Typical.USD == nil {
		t.Errorf("%+v", e.Total.Typical)
	}
}
