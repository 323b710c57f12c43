package loop_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"context"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
)

func fullSettings(t testing.TB) loop.Settings {
	temp, top, seed := 0.5, 0.9, int64(42)
	return loop.Settings{Scenario: "needle", Repetition: 3, Seed: math.MaxUint64, System: "Be brief.", Task: "Find it.",
		Models: []string{"fake/a", "fake/b"},
		Params: model.Params{Model: "fake/a", MaxTokens: 500, Temperature: &temp, TopP: &top, Seed: &seed},
		Tools: []tool.Spec{{ToolSpec: model.ToolSpec{Name: "look", Version: 2, Description: "Looks.", Schema: `{"type":"object"}`}, Effect: event.Read},
			{ToolSpec: model.ToolSpec{Name: "act", Version: 1, Schema: `{}`}, Effect: event.External, Parallel: true}},
		Guards: guards(t, guard.ProfileDefault), Limits: guard.Backstop{Turns: 16, Calls: 64, Tokens: 1000, MicroUSD: 50, Wall: 10 * time.Minute},
		Window: 16000, Prices: map[string]loop.Prices{"fake/b": {1, 2, 3, 4}, "fake/a": {5, 6, 7, 8}}, Extra: `{"checks":[1]}`}
}

func freeze(t testing.TB, s loop.Settings) loop.Config {
	t.Helper()
	c, err := loop.Freeze(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConfigJSONIsCanonical(t *testing.T) {
	c := freeze(t, fullSettings(t))
	v := jsontext.Value(c.JSON())
	if err := v.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil || string(v) != c.JSON() {
		t.Errorf("%v\n%s\n%s", err, c.JSON(), v)
	}
	if c.Digest() != model.Sum([]byte(c.JSON())) || !c.Intact() {
		t.Error("the digest is not that of the JSON")
	}
	if again := freeze(t, fullSettings(t)); again.JSON() != c.JSON() || again.Digest() != c.Digest() {
		t.Error("equal settings give two configurations")
	}
	if thawed := freeze(t, c.Settings()); thawed.Digest() != c.Digest() {
		t.Error("Settings does not give back what was frozen")
	}
}

// Whatever differs must show in the digest, or a replay under other settings
// would pass for the same.
func TestEverySettingReachesTheDigest(t *testing.T) {
	half, one := 0.25, int64(1)
	changes := map[string]func(*loop.Settings){
		"scenario":    func(s *loop.Settings) { s.Scenario = "x" },
		"repetition":  func(s *loop.Settings) { s.Repetition++ },
		"seed":        func(s *loop.Settings) { s.Seed-- },
		"system":      func(s *loop.Settings) { s.System += "." },
		"no system":   func(s *loop.Settings) { s.System = "" },
		"task":        func(s *loop.Settings) { s.Task += "." },
		"models":      func(s *loop.Settings) { s.Models = []string{"fake/a"} },
		"max_tokens":  func(s *loop.Settings) { s.Params.MaxTokens++ },
		"temperature": func(s *loop.Settings) { s.Params.Temperature = &half },
		"top_p":       func(s *loop.Settings) { s.Params.TopP = nil },
		"api seed":    func(s *loop.Settings) { s.Params.Seed = &one },
		"tool order":  func(s *loop.Settings) { s.Tools = []tool.Spec{s.Tools[1], s.Tools[0]} },
		"a tool less": func(s *loop.Settings) { s.Tools = s.Tools[:1] },
		"description": func(s *loop.Settings) { s.Tools[0].Description += "!" },
		"version":     func(s *loop.Settings) { s.Tools[0].Version++ },
		"schema":      func(s *loop.Settings) { s.Tools[0].Schema = `{"type":"array"}` },
		"effect":      func(s *loop.Settings) { s.Tools[0].Effect = event.Write },
		"parallel":    func(s *loop.Settings) { s.Tools[0].Parallel = true },
		"guard mode":  func(s *loop.Settings) { s.Guards = guards(t, guard.ProfileDefault, "stuck=shadow") },
		"guard param": func(s *loop.Settings) { s.Guards = guards(t, guard.ProfileDefault, "stuck.abort=7") },
		"turns":       func(s *loop.Settings) { s.Limits.Turns++ },
		"calls":       func(s *loop.Settings) { s.Limits.Calls++ },
		"tokens":      func(s *loop.Settings) { s.Limits.Tokens++ },
		"cost":        func(s *loop.Settings) { s.Limits.MicroUSD++ },
		"wall":        func(s *loop.Settings) { s.Limits.Wall += time.Microsecond },
		"window":      func(s *loop.Settings) { s.Window++ },
		"price":       func(s *loop.Settings) { s.Prices["fake/a"] = loop.Prices{5, 6, 7, 9} },
		"price less":  func(s *loop.Settings) { delete(s.Prices, "fake/b"); s.Limits.MicroUSD = 0 },
		"extra":       func(s *loop.Settings) { s.Extra = `{"checks":[2]}` },
	}
	seen := map[model.Digest]string{freeze(t, fullSettings(t)).Digest(): "nothing"}
	for name, change := range changes {
		s := fullSettings(t)
		change(&s)
		d := freeze(t, s).Digest()
		if other, ok := seen[d]; ok {
			t.Errorf("changing %s and changing %s give one digest", name, other)
		}
		seen[d] = name
	}
}

func TestFreezeRefuses(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, spoil := range map[string]func(*loop.Settings){
		"the task is empty":    func(s *loop.Settings) { s.Task = "" },
		"the price of model":   func(s *loop.Settings) { delete(s.Prices, "fake/b") },
		"no model":             func(s *loop.Settings) { s.Models = nil },
		"params name model":    func(s *loop.Settings) { s.Params.Model = "fake/b" },
		"negative repetition":  func(s *loop.Settings) { s.Repetition = -1 },
		"extra is no JSON":     func(s *loop.Settings) { s.Extra = `{"a":1,"a":2}` },
		"no JSON object":       func(s *loop.Settings) { s.Extra = `[]` },
		"max_tokens -1":        func(s *loop.Settings) { s.Params.MaxTokens = -1 },
		"max_tokens 9":         func(s *loop.Settings) { s.Params.MaxTokens = math.MaxInt },
		"is NaN":               func(s *loop.Settings) { s.Params.Temperature = &nan },
		"is +Inf":              func(s *loop.Settings) { s.Params.TopP = &inf },
		"tool without a name":  func(s *loop.Settings) { s.Tools[0].Name = "" },
		"given twice":          func(s *loop.Settings) { s.Tools[1].Name = "look" },
		"the schema is no JSO": func(s *loop.Settings) { s.Tools[0].Schema = "" },
	} {
		s := fullSettings(t)
		spoil(&s)
		if _, err := loop.Freeze(s); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Nothing reaches a frozen configuration: not through what it was made from, not
// through what it gives out.
func TestFrozenConfigCannotBeChanged(t *testing.T) {
	s := fullSettings(t)
	c := freeze(t, s)
	was, json := c.Digest(), c.JSON()
	spoil := func(s loop.Settings) {
		s.Models[0], s.Models[1] = "evil/model", "evil/model"
		s.Tools[0].Name, s.Tools[1].Schema = "evil", "[]"
		s.Prices["fake/a"] = loop.Prices{}
		delete(s.Prices, "fake/b")
		*s.Params.Temperature, *s.Params.TopP, *s.Params.Seed = 2, 0, 0
		s.Guards.Get("stuck").Values[0] = 999
	}
	spoil(s)
	spoil(c.Settings())
	for _, p := range c.Parts() {
		p.JSON[0] = 'x'
	}
	if !c.Intact() || c.Digest() != was || c.JSON() != json {
		t.Error("the configuration changed")
	}
	if diff := cmp.Diff(fullSettings(t).Models, c.Settings().Models); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(fullSettings(t).Tools, c.Settings().Tools); diff != "" {
		t.Error(diff)
	}
	if string(c.Parts()[0].JSON[:1]) != "{" {
		t.Error("Parts gives out what it keeps")
	}
}

// A model that writes to what it was asked is found out at the end.
func TestConfigIsCheckedAtTheEnd(t *testing.T) {
	temp := 0.5
	m := &scripted{answer: func(_ int, _ context.Context, req *model.Request) (*model.Response, error) {
		*req.Params.Temperature = 2
		return say("done"), nil
	}}
	tr := newTrial(t, m, nil, guard.ProfileDefault)
	tr.Params.Temperature = &temp
	end := tr.wantEnd(t, event.InternalError)
	if !strings.Contains(end.Evidence, "configuration") || temp != 0.5 {
		t.Errorf("%+v, the caller's temperature is %g", end, temp)
	}
}

func TestParts(t *testing.T) {
	s := fullSettings(t)
	var got []string
	for _, p := range freeze(t, s).Parts() {
		got = append(got, string(p.Kind)+" "+string(p.Role))
	}
	wantLines(t, got, "tool ", "tool ", "system system", "message user")
	s.System, s.Tools = "", nil
	if n := len(freeze(t, s).Parts()); n != 1 {
		t.Errorf("%d parts without tools and system prompt", n)
	}
}
