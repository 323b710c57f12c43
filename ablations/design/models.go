package design

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/ablations/models"
	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/results/pricing"
	"github.com/harnessbench/harnessbench/scenarios"
)

// cards are the models of a suite that are not simulated, by id.
type cards struct {
	date, source string // of their prices
	byID         map[string]models.Model
}

// Use looks the suite's models up in a models file. What has no entry there is an
// error with its place in the suite; simulated models need none. It returns the
// part of the file that the suite uses: what a run keeps of it.
func (s *Suite) Use(f *models.File) (*models.File, error) {
	c := &cards{date: f.Date, source: f.Source, byID: map[string]models.Model{}}
	used := &models.File{Schema: f.Schema, Date: f.Date, Source: f.Source}
	for i, id := range s.Asked() {
		if trial.IsSimulated(id) {
			continue
		}
		e, err := f.Find(id)
		if err != nil {
			at := s.at("fallback")
			if i < len(s.Models) {
				at = s.at("models", i)
			}
			return nil, at.Errorf("correct it, or add it to the models file, see docs/models.md; simulated models are: harnessbench models", "%v", err)
		}
		c.byID[id] = e.Model
		used.Models = append(used.Models, e.Model)
		if !slices.ContainsFunc(used.Providers, func(p models.Provider) bool { return p.ID == e.Provider.ID }) {
			used.Providers = append(used.Providers, e.Provider)
		}
	}
	if len(c.byID) == 0 {
		return nil, nil
	}
	s.cards = c
	return used, nil
}

// Card says how a model of the plan is asked; nil for simulated ones.
func (p *Plan) Card(id string) *trial.Card {
	if p.Suite.cards == nil {
		return nil
	}
	m, ok := p.Suite.cards.byID[id]
	if !ok {
		return nil
	}
	c := &trial.Card{MaxTokens: m.Params.MaxTokens, Temperature: m.Params.Temperature, TopP: m.Params.TopP,
		Seed: m.Params.Seed, Window: m.ContextWindow}
	if q := m.Prices; q != nil {
		c.Price = pricing.Price{Model: id, Input: q.Input, CacheRead: q.CacheRead, CacheWrite: q.CacheWrite, Output: q.Output}
	}
	return c
}

// price is what a model's tokens cost; false when that is not known.
func (p *Plan) price(id string) (pricing.Price, bool) { return trial.PriceOf(id, p.Card(id)) }

// bounds are the longest answer that a model is asked for in a scenario and its
// context window, in tokens; 0 = nobody says.
func (p *Plan) bounds(sc *scenarios.Scenario, id string) (maxTokens, window int) {
	spec := trial.Spec{Scenario: sc, Model: id, Card: p.Card(id)}
	return spec.Bounds()
}

// LockModels is what of the models file decides what models are asked and what
// that costs. Where they are reached, and what their accounts take, is a fact of
// the machine and stands in no lock.
type LockModels struct {
	Date    string      `yaml:"date,omitempty"`   // on which the prices were read
	Source  string      `yaml:"source,omitempty"` // where they were read
	Entries []LockModel `yaml:"entries"`
}

// LockModel is one model.
type LockModel struct {
	ID    string `yaml:"id"`
	Entry string `yaml:"entry"` // of the models file, JSON
}

// lock is what the lock holds of the cards; nil when there are none.
func (c *cards) lock(ids []string) *LockModels {
	if c == nil {
		return nil
	}
	l := &LockModels{Date: c.date, Source: c.source}
	for _, id := range ids {
		if m, ok := c.byID[id]; ok {
			b, err := json.Marshal(m)
			if err != nil {
				panic(err) // the parser has let it pass
			}
			l.Entries = append(l.Entries, LockModel{id, string(b)})
		}
	}
	return l
}

// cards reads back what lock wrote.
func (l *LockModels) cards() (*cards, error) {
	if l == nil {
		return nil, nil
	}
	c := &cards{date: l.Date, source: l.Source, byID: map[string]models.Model{}}
	f := models.File{Schema: models.Schema, Date: l.Date, Source: l.Source}
	var entries []json.RawMessage
	for _, e := range l.Entries {
		provider := trial.ProviderOf(e.ID)
		if !slices.ContainsFunc(f.Providers, func(p models.Provider) bool { return p.ID == provider }) {
			f.Providers = append(f.Providers, models.Provider{ID: provider, BaseURL: "http://127.0.0.1"}) // the parser wants one
		}
		entries = append(entries, json.RawMessage(e.Entry))
	}
	b, err := json.Marshal(struct {
		models.File
		Models []json.RawMessage `json:"models"`
	}{f, entries})
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	if err != nil || len(f.Models) != len(l.Entries) {
		return nil, fmt.Errorf("the lock was changed by hand: its models cannot be read (%v)", err)
	}
	for i, m := range f.Models {
		if m.ID != l.Entries[i].ID {
			return nil, errors.New("the lock was changed by hand: a model's id is not that of its entry")
		}
		c.byID[m.ID] = m
	}
	return c, nil
}

// Same refuses a models file that says of the plan's models something else than
// what they were locked with. Accounts may have moved.
func (p *Plan) Same(f *models.File) error {
	other := *p.Suite
	other.cards = nil
	if _, err := other.Use(f); err != nil {
		return err
	}
	was, is := p.Suite.cards.lock(p.Suite.Asked()), other.cards.lock(p.Suite.Asked())
	if was == nil || is == nil {
		return nil
	}
	var changed []string
	for i := range was.Entries {
		if was.Entries[i] != is.Entries[i] {
			changed = append(changed, was.Entries[i].ID)
		}
	}
	switch {
	case len(changed) > 0:
		return fmt.Errorf("the models file says something else of %s than when the run began; put it back, leave --models out, or begin a new run", strings.Join(changed, ", "))
	case was.Date != is.Date || was.Source != is.Source:
		return errors.New("the prices of the models file were read at another time or place than when the run began; put it back, leave --models out, or begin a new run")
	}
	return nil
}
