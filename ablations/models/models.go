package models

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/results/pricing"
	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

// Schema is the value of a models file's schema key.
const Schema = "harnessbench/models/v1"

// APIOpenAI is the wire API of chat completions, as OpenAI and many others
// speak it.
const APIOpenAI = "openai"

// File is a models file.
type File struct {
	Schema    string     `yaml:"schema,required" json:"schema" doc:"version of the format" enum:"harnessbench/models/v1"`
	Date      string     `yaml:"date" json:"date,omitempty" doc:"day on which the prices were read, YYYY-MM-DD; needed when there are prices"`
	Source    string     `yaml:"source" json:"source,omitempty" doc:"where the prices were read; needed when there are prices"`
	Providers []Provider `yaml:"providers,required" json:"providers" doc:"accounts: what shares limits"`
	Models    []Model    `yaml:"models" json:"models,omitempty" doc:"models that suites can name"`
}

// Provider is one account with a provider, whose limits all its models share.
type Provider struct {
	ID       string            `yaml:"id,required" json:"id" doc:"what model ids have before the slash"`
	API      string            `yaml:"api" json:"api,omitempty" doc:"wire API that is spoken; default openai, the chat completions API" enum:"openai"`
	BaseURL  string            `yaml:"base_url,required" json:"base_url" doc:"where the API begins, usually with /v1 at its end"`
	KeyEnv   string            `yaml:"key_env" json:"key_env,omitempty" doc:"NAME of the environment variable that holds the key; without it no key is sent"`
	Headers  map[string]string `yaml:"headers" json:"headers,omitempty" doc:"sent with every request; ${NAME} stands for an environment variable"`
	Limits   Limits            `yaml:"limits" json:"limits,omitzero" doc:"what the account may be asked"`
	Timeouts Timeouts          `yaml:"timeouts" json:"timeouts,omitzero" doc:"how long the parts of a call may take"`
	AnyModel bool              `yaml:"any_model" json:"any_model,omitempty" doc:"suites can also name models that are not listed; their price and context window are unknown"`
}

// Limits of an account. Zero is unset.
type Limits struct {
	Concurrency int   `yaml:"concurrency" json:"concurrency,omitempty" doc:"requests in flight; default 16" min:"1" max:"100000"`
	RPM         int   `yaml:"rpm" json:"rpm,omitempty" doc:"requests a minute; default: no limit" min:"1" max:"10000000"`
	TPM         int64 `yaml:"tpm" json:"tpm,omitempty" doc:"tokens a minute, input and output; default: no limit" min:"1" max:"1000000000000"`
}

// DefaultConcurrency is how many requests of an account are in flight at most
// when its limits do not say.
const DefaultConcurrency = 16

// Timeouts of a call. Zero is unset: the adapter's default.
type Timeouts struct {
	Connect   Duration `yaml:"connect" json:"connect,omitzero" doc:"until a connection stands; default 10s"`
	FirstByte Duration `yaml:"first_byte" json:"first_byte,omitzero" doc:"from there to the first byte of the answer; default 10m"`
	Idle      Duration `yaml:"idle" json:"idle,omitzero" doc:"silence between two bytes of an answer; default 2m"`
	Whole     Duration `yaml:"whole" json:"whole,omitzero" doc:"the whole call; default 30m"`
}

// Model is a model of a provider.
type Model struct {
	ID            string  `yaml:"id,required" json:"id" doc:"provider/name, as suites say it"`
	Name          string  `yaml:"name" json:"name,omitempty" doc:"what the provider calls it; default: what follows the slash"`
	ContextWindow int     `yaml:"context_window" json:"context_window,omitempty" doc:"tokens of input and output; default: unknown" min:"1" max:"1000000000"`
	Params        Params  `yaml:"params" json:"params,omitzero" doc:"settings of its calls; what is not set is not sent"`
	Stream        bool    `yaml:"stream" json:"stream,omitempty" doc:"ask for streamed answers"`
	Trace         bool    `yaml:"trace" json:"trace,omitempty" doc:"send seed, lane, turn and attempt as metadata, for an endpoint of harnessbench serve; other providers may refuse it"`
	Prices        *Prices `yaml:"prices" json:"prices,omitempty" doc:"USD per million tokens; default: unknown"`
}

