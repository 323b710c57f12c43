package design

import (
	"slices"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/ablations/models"
)

const fallbackSuite = `schema: harnessbench/suite/v1
name: f
scenarios: [builtin/dead-endpoint]
models: [sim/weak, sim/oracle]
fallback: [sim/oracle, sim/strong]
arms:
- {name: plain}
- {name: falls, guards: {fallback: enforce}}
- {name: own, guards: {fallback: {mode: enforce, models: 1}}, fallback: [sim/medium]}
`

func fallbackPlan(t *testing.T, text string) *Plan {
	t.Helper()
	s, err := ParseSuite("suite.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlan(s, list)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Arms have the suite's list, or their own; the models that only a fallback asks are
// looked up, priced and locked with the others; the lock gives the same plan.
func TestFallbackLists(t *testing.T) {
	p := fallbackPlan(t, fallbackSuite)
	var got []string
	for _, a := range p.Arms {
		got = append(got, a.Name+": "+strings.Join(a.Fallback, " "))
	}
	if want := []string{"plain: sim/oracle sim/strong", "falls: sim/oracle sim/strong", "own: sim/medium"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if want := []string{"sim/weak", "sim/oracle", "sim/medium", "sim/strong"}; !slices.Equal(p.Suite.Asked(), want) {
		t.Errorf("asked are %v", p.Suite.Asked())
	}
	l := p.Lock()
	data, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseLock("lock", data)
	if err != nil {
		t.Fatal(err)
	}
	q, err := PlanFromLock(again, "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.Arms {
		if !slices.Equal(p.Arms[i].Fallback, q.Arms[i].Fallback) {
			t.Errorf("arm %s comes back with %v", p.Arms[i].Name, q.Arms[i].Fallback)
		}
	}
	again.Arms[2].Fallback = []string{"sim/noop"}
	if _, err := PlanFromLock(again, ""); err == nil {
		t.Error("another list has the arm's digest")
	}
	if len(p.Warnings()) != 0 {
		t.Error(p.Warnings())
	}
}

// A lock without lists is what it was before there were any.
func TestNoFallbackInOldLocks(t *testing.T) {
	p := fallbackPlan(t, strings.Replace(fallbackSuite, "fallback: [sim/oracle, sim/strong]\n", "", 1)[:strings.Index(fallbackSuite, "- {name: falls")-len("fallback: [sim/oracle, sim/strong]\n")])
	data, err := new(p.Lock()).Encode()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(strings.ReplaceAll(string(data), `"fallback":`, ""), "fallback:") {
		t.Errorf("%s", data)
	}
}

func TestFallbackMistakes(t *testing.T) {
	for _, tt := range []struct{ from, to, want string }{
		{"fallback: [sim/oracle, sim/strong]", "fallback: [sim/oracle, sim/oracle]", `suite.yaml:5:24: the model "sim/oracle" stand twice`},
		{"fallback: [sim/oracle, sim/strong]", "fallback: [oracle]", `"oracle" names no model`},
		{"fallback: [sim/medium]", "fallback: [sim/medium, sim/medium]", `the model "sim/medium" stands twice in its fallback`},
		{"fallback: [sim/medium]", "fallback: [m]", `"m" names no model`},
		{"fallback: [sim/medium]", "fallback: [sim/nobody]", `no simulated model "sim/nobody"`},
		{"fallback: [sim/medium]", "fallback: [openai/x]", `model sim/weak cannot fall back to openai/x: simulated models and others keep different times`},
	} {
		text := strings.Replace(fallbackSuite, tt.from, tt.to, 1)
		s, err := ParseSuite("suite.yaml", []byte(text))
		if err == nil {
			s.cards = nil
			list, rerr := s.Resolve()
			if rerr != nil {
				t.Fatal(rerr)
			}
			_, err = NewPlan(s, list)
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v\nwant %s", tt.to, err, tt.want)
		}
	}
}

// An enforced guard without a list is said once.
func TestFallbackWarning(t *testing.T) {
	none := strings.Replace(strings.Replace(fallbackSuite, "fallback: [sim/oracle, sim/strong]\n", "", 1), ", fallback: [sim/medium]", "", 1)
	if w := fallbackPlan(t, none).Warnings(); len(w) != 1 || !strings.Contains(w[0], "2 arms enforce the guard fallback and name no models") {
		t.Error(w)
	}
	one := strings.Replace(none, "- {name: own, guards: {fallback: {mode: enforce, models: 1}}}\n", "", 1)
	if w := fallbackPlan(t, one).Warnings(); len(w) != 1 || !strings.Contains(w[0], "arm falls enforces the guard fallback") {
		t.Error(w)
	}
}

// What a plan takes at most counts the calls of all models that a turn may turn to,
// at the price of the dearest.
func TestFallbackEstimate(t *testing.T) {
	p := fallbackPlan(t, fallbackSuite)
	need := map[string]float64{}
	for i := range p.Trials {
		if tr := &p.Trials[i]; tr.Model == "sim/weak" {
			need[tr.Arm.Name] = *p.worstOf(tr).Calls
		}
	}
	// The call of final_synthesis is one in every arm.
	if need["falls"]-1 != 3*(need["plain"]-1) || need["own"]-1 != 2*(need["plain"]-1) {
		t.Errorf("%v", need)
	}
}

// Models that only a fallback asks are looked up in the models file too.
func TestFallbackCards(t *testing.T) {
	f, err := models.Parse("models.yaml", []byte(`schema: harnessbench/models/v1
date: 2026-01-01
source: a test
providers:
- {id: acme, base_url: "http://127.0.0.1:1/v1"}
models:
- {id: acme/large, context_window: 1000, params: {max_tokens: 100}}
- {id: acme/small, params: {max_tokens: 50, temperature: 0.5}, prices: {input: 1, cache_read: 1, cache_write: 1, output: 2}}
`))
	if err != nil {
		t.Fatal(err)
	}
	s, err := ParseSuite("suite.yaml", []byte(`schema: harnessbench/suite/v1
name: f
scenarios: [builtin/dead-endpoint]
models: [acme/large]
fallback: [acme/small]
arms: [{name: falls, guards: {fallback: enforce}}]
`))
	if err != nil {
		t.Fatal(err)
	}
	used, err := s.Use(f)
	if err != nil || len(used.Models) != 2 {
		t.Fatalf("%+v, %v", used, err)
	}
	list, err := s.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlan(s, list)
	if err != nil {
		t.Fatal(err)
	}
	spec := p.spec(&p.Trials[0])
	set, err := spec.Settings()
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Fallbacks) != 1 || set.Fallbacks[0].Model != "acme/small" || set.Fallbacks[0].MaxTokens != 50 || *set.Fallbacks[0].Temperature != 0.5 || set.Params.MaxTokens != 100 {
		t.Errorf("%+v", set.Fallbacks)
	}
	if _, known := set.Prices["acme/small"]; !known || len(set.Prices) != 1 {
		t.Errorf("%+v", set.Prices)
	}
	s.Budgets.MicroUSD = 1
	if _, err := NewPlan(s, list); err == nil || !strings.Contains(err.Error(), "the price of acme/large is unknown") {
		t.Error(err)
	}
	s.Fallback, s.others = []string{"acme/none"}, []string{"acme/none"}
	if _, err := s.Use(f); err == nil || !strings.HasPrefix(err.Error(), "suite.yaml:5:") {
		t.Error(err)
	}
}
