package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/harnessbench/harnessbench/ablations/models"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/limit"
	"github.com/harnessbench/harnessbench/loop/model/openai"
)

// Provider makes the models of a models file. It is safe for concurrent use.
type Provider struct {
	file   *models.File
	getenv func(string) string

	mu       sync.Mutex
	accounts map[string]*limit.Account // by provider
	adapters map[string]*openai.Model  // by model
}

// MissingError says that the environment lacks what an account needs.
type MissingError struct {
	Provider string
	Env      []string // names of variables
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("provider %s: the environment variable %s is not set", e.Provider, strings.Join(e.Env, " and "))
}

// New makes a provider of models. getenv is usually os.Getenv.
func New(file *models.File, getenv func(string) string) (*Provider, error) {
	if file == nil || getenv == nil {
		return nil, errors.New("provider: needs a models file and an environment")
	}
	return &Provider{file: file, getenv: getenv, accounts: map[string]*limit.Account{}, adapters: map[string]*openai.Model{}}, nil
}

// Check reports the first model that cannot be asked: it is unknown, or the
// environment lacks its key or a header's variable (a [*MissingError]).
func (p *Provider) Check(ids ...string) error {
	for _, id := range ids {
		if _, err := p.Model(id, 0); err != nil {
			return err
		}
	}
	return nil
}

// Model returns the model of one trial. luck is the trial's seed, which only
// goes out where the file says trace.
func (p *Provider) Model(id string, luck uint64) (model.Model, error) {
	e, err := p.file.Find(id)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.adapters[id]
	if m == nil {
		if m, err = p.adapter(&e); err != nil {
			return nil, err
		}
		p.adapters[id] = m
	}
	a := p.accounts[e.Provider.ID]
	if a == nil {
		l := e.Provider.Limits
		if l.Concurrency == 0 {
			l.Concurrency = models.DefaultConcurrency
		}
		a = limit.New(limit.Options{Name: e.Provider.ID, Concurrency: l.Concurrency, RPM: l.RPM, TPM: l.TPM})
		p.accounts[e.Provider.ID] = a
	}
	if e.Trace {
		m = m.WithSeed(luck)
	}
	return a.Wrap(m), nil
}

// adapter makes what speaks the wire API.
func (p *Provider) adapter(e *models.Entry) (*openai.Model, error) {
	key, headers, missing := p.secretsOf(&e.Provider)
	if len(missing) > 0 {
		return nil, &MissingError{e.Provider.ID, missing}
	}
	t := e.Provider.Timeouts
	o := openai.Options{ID: e.ID, Name: e.Name, BaseURL: e.Provider.BaseURL, Key: key, Headers: headers, Stream: e.Stream, Trace: e.Trace,
		Timeouts: openai.Timeouts{Connect: time.Duration(t.Connect), FirstByte: time.Duration(t.FirstByte), Idle: time.Duration(t.Idle),
			Whole: time.Duration(t.Whole)},
		MaxTokensField: e.Params.MaxTokensField, ReasoningEffort: e.Params.ReasoningEffort, SendReasoning: e.Params.SendReasoning}
	var err error
	if o.ResponseFormat, err = format(e.Params.ResponseFormat); err == nil {
		o.Extra, err = members(e.Params.Extra)
	}
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", e.ID, err)
	}
	return openai.New(o)
}

// secretsOf reads an account's key and headers from the environment. missing are
// the names of variables that are not set.
func (p *Provider) secretsOf(v *models.Provider) (key string, headers map[string]string, missing []string) {
	if v.KeyEnv != "" {
		// A key pasted with a line break is a common mistake, and is meant well.
		if key = strings.TrimSpace(p.getenv(v.KeyEnv)); key == "" {
			missing = append(missing, v.KeyEnv)
		}
	}
	for name, value := range v.Headers {
		text, lacks := models.Expand(value, p.getenv)
		missing = append(missing, lacks...)
		if headers == nil {
			headers = map[string]string{}
		}
		headers[name] = text
	}
	slices.Sort(missing)
	return key, headers, slices.Compact(missing)
}

// format translates a response format, which the file's reader has checked.
func format(raw json.RawMessage) (*openai.ResponseFormat, error) {
	if raw == nil {
		return nil, nil
	}
	var f struct {
		Spec struct {
			Name   string          `json:"name"`
			Strict bool            `json:"strict"`
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, fmt.Errorf("response_format: %w", err)
	}
	return &openai.ResponseFormat{Name: f.Spec.Name, Schema: string(f.Spec.Schema), Strict: f.Spec.Strict}, nil
}

// members keeps each value as it is written.
func members(raw json.RawMessage) (map[string]any, error) {
	if raw == nil {
		return nil, nil
	}
	var list map[string]json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("extra: %w", err)
	}
	out := make(map[string]any, len(list))
	for k, v := range list {
		out[k] = v
	}
	return out, nil
}

// Missing returns the names of the variables that a provider of the file needs
// and the environment does not have.
func (p *Provider) Missing(v *models.Provider) []string {
	_, _, missing := p.secretsOf(v)
	return missing
}

// Secrets returns all keys and values that headers take from the environment,
// of every provider of the file, sorted: what must be redacted.
func (p *Provider) Secrets() []string {
	var out []string
	for i := range p.file.Providers {
		v := &p.file.Providers[i]
		key, _, _ := p.secretsOf(v)
		out = append(out, key)
		for _, value := range v.Headers {
			_, _ = models.Expand(value, func(name string) string {
				out = append(out, p.getenv(name))
				return ""
			})
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	if len(out) > 0 && out[0] == "" {
		out = out[1:]
	}
	return out
}

// Account is how one provider's account stands.
type Account struct {
	Provider string
	limit.Snapshot
}

// Accounts returns the accounts in use, in the file's order.
func (p *Provider) Accounts() []Account {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []Account
	for _, v := range p.file.Providers {
		if a := p.accounts[v.ID]; a != nil {
			out = append(out, Account{v.ID, a.Snapshot()})
		}
	}
	return out
}
