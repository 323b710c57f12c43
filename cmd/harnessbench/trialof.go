package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/ablations/models"
	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/scenarios"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// origin is where a session comes from: what its header does not hold stands in
// its run folder, in a suite that is named, or among the embedded scenarios.
type origin struct {
	list     map[string]*scenarios.Scenario // by id; nil = the embedded ones
	coupling string
	arms     []design.Arm
	used     *models.File // what the run kept of its models file; may be nil
	from     string       // for errors
}

// originOf looks for the run of a session, beside it, unless a suite is named.
func originOf(path, suite string) (*origin, error) {
	if suite != "" {
		return suiteOrigin(suite)
	}
	dir := filepath.Dir(filepath.Dir(filepath.Clean(path)))
	lock, _, err := design.ReadLock(filepath.Join(dir, design.LockFile))
	if errors.Is(err, fs.ErrNotExist) {
		return &origin{from: "the embedded set"}, nil
	}
	var m *machine
	if err == nil {
		m, err = readMachine(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("the run folder of %s: %w", path, err)
	}
	o := &origin{coupling: lock.Coupling, used: m.ModelsFile, from: "the run " + dir}
	if o.list, _, err = lock.LoadScenarios(m.SuiteFolder); err != nil {
		return nil, fmt.Errorf("the run folder of %s: %w", path, err)
	}
	o.arms, err = lock.ArmList()
	return o, err
}

func suiteOrigin(name string) (*origin, error) {
	s, list, err := design.OpenSuite(name)
	if err != nil {
		return nil, err
	}
	o := &origin{list: map[string]*scenarios.Scenario{}, coupling: s.Coupling, from: "the suite " + name}
	for _, sc := range list {
		o.list[sc.ID] = sc
	}
	o.arms, _, err = s.Expand()
	return o, err
}

// luckLabel names the arm whose luck a session has, where that is not its own: a
// fork keeps its parent's.
const luckLabel = "luck"

// trial is the trial that a session records, as far as what it meets goes: its
// guard settings stand in its header. The scenario is the recorded one, else it is
// an error.
func (o *origin) trial(h *session.Header) (*trial.Spec, error) {
	sc := o.list[h.Scenario]
	if sc == nil {
		var err error
		if sc, err = builtin.Get(h.Scenario); err != nil {
			return nil, fmt.Errorf("%s has no scenario %q: name the suite that has it with --suite", o.from, h.Scenario)
		}
	}
	seed, err := trial.RecordedSeed(h)
	if err != nil {
		return nil, err
	}
	spec := &trial.Spec{Scenario: sc, Model: h.Model, Arm: h.Labels["arm"], Repetition: h.Repetition, Seed: seed}
	if !trial.IsSimulated(h.Model) {
		spec.Secrets = secretsOf(os.Environ())
	}
	if o.coupling == design.Independent {
		if spec.Salt = h.Labels[luckLabel]; spec.Salt == "" {
			spec.Salt = spec.Arm // as the runner does
		}
	}
	if spec.Card, err = trial.RecordedCard(h); err != nil {
		return nil, err
	}
	if spec.Fallbacks, spec.FallbackCards, err = trial.RecordedFallbacks(h); err != nil {
		return nil, err
	}
	return spec, spec.Fits(h)
}

// arm finds an arm by its name.
func (o *origin) arm(name string) (*design.Arm, error) {
	for i := range o.arms {
		if o.arms[i].Name == name {
			return &o.arms[i], nil
		}
	}
	return nil, fmt.Errorf("%s has no arm %q", o.from, name)
}
