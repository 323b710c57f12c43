package design

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/scenarios"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

// PlanFromLock makes the plan of a lock again, without the suite file. Sources
// of scenarios that are paths are relative to dir, the folder of the suite (see
// [Suite.Folder]), or else to the current one. The plan equals the one that the
// lock was made of, its trials and their order included; where that cannot be
// (a scenario, a price, or this version's guards have changed) the error says
// what differs.
func PlanFromLock(l Lock, dir string) (*Plan, error) {
	if l.Schema != LockSchema {
		return nil, fmt.Errorf("the lock's schema is %.60q; this version reads %s", l.Schema, LockSchema)
	}
	if l.Coupling == "" {
		return nil, fmt.Errorf("run %s was imported, or begun by a version whose locks cannot be run again", l.Name)
	}
	s, err := l.suite(dir)
	if err != nil {
		return nil, err
	}
	if s.cards, err = l.ModelsFile.cards(); err != nil {
		return nil, err
	}
	p := &Plan{Suite: s, Comparisons: l.Comparisons, Factors: l.Factors}
	if p.Arms, err = l.ArmList(); err != nil {
		return nil, err
	}
	for _, ls := range l.Scenarios {
		sc, err := ls.load(dir)
		if err != nil {
			return nil, err
		}
		p.Scenarios = append(p.Scenarios, s.tighten(sc))
		p.sources = append(p.sources, ls.Source)
	}
	if want := lockPrices(s.Asked()); l.Prices != nil && *l.Prices != *want {
		return nil, fmt.Errorf("prices changed since the run began: the lock's are of %s, those of this version of %s; use the version that began it", l.Prices.Date, want.Date)
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	return p, l.same(p)
}

// suite is what of the suite's file the lock holds.
func (l *Lock) suite(dir string) (*Suite, error) {
	s := &Suite{Pos: strictyaml.Pos{File: LockFile}, Schema: SuiteSchema, Name: l.Name, Digest: l.Suite, Seed: l.Seed, Repetitions: l.Repetitions,
		Concurrency: l.Concurrency, Coupling: l.Coupling, Errors: Errors{l.Errors}, Models: l.Models,
		Comparisons: l.Comparisons, Gates: l.Gates, folder: dir}
	if x := l.Limits; x != nil {
		wall, err := x.wall()
		if err != nil {
			return nil, err
		}
		s.Limits = Limits{Turns: x.Turns, ToolCalls: x.ToolCalls, Tokens: x.Tokens, CostMicroUSD: x.CostMicroUSD, Wall: wall}
	}
	if x := l.Budgets; x != nil {
		s.Budgets = Budgets{MicroUSD: x.MicroUSD, Tokens: x.Tokens, TrialMicroUSD: x.TrialMicroUSD}
	}
	for _, sc := range l.Scenarios {
		s.Scenarios = append(s.Scenarios, sc.Source)
	}
	if !plainName(s.Name) || s.Coupling != SharedPrefix && s.Coupling != Independent || s.Repetitions < 1 || !(l.Errors >= 0 && l.Errors <= 1) {
		return nil, fmt.Errorf("the lock of run %.60q was changed by hand: name, coupling, repetitions or errors_allow is wrong", s.Name)
	}
	for _, m := range l.Models {
		if !isModel(m) {
			return nil, fmt.Errorf("the lock of run %s was changed by hand: %.60q names no model", s.Name, m)
		}
	}
	var lists [][]string
	for i := range l.Arms {
		for _, m := range l.Arms[i].Fallback {
			if !isModel(m) {
				return nil, fmt.Errorf("the lock of run %s was changed by hand: %.60q names no model", s.Name, m)
			}
		}
		lists = append(lists, l.Arms[i].Fallback)
	}
	s.others = s.onlyFallback(lists)
	return s, nil
}

// ArmList makes the lock's arms, in their order, held against their digests.
func (l *Lock) ArmList() ([]Arm, error) {
	texts := map[string]string{}
	for _, p := range l.Prompts {
		if hexDigest(p.Text) != p.Digest {
			return nil, fmt.Errorf("the lock was changed by hand: a prompt does not have its digest %.12s", p.Digest)
		}
		texts[p.Digest] = p.Text
	}
	if len(l.Arms) > MaxArms {
		return nil, fmt.Errorf("the lock has %d arms, the limit is %d", len(l.Arms), MaxArms)
	}
	var out []Arm
	for i := range l.Arms {
		la := &l.Arms[i]
		text, ok := texts[la.Prompt]
		if !plainName(la.Name) || !ok || la.digest() != la.Digest {
			return nil, fmt.Errorf("the lock was changed by hand: the arm %.60q does not have its digest", la.Name)
		}
		set, err := guard.ParseSettings([]byte(la.Guards))
		if err != nil {
			return nil, fmt.Errorf("arm %s: %w; use the version that began the run", la.Name, err)
		}
		if text == trial.SystemPrompt {
			text = ""
		}
		out = append(out, Arm{Name: la.Name, Guards: set, Prompt: text, Models: la.Models, Levels: la.Levels, Fallback: la.Fallback, Expect: la.Expect, Scenarios: la.Scenarios})
	}
	return out, nil
}

// load finds a scenario again and refuses it when it is not what it was.
func (ls *LockScenario) load(dir string) (*scenarios.Scenario, error) {
	return ls.find(dir, ls.unchanged)
}

// LoadScenarios finds the lock's scenarios as they are today, by id, and names
// those that changed since. dir is as in PlanFromLock.
func (l *Lock) LoadScenarios(dir string) (byID map[string]*scenarios.Scenario, changed []string, err error) {
	byID = map[string]*scenarios.Scenario{}
	for i := range l.Scenarios {
		ls := &l.Scenarios[i]
		sc, err := ls.find(dir, func(sc *scenarios.Scenario) error {
			if sc.ID != ls.ID {
				return fmt.Errorf("%s holds the scenario %s, not %s", sc.Source, sc.ID, ls.ID)
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
		if sc.Digest != ls.Digest {
			changed = append(changed, ls.ID)
		}
		byID[ls.ID] = sc
	}
	return byID, changed, nil
}

// find looks for a scenario where the lock says, and takes the first that fits.
func (ls *LockScenario) find(dir string, fits func(*scenarios.Scenario) error) (*scenarios.Scenario, error) {
	if strings.HasPrefix(ls.Source, BuiltinPrefix) {
		sc, err := builtin.Get(ls.Source)
		if err != nil {
			return nil, fmt.Errorf("scenario %s: %w; use the version that began the run", ls.ID, err)
		}
		return sc, fits(sc)
	}
	source := filepath.FromSlash(ls.Source)
	places := []string{source}
	if !filepath.IsAbs(source) && dir != "" {
		places = slices.Insert(places, 0, filepath.Join(dir, source))
	}
	var first error
	for _, at := range places {
		if _, err := os.Stat(at); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		sc, err := loadScenario(at)
		if err == nil {
			err = fits(sc)
		}
		if err == nil {
			return sc, nil
		}
		if first == nil {
			first = err
		}
	}
	if first == nil {
		first = fmt.Errorf("scenario %s is not at %s any more; put it back, or start the run from where its suite is", ls.ID, places[0])
	}
	return nil, first
}

func (ls *LockScenario) unchanged(sc *scenarios.Scenario) error {
	if sc.Digest == ls.Digest && sc.ID == ls.ID {
		return nil
	}
	return fmt.Errorf("scenario %s changed since the run began: %s has the digest %.12s, the lock %.12s; put it back, or begin a new run", ls.ID, sc.Source, sc.Digest, ls.Digest)
}

// same refuses a plan whose lock would be another: then this version knows other
// guards than the one that made the lock, and its results would not be of one run.
func (l *Lock) same(p *Plan) error {
	own := p.Lock()
	for i := range own.Arms {
		if own.Arms[i].Guards != l.Arms[i].Guards {
			return fmt.Errorf("arm %s: this version has other guards than the one that began the run; use that version", own.Arms[i].Name)
		}
	}
	want, err1 := l.Encode()
	got, err2 := own.Encode()
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if !bytes.Equal(want, got) {
		return errors.New("the lock was changed by hand, or made by another version; use the version that began the run")
	}
	return nil
}
