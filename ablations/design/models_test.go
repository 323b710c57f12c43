package design_test

import (
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/ablations/models"
	"github.com/harnessbench/harnessbench/scenarios"
)

const cardsFile = `schema: harnessbench/models/v1
date: 2026-01-01
source: made up
providers:
- {id: acme, base_url: "http://127.0.0.1:8000/v1", limits: {concurrency: 8}}
- {id: open, base_url: "http://127.0.0.1:9000/v1", any_model: true}
models:
- id: acme/large
  context_window: 9000
  params: {max_tokens: 400, temperature: 0.5, seed: true, extra: {top_k: 3}}
  prices: {input: 2, cache_read: 0.2, cache_write: 2, output: 8}
- {id: acme/small}
`

func cardsOf(t *testing.T, text string) *models.File {
	t.Helper()
	f, err := models.Parse("models.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// suiteOn is a suite of one scenario on models that are looked up in a file.
func suiteOn(t *testing.T, f *models.File, text string) (*design.Suite, []*scenarios.Scenario) {
	t.Helper()
	s, err := design.ParseSuite("suite.yaml", []byte("schema: harnessbench/suite/v1\nname: s\nscenarios: [builtin/retry-trap]\narms: [{name: default}]\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Use(f); err != nil {
		t.Fatal(err)
	}
	return s, list
}

// What a run keeps of a models file is what its suite uses, and no more.
func TestUse(t *testing.T) {
	f := cardsOf(t, cardsFile)
	s, err := design.ParseSuite("suite.yaml", []byte("schema: harnessbench/suite/v1\nname: s\nscenarios: [builtin/*]\nmodels: [sim/weak, open/any, acme/large]\narms: [{name: default}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	used, err := s.Use(f)
	if err != nil || len(used.Models) != 2 || used.Models[0].ID != "open/any" || used.Models[1].ID != "acme/large" || len(used.Providers) != 2 {
		t.Fatalf("%+v %v", used, err)
	}
	for models, want := range map[string]string{
		"[sim/weak, acme/huge]": `suite.yaml:4:20: model "acme/huge" is not in the models file; it has acme/large, acme/small; correct it`,
		"[other/x]":             `suite.yaml:4:10: model "other/x": the models file has no provider "other"`,
	} {
		s, err := design.ParseSuite("suite.yaml", []byte("schema: harnessbench/suite/v1\nname: s\nscenarios: [builtin/*]\nmodels: "+models+"\narms: [{name: default}]\n"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Use(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", models, err, want)
		}
	}
	if s, _ := suiteOn(t, f, "models: [sim/weak]\n"); s == nil {
		t.Error("no suite")
	}
}

// The prices and bounds of the models file are those of the estimate; where they
// are unknown, a cost is, and a budget in USD is refused.
func TestEstimateOfRealModels(t *testing.T) {
	s, list := suiteOn(t, cardsOf(t, cardsFile), "models: [acme/large, acme/small]\n")
	p, err := design.NewPlan(s, list)
	if err != nil {
		t.Fatal(err)
	}
	e := p.Estimate(nil)
	large, small := e.Rows[0], e.Rows[1]
	if small.Worst.USD != nil || small.Worst.Tokens == nil {
		t.Errorf("acme/small costs %v, takes %v tokens", small.Worst.USD, small.Worst.Tokens)
	}
	// Each call can read 9,000 tokens at 2 USD a million and write 4 x 400, which
	// truncated_empty asks for, at 8.
	if calls := *large.Worst.Calls; large.Worst.USD == nil || *large.Worst.USD <= 0 || *large.Worst.USD > calls*(9000*2+1600*8)/1e6 {
		t.Errorf("acme/large costs %v USD in %v calls", large.Worst.USD, calls)
	}
	s, list = suiteOn(t, cardsOf(t, cardsFile), "models: [acme/small]\nbudgets: {usd: 1}\n")
	if _, err := design.NewPlan(s, list); err == nil || !strings.Contains(err.Error(), "the price of acme/small is unknown") {
		t.Errorf("a budget on an unknown price: %v", err)
	}
	s, list = suiteOn(t, cardsOf(t, cardsFile), "models: [acme/large]\nbudgets: {usd: 1}\n")
	if _, err := design.NewPlan(s, list); err != nil {
		t.Errorf("a budget on a known price: %v", err)
	}
}

// The lock holds what decides what is asked, so that its plan can be made again
// without the file, and nothing of where models are reached.
func TestLockOfRealModels(t *testing.T) {
	s, list := suiteOn(t, cardsOf(t, cardsFile), "models: [sim/weak, acme/large, acme/small]\n")
	p, err := design.NewPlan(s, list)
	if err != nil {
		t.Fatal(err)
	}
	text, err := p.Lock().Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, machine := range []string{"127.0.0.1", "concurrency", "base_url"} {
		if strings.Contains(string(text), machine) {
			t.Errorf("the lock holds %s:\n%s", machine, text)
		}
	}
	l, err := design.ParseLock("suite.lock.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	again, err := design.PlanFromLock(l, "")
	if err != nil {
		t.Fatal(err)
	}
	a, b := p.Card("acme/large"), again.Card("acme/large")
	if b == nil || b.Window != 9000 || b.MaxTokens != a.MaxTokens || *b.Temperature != 0.5 || !b.Seed || b.Price.Output == nil || *b.Price.Output != 8e6 {
		t.Errorf("%+v, then %+v", a, b)
	}
	same := map[string]string{
		"":                             cardsFile,
		"127.0.0.1:8000":               strings.Replace(cardsFile, "127.0.0.1:8000", "127.0.0.1:8001", 1),
		"something else of acme/large": strings.Replace(cardsFile, "temperature: 0.5", "temperature: 0.6", 1),
		"another time or place":        strings.Replace(cardsFile, "2026-01-01", "2026-01-02", 1),
		"is not in the models file":    strings.Replace(cardsFile, "acme/small", "acme/tiny", 1),
	}
	for want, file := range same {
		err := again.Same(cardsOf(t, file))
		if moved := want == "" || want == "127.0.0.1:8000"; moved != (err == nil) || !moved && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	bad := strings.Replace(string(text), `"id":"acme/large"`, `"id":"acme/other"`, 1)
	if l, err = design.ParseLock("suite.lock.yaml", []byte(bad)); err == nil {
		_, err = design.PlanFromLock(l, "")
	}
	if err == nil || !strings.Contains(err.Error(), "changed by hand") {
		t.Errorf("a lock with another model: %v", err)
	}
}
