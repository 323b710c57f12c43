package loop

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
)

// Behaviour is the version of the loop's own behaviour: raised whenever the same
// answers and results lead to other events, guards apart, which have versions of
// their own. A configuration says it as "loop" from 2 on.
const Behaviour = 1

// Settings are what a loop is configured with, before they are frozen.
type Settings struct {
	Scenario   string   // its id
	Repetition int      // from 0
	Seed       uint64   // of the suite
	System     string   // system prompt
	Task       string   // first user message
	Models     []string // provider/name; the first is asked, the others are for fallback
	Params     model.Params
	// Fallbacks are the params of Models[1:], in their order; none = those of
	// Params under the other names.
	Fallbacks []model.Params
	Tools     []tool.Spec
	Guards    guard.Settings
	Limits    guard.Backstop
	Window    int               // context window in tokens, 0 = unknown
	Prices    map[string]Prices // by model id; a model without an entry has no known price
	Extra     string            // canonical JSON object: what the surroundings froze (checks, permissions)
	// Contract is what acceptance checks, in words for the model, a condition each.
	// It follows from Extra, so JSON and digest do not repeat it.
	Contract []string
}

// Prices of a model in units of 1e-12 USD a token: 1 USD per million tokens is
// 1,000,000.
type Prices struct {
	InputUncached, CacheRead, CacheWrite, Output int64
}

// Config is a frozen configuration. Nothing reaches it any more: what it was
// made from was copied, and what it gives out are copies. The zero Config is
// not usable.
type Config struct {
	s      Settings
	frozen bool
	digest model.Digest
	params model.Digest // of s.Params
}

// Freeze checks and copies settings.
func Freeze(s Settings) (Config, error) {
	switch {
	case s.Task == "":
		return Config{}, errors.New("loop: the task is empty")
	case len(s.Models) == 0:
		return Config{}, errors.New("loop: no model")
	case s.Params.Model != s.Models[0]:
		return Config{}, fmt.Errorf("loop: params name model %q, the list begins with %q", s.Params.Model, s.Models[0])
	case len(s.Fallbacks) > 0 && !s.namesFallbacks():
		return Config{}, errors.New("loop: the params for fallback are not those of the models after the first")
	case s.Repetition < 0:
		return Config{}, errors.New("loop: a negative repetition")
	}
	if err := s.costsKnown(); err != nil {
		return Config{}, err
	}
	if s.Extra == "" {
		s.Extra = "{}"
	}
	if v := jsontext.Value(s.Extra); v.Kind() != '{' || !v.IsValid() {
		return Config{}, fmt.Errorf("loop: extra is no JSON object: %.80q", s.Extra)
	}
	for _, p := range append([]model.Params{s.Params}, s.Fallbacks...) {
		if err := checkParams(p); err != nil {
			return Config{}, err
		}
	}
	if err := checkTools(s.Tools); err != nil {
		return Config{}, err
	}
	c := Config{s: s.clone()}
	c.frozen, c.digest = true, model.Sum(c.s.appendJSON(nil))
	c.params = c.s.Params.Digest()
	return c, nil
}

// namesFallbacks reports whether the params for fallback are those of the models
// after the first.
func (s *Settings) namesFallbacks() bool {
	return slices.EqualFunc(s.Fallbacks, s.Models[1:], func(p model.Params, id string) bool { return p.Model == id })
}

// checkParams refuses what has no JSON form or makes no sense to any provider.
func checkParams(p model.Params) error {
	if p.MaxTokens < 0 || p.MaxTokens > maxMaxTokens {
		return fmt.Errorf("loop: max_tokens %d is outside 0..%d", p.MaxTokens, maxMaxTokens)
	}
	for _, v := range []*float64{p.Temperature, p.TopP} {
		if v != nil && (math.IsNaN(*v) || math.IsInf(*v, 0)) {
			return fmt.Errorf("loop: a sampling parameter is %g", *v)
		}
	}
	return nil
}

// maxMaxTokens leaves room for what truncated_empty multiplies it by.
const maxMaxTokens = 1 << 40

// checkTools refuses specs that cannot be told apart or have no JSON form.
func checkTools(tools []tool.Spec) error {
	seen := make(map[string]bool, len(tools))
	for i := range tools {
		t := &tools[i]
		switch {
		case t.Name == "":
			return errors.New("loop: a tool without a name")
		case seen[t.Name]:
			return fmt.Errorf("loop: tool %q is given twice", t.Name)
		case !jsontext.Value(t.Schema).IsValid():
			return fmt.Errorf("loop: tool %q: the schema is no JSON", t.Name)
		}
		seen[t.Name] = true
	}
	return nil
}

// costsKnown refuses a cost budget that could not be kept.
func (s *Settings) costsKnown() error {
	if s.Limits.MicroUSD == 0 && (s.Guards.Mode("limits") == guard.Off || s.Guards.Param("limits", "cost") == 0) {
		return nil
	}
	for _, id := range s.Models {
		if _, ok := s.Prices[id]; !ok {
			return fmt.Errorf("loop: there is a cost budget, and the price of model %q is not known; give it a price or drop the budget", id)
		}
	}
	return nil
}