// Params are the settings of a model's calls. Zero and nil are unset.
type Params struct {
	MaxTokens       int             `yaml:"max_tokens" json:"max_tokens,omitempty" doc:"longest answer in tokens; a scenario's own limit goes first" min:"1" max:"100000000"`
	MaxTokensField  string          `yaml:"max_tokens_field" json:"max_tokens_field,omitempty" doc:"how the request says max_tokens; default max_tokens" enum:"max_tokens|max_completion_tokens"`
	Temperature     *float64        `yaml:"temperature" json:"temperature,omitempty" min:"0" max:"2"`
	TopP            *float64        `yaml:"top_p" json:"top_p,omitempty" min:"0" max:"1"`
	Seed            bool            `yaml:"seed" json:"seed,omitempty" doc:"send a seed, another one for every repetition"`
	ReasoningEffort string          `yaml:"reasoning_effort" json:"reasoning_effort,omitempty" doc:"as the provider has it, for example low"`
	SendReasoning   bool            `yaml:"send_reasoning" json:"send_reasoning,omitempty" doc:"send the reasoning of earlier turns back as reasoning_content; few providers want it, some refuse it"`
	ResponseFormat  json.RawMessage `yaml:"response_format" json:"response_format,omitempty" doc:"as the wire API has it: {type: json_object}, or {type: json_schema, json_schema: {name: ..., strict: ..., schema: {...}}}"`
	Extra           json.RawMessage `yaml:"extra" json:"extra,omitempty" doc:"members that are added to the request as they are"`
}

// Prices are in USD per million tokens. A nil price is unknown. A file writes
// all four, null for those that are unknown.
type Prices struct {
	Input      *pricing.Micro // input that no prompt cache served
	CacheRead  *pricing.Micro // input read from a prompt cache
	CacheWrite *pricing.Micro // input written to a prompt cache
	Output     *pricing.Micro // output, reasoning included
}

// Entry is a model with its provider.
type Entry struct {
	Model
	Provider Provider
}

// Lookup returns the entry of a model id; of a model that is not listed only
// when its provider takes any.
func (f *File) Lookup(id string) (Entry, bool) {
	at, name, _ := strings.Cut(id, "/")
	for _, p := range f.Providers {
		if p.ID != at {
			continue
		}
		for _, m := range f.Models {
			if m.ID == id {
				return Entry{m, p}, true
			}
		}
		if p.AnyModel && isModel(id) {
			return Entry{Model{ID: id, Name: name}, p}, true
		}
	}
	return Entry{}, false
}

// Find is Lookup with an error that says what there is instead.
func (f *File) Find(id string) (Entry, error) {
	if e, ok := f.Lookup(id); ok {
		return e, nil
	}
	at, _, slash := strings.Cut(id, "/")
	if !slash || !isModel(id) {
		return Entry{}, fmt.Errorf("%.60q names no model; write provider/name", id)
	}
	var near []string
	known := false
	for _, p := range f.Providers {
		known = known || p.ID == at
	}
	for _, m := range f.Models {
		if !known || strings.HasPrefix(m.ID, at+"/") {
			near = append(near, m.ID)
		}
	}
	const most = 8
	if len(near) > most {
		near = append(near[:most:most], fmt.Sprintf("and %d more", len(near)-most))
	}
	has := "it has " + strings.Join(near, ", ")
	if len(near) == 0 {
		has = "it lists none of this provider"
	}
	if !known {
		return Entry{}, fmt.Errorf("model %.60q: the models file has no provider %.60q; %s", id, at, has)
	}
	return Entry{}, fmt.Errorf("model %.60q is not in the models file; %s", id, has)
}

