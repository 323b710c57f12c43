package ablations_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/ablations"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/cache"
)

// What a fallback did is told by the rows of its calls: which model was asked, at
// its own price. Arms share answers of either model.
func TestFallbackRows(t *testing.T) {
	dir, _, trials := execute(t, `schema: harnessbench/suite/v1
name: fallback
scenarios: [builtin/dead-endpoint, builtin/withdrawn-model]
models: [sim/trap-fallback]
fallback: [sim/strong, sim/oracle]
arms: [{name: plain}, {name: falls, guards: {fallback: enforce}}, {name: again, guards: {fallback: enforce, dedupe: enforce}}]
budgets: {usd: 5, tokens: 1000000}
`, nil)
	got := tables(t, dir, trials[0].RunID)
	var calls []string
	spent := map[string]float64{}
	for i := range got.trials {
		tr := &got.trials[i]
		checkTrial(t, tr, &got)
		if want := map[string]string{"plain": "fail"}[tr.Arm]; (tr.Verdict == "pass") == (want == "fail") {
			t.Errorf("%v: %s", tr.Key(), tr.Verdict)
		}
		if tr.Scenario == "dead-endpoint" {
			spent[tr.Arm] += *tr.SpentUSD
		}
	}
	for i := range got.models {
		if r := &got.models[i]; r.Arm == "falls" && r.Scenario == "dead-endpoint" {
			calls = append(calls, strings.TrimPrefix(r.Called, "sim/"))
		}
	}
	if want := "trap-fallback trap-fallback trap-fallback trap-fallback trap-fallback strong trap-fallback"; strings.Join(calls, " ") != want {
		t.Errorf("asked %v", calls)
	}
	free := slices.Sorted(func(yield func(float64) bool) {
		for _, arm := range []string{"falls", "again"} {
			if !yield(spent[arm]) {
				return
			}
		}
	})
	if free[0] >= free[1] || free[0] > 1e-9 {
		t.Errorf("the arms that fall back alike spent %v", spent)
	}
}

// A run is taken up with the answers that its cache had when it began.
func TestOpenCache(t *testing.T) {
	run, dir := t.TempDir(), t.TempDir()
	open := func(dir string, resume bool) cache.Store {
		t.Helper()
		s, err := ablations.OpenCache(run, dir, resume)
		must(t, err)
		return s
	}
	if s := open("", false); s != nil {
		t.Error("a cache without a folder")
	}
	if s := open("", true); s != nil {
		t.Error("a cache without a folder")
	}
	if _, err := ablations.OpenCache(run, dir, true); err == nil {
		t.Error("a run that began without a cache gets one")
	}
	first := open(dir, false)
	must(t, first.Put(cache.Key{1}, &model.Response{Finish: model.FinishStop}))
	for _, s := range []cache.Store{first, open(dir, true)} {
		if r, err := s.Get(cache.Key{1}); r != nil || err != nil {
			t.Errorf("%+v, %v: it reads what it stored", r, err)
		}
	}
	if r, err := open(dir, false).Get(cache.Key{1}); r == nil || err != nil {
		t.Errorf("%v: a later run does not read it", err)
	}
	if _, err := ablations.OpenCache(run, "", true); err == nil || !strings.Contains(err.Error(), "--response-cache") {
		t.Error(err)
	}
	if _, err := ablations.OpenCache(run, dir+"/none", true); err == nil {
		t.Error("a folder that is not there")
	}
}