func (s Settings) clone() Settings {
	s.Models = slices.Clone(s.Models)
	s.Tools = slices.Clone(s.Tools)
	s.Contract = slices.Clone(s.Contract)
	prices := make(map[string]Prices, len(s.Prices))
	for k, v := range s.Prices {
		prices[k] = v
	}
	s.Prices = prices
	s.Params = cloneParams(s.Params)
	s.Fallbacks = slices.Clone(s.Fallbacks)
	for i := range s.Fallbacks {
		s.Fallbacks[i] = cloneParams(s.Fallbacks[i])
	}
	return s
}

func cloneParams(p model.Params) model.Params {
	p.Temperature, p.TopP, p.Seed = clonePtr(p.Temperature), clonePtr(p.TopP), clonePtr(p.Seed)
	return p
}

func clonePtr[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// Settings returns a copy of what was frozen.
func (c Config) Settings() Settings { return c.s.clone() }

// Digest returns the SHA-256 digest of JSON.
func (c Config) Digest() model.Digest { return c.digest }

// JSON returns the canonical JSON of the configuration. System prompt, task and
// tool descriptions stand in it by the digest of their part; the parts
// themselves are in the session.
func (c Config) JSON() string { return string(c.s.appendJSON(nil)) }

// Intact reports whether the configuration still is what was frozen.
func (c Config) Intact() bool { return model.Sum(c.s.appendJSON(nil)) == c.digest }

// Parts returns the parts that open every conversation, in wire order: tool
// specs, system prompt, task.
func (c Config) Parts() []*model.Part {
	var out []*model.Part
	for i := range c.s.Tools {
		out = append(out, model.NewToolPart(c.s.Tools[i].ToolSpec))
	}
	if c.s.System != "" {
		out = append(out, model.NewTextPart(model.System, c.s.System))
	}
	return append(out, model.NewTextPart(model.User, c.s.Task))
}

func (s *Settings) appendJSON(b []byte) []byte {
	b = append(b, `{"extra":`...)
	b = append(b, s.Extra...)
	for i, p := range s.Fallbacks {
		b = append(b, [...]string{`,"fallbacks":[`, ","}[min(i, 1)]...)
		b = p.AppendJSON(b)
		if i == len(s.Fallbacks)-1 {
			b = append(b, ']')
		}
	}
	b = append(b, `,"guards":`...)
	b = s.Guards.AppendJSON(b)
	b = append(b, `,"limits":{`...)
	b = appendInt(b, `"calls":`, s.Limits.Calls)
	b = appendInt(b, `,"micro_usd":`, s.Limits.MicroUSD)
	b = appendInt(b, `,"tokens":`, s.Limits.Tokens)
	b = appendInt(b, `,"turns":`, s.Limits.Turns)
	b = appendInt(b, `,"wall_us":`, s.Limits.Wall.Microseconds())
	b = append(b, `},"models":[`...)
	for i, m := range s.Models {
		if i > 0 {
			b = append(b, ',')
		}
		b = model.AppendString(b, m)
	}
	b = append(b, `],"params":`...)
	b = s.Params.AppendJSON(b)
	b = s.appendPrices(b)
	b = appendInt(b, `,"repetition":`, int64(s.Repetition))
	b = append(b, `,"scenario":`...)
	b = model.AppendString(b, s.Scenario)
	b = append(b, `,"seed":`...)
	b = strconv.AppendUint(b, s.Seed, 10)
	b = append(b, `,"system":`...)
	b = appendPartDigest(b, s.System, model.System)
	b = append(b, `,"task":`...)
	b = appendPartDigest(b, s.Task, model.User)
	b = append(b, `,"tools":[`...)
	for i := range s.Tools {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendTool(b, &s.Tools[i])
	}
	b = appendInt(b, `],"window":`, int64(s.Window))
	return append(b, '}')
}

func (s *Settings) appendPrices(b []byte) []byte {
	ids := make([]string, 0, len(s.Prices))
	for id := range s.Prices {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	b = append(b, `,"prices":{`...)
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		p := s.Prices[id]
		b = model.AppendString(b, id)
		b = appendInt(b, `:{"cache_read":`, p.CacheRead)
		b = appendInt(b, `,"cache_write":`, p.CacheWrite)
		b = appendInt(b, `,"input_uncached":`, p.InputUncached)
		b = appendInt(b, `,"output":`, p.Output)
		b = append(b, '}')
	}
	return append(b, '}')
}

func appendTool(b []byte, t *tool.Spec) []byte {
	b = append(b, `{"digest":"`...)
	b = model.NewToolPart(t.ToolSpec).Digest.AppendShort(b)
	b = append(b, `","effect":`...)
	b = model.AppendString(b, string(t.Effect))
	b = append(b, `,"name":`...)
	b = model.AppendString(b, t.Name)
	b = append(b, `,"parallel":`...)
	b = strconv.AppendBool(b, t.Parallel)
	return append(b, '}')
}

func appendPartDigest(b []byte, text string, role model.Role) []byte {
	if text == "" {
		return append(b, `null`...)
	}
	b = append(b, '"')
	b = model.NewTextPart(role, text).Digest.AppendShort(b)
	return append(b, '"')
}

func appendInt(b []byte, key string, v int64) []byte {
	return strconv.AppendInt(append(b, key...), v, 10)
}

// cost prices the usage of one call. Unknown prices give an unknown cost.
func (c *Config) cost(id string, u model.Usage) (pico int64, known bool) {
	p, ok := c.s.Prices[id]
	if !ok || u.Unknown {
		return 0, false
	}
	return u.InputUncached*p.InputUncached + u.CacheRead*p.CacheRead + u.CacheWrite*p.CacheWrite + u.Output*p.Output, true
}