// Prices returns the prices of the models that have any, in the file's order.
func (f *File) Prices() *pricing.Table {
	t := &pricing.Table{Date: f.Date, Source: f.Source}
	for _, m := range f.Models {
		if p := m.Prices; p != nil {
			t.Prices = append(t.Prices, pricing.Price{Model: m.ID, Input: p.Input, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite, Output: p.Output})
		}
	}
	return t
}

// Request returns the params of the model's calls. maxTokens is the scenario's
// own limit, 0 when it has none; the smaller one holds. Of the repetition's seed
// 31 bits are sent, and only where the file asks for seeds: more than that some
// servers cut or refuse.
func (m *Model) Request(maxTokens int, seed uint64) model.Params {
	p := model.Params{Model: m.ID, MaxTokens: maxTokens, Temperature: m.Params.Temperature, TopP: m.Params.TopP}
	if own := m.Params.MaxTokens; maxTokens == 0 || own > 0 && own < maxTokens {
		p.MaxTokens = own
	}
	if m.Params.Seed {
		p.Seed = new(int64(seed & (1<<31 - 1)))
	}
	return p
}

// UnmarshalJSON reads what MarshalJSON wrote, as strictly as [Parse] does.
func (f *File) UnmarshalJSON(b []byte) error {
	g, err := Parse("models", b)
	if err == nil {
		*f = *g
	}
	return err
}

// Duration is a time.Duration that files write as "90s".
type Duration time.Duration

// maxDuration bounds what a file can say.
const maxDuration = 24 * time.Hour

// UnmarshalNode implements strictyaml.Unmarshaler.
func (d *Duration) UnmarshalNode(n *strictyaml.Node) error {
	if n.Kind == strictyaml.Null {
		return nil
	}
	v, err := time.ParseDuration(n.Value)
	if n.Kind != strictyaml.String || err != nil || v <= 0 || v > maxDuration {
		return n.Errorf("write a number with a unit, for example 90s or 2m30s, at most 24h", "this must be a duration")
	}
	*d = Duration(v)
	return nil
}

// MarshalText gives the form that files have.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalNode implements strictyaml.Unmarshaler. All four keys must be there,
// so that no price is unknown by oversight.
func (p *Prices) UnmarshalNode(n *strictyaml.Node) error {
	var raw struct {
		Input      *strictyaml.Node `yaml:"input"`
		CacheRead  *strictyaml.Node `yaml:"cache_read"`
		CacheWrite *strictyaml.Node `yaml:"cache_write"`
		Output     *strictyaml.Node `yaml:"output"`
	}
	if err := strictyaml.Decode(n, &raw); err != nil {
		return err
	}
	for _, c := range []struct {
		key  string
		from *strictyaml.Node
		into **pricing.Micro
	}{{"input", raw.Input, &p.Input}, {"cache_read", raw.CacheRead, &p.CacheRead}, {"cache_write", raw.CacheWrite, &p.CacheWrite}, {"output", raw.Output, &p.Output}} {
		if c.from == nil {
			return n.Errorf("add it; null says that the price is unknown", "the key %q is missing", c.key)
		}
		switch c.from.Kind {
		case strictyaml.Null:
			continue
		case strictyaml.Int, strictyaml.Float:
		default:
			return c.from.Errorf("write USD per million tokens, or null when the price is unknown", "a price is a number, not %s", c.from.Kind)
		}
		m, err := pricing.ParsePrice(c.from.Value)
		if err != nil {
			return c.from.Errorf("correct it, or write null when the price is unknown", "%v", err)
		}
		*c.into = m
	}
	return nil
}

// MarshalJSON gives the form that files have.
func (p *Prices) MarshalJSON() ([]byte, error) {
	num := func(m *pricing.Micro) json.RawMessage {
		if m == nil {
			return json.RawMessage("null")
		}
		return json.RawMessage(m.String())
	}
	return json.Marshal(struct {
		Input      json.RawMessage `json:"input"`
		CacheRead  json.RawMessage `json:"cache_read"`
		CacheWrite json.RawMessage `json:"cache_write"`
		Output     json.RawMessage `json:"output"`
	}{num(p.Input), num(p.CacheRead), num(p.CacheWrite), num(p.Output)})
}
