package report

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/results/importer"
)

type nowhere struct{}

func (nowhere) Emit(event.Event) error { return nil }

// TestTauBench imports the 200 recorded trials of gpt-4o, airline, and compares
// the report with the table that tau-bench publishes and with what follows from
// its file.
func TestTauBench(t *testing.T) {
	path := filepath.Join("..", "..", "..", "shared", "data", "tau-bench", "gpt-4o-airline.json")
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		t.Skipf("no recorded trials at %s: put tau-bench's historical_trajectories/gpt-4o-airline.json there", path)
	}
	format, ok := importer.Lookup("tau-bench")
	if !ok {
		t.Fatal("there is no importer tau-bench")
	}
	res, err := format.Import(path, importer.Options{Open: func(string, *session.Header) (importer.Target, error) {
		return importer.Target{Sink: nowhere{}, Close: func() (model.Digest, error) { return model.Digest{}, nil }}, nil
	}})
	must(t, err)
	var rows []results.Trial
	for _, e := range res.Entries("r", "tau") {
		rows = append(rows, e.Trial)
	}
	s := compute(t, Meta{RunID: "r", Suite: "tau", Repetitions: 4}, rows)
	if len(s.Main.Arms) != 1 {
		t.Fatalf("%d arms", len(s.Main.Arms))
	}
	a := s.Main.Arms[0]
	if a.Scenarios != 50 || a.Trials != 200 || a.Graded != 200 || a.Passed != 84 || a.Errored != 0 {
		t.Errorf("%d scenarios, %d trials, %d graded, %d passed, %d errored", a.Scenarios, a.Trials, a.Graded, a.Passed, a.Errored)
	}
	near := func(what string, got *float64, want, within float64) {
		t.Helper()
		if got == nil || math.Abs(*got-want) > within {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	near("rate", a.Rate, 0.42, 1e-12)
	near("clustered standard error", a.SEClustered, 0.0522, 5e-5)
	near("naive standard error", a.SENaive, 0.0349, 5e-5)
	for i, want := range []float64{0.42, 41.0 / 150, 0.22, 0.20} {
		near(fmt.Sprintf("pass^%d", i+1), a.PassHat[fmt.Sprint(i+1)], want, 1e-12)
	}
	for i, want := range []float64{0.42, 85.0 / 150, 0.66, 0.72} {
		near(fmt.Sprintf("pass@%d", i+1), a.PassAt[fmt.Sprint(i+1)], want, 1e-12)
	}
	if a.Tokens != nil || a.CostUSD != nil || a.CostOfPass != nil || a.CostOfPassState != Unknown || a.Time.ModelUS != nil {
		t.Errorf("what was not recorded must be unknown: tokens %v, cost %v, time %+v", a.Tokens, a.CostUSD, a.Time)
	}
	out := strings.Join(strings.Fields(text(t, s, TextOptions{})), " ")
	for _, want := range []string{"0.420 0.273 0.220 0.200 0.420 0.567 0.660 0.720", "0.420 0.0522 0.0349"} {
		if !strings.Contains(out, want) {
			t.Errorf("text lacks %q:\n%s", want, text(t, s, TextOptions{}))
		}
	}
}
