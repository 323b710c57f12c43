package design

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/scenarios"
)

// Trial is one trial of a plan.
type Trial struct {
	Scenario   *scenarios.Scenario
	Model      string
	Arm        Arm
	Repetition int // from 0
}

// Key names the trial in journals and tables.
func (t *Trial) Key() results.TrialKey {
	return results.TrialKey{Scenario: t.Scenario.ID, Model: t.Model, Arm: t.Arm.Name, Repetition: t.Repetition}
}

// SessionName is the trial's session file, relative to the run's sessions
// folder: scenario, model, arm and repetition, with dots between them.
func (t *Trial) SessionName() string {
	return t.Scenario.ID + "." + modelFile(t.Model) + "." + t.Arm.Name + "." + strconv.Itoa(t.Repetition) + ".session.jsonl"
}

// maxSessionName keeps a session's file name, with what stands beside it while
// it is written, within what file systems take.
const maxSessionName = 230

// modelFile is a model's id as a part of a file name.
func modelFile(id string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.", r) {
			return r
		}
		return '_'
	}, id)
}

// Plan is a suite made explicit.
type Plan struct {
	Suite       *Suite
	Scenarios   []*scenarios.Scenario // sorted by id; the suite's limits are in theirs
	Arms        []Arm
	Comparisons []Comparison
	Factors     []LockFactor // of a factorial design
	Trials      []Trial      // in order of execution, block by block

	// Shard and Shards say which part of the suite the trials are, from 1; both 0
	// is the whole. They stand in no lock: the parts of one suite share one.
	ShardIndex, Shards int

	sources []string // of the scenarios, as the lock has them
}

// NewPlan crosses the suite with its scenarios, whose limits the suite tightens.
// The order of execution is shuffled by the suite's seed in blocks of one
// (scenario, model, repetition); inside a block the arms follow each other in
// shuffled order, so that whatever drifts while a suite runs falls on all arms
// alike.
func NewPlan(s *Suite, list []*scenarios.Scenario) (*Plan, error) {
	arms, comps, err := s.Expand()
	if err != nil {
		return nil, err
	}
	p := &Plan{Suite: s, Arms: arms, Comparisons: comps}
	if p.Factors, err = s.crossed(); err != nil {
		return nil, err
	}
	for _, sc := range list {
		p.Scenarios = append(p.Scenarios, s.tighten(sc))
		p.sources = append(p.sources, sourceOf(s.folder, sc))
	}
	for i := range p.Arms {
		a := &p.Arms[i]
		for _, sc := range p.Scenarios {
			if a.Expect != nil && a.Expect.meets(sc) {
				a.Scenarios = append(a.Scenarios, sc.ID)
			}
		}
	}
	return p, p.finish()
}

// scenariosOf are those that an arm runs on.
func (p *Plan) scenariosOf(a *Arm) []*scenarios.Scenario {
	if a.Expect == nil {
		return p.Scenarios
	}
	var out []*scenarios.Scenario
	for _, sc := range p.Scenarios {
		if a.RunsOn(sc.ID) {
			out = append(out, sc)
		}
	}
	return out
}

// finish checks the plan and lays out its trials.
func (p *Plan) finish() error {
	perRep := 0
	for _, m := range p.Suite.Models {
		for _, i := range p.armsOn(m) {
			perRep += len(p.scenariosOf(&p.Arms[i]))
		}
	}
	switch {
	case len(p.Scenarios) == 0 || perRep == 0:
		return p.Suite.Errorf("name scenarios, models and arms", "suite %s: no trials", p.Suite.Name)
	case p.Suite.Repetitions < 1 || p.Suite.Repetitions > MaxTrials/perRep:
		return p.Suite.Errorf("use fewer scenarios, models, arms or repetitions",
			"suite %s: %d repetitions of %d trials; the limit is %d trials in all", p.Suite.Name, p.Suite.Repetitions, perRep, MaxTrials)
	}
	if err := p.checkNames(); err != nil {
		return err
	}
	if err := p.check(); err != nil {
		return err
	}
	p.layOut(perRep * p.Suite.Repetitions)
	return nil
}

// armsOn are the positions of the arms that run on a model.
func (p *Plan) armsOn(model string) []int {
	var on []int
	for i := range p.Arms {
		if p.Arms[i].On(model) {
			on = append(on, i)
		}
	}
	return on
}

// layOut puts the trials into their order of execution.
func (p *Plan) layOut(n int) {
	rng := rand.New(rand.NewPCG(p.Suite.Seed, uint64(len(p.Scenarios))))
	type block struct{ scenario, model, rep int }
	var blocks []block
	arms := make([][]int, len(p.Suite.Models))
	for m, id := range p.Suite.Models {
		arms[m] = p.armsOn(id)
	}
	for i := range p.Scenarios {
		for m := range p.Suite.Models {
			for r := range p.Suite.Repetitions {
				blocks = append(blocks, block{i, m, r})
			}
		}
	}
	rng.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
	p.Trials = make([]Trial, 0, n)
	for _, b := range blocks {
		on := arms[b.model]
		for _, a := range rng.Perm(len(on)) {
			if arm := &p.Arms[on[a]]; arm.RunsOn(p.Scenarios[b.scenario].ID) {
				p.Trials = append(p.Trials, Trial{Scenario: p.Scenarios[b.scenario], Model: p.Suite.Models[b.model], Arm: *arm, Repetition: b.rep})
			}
		}
	}
}

// checkNames refuses trials whose sessions would share a file, or have a name
// that is too long. Ids of scenarios hold no dot, so a name's first part tells
// scenarios apart, its last one repetitions, and the rest need be unique only
// among models and arms.
func (p *Plan) checkNames() error {
	longest := 0
	for _, sc := range p.Scenarios {
		longest = max(longest, len(sc.ID))
	}
	longest += len(strconv.Itoa(p.Suite.Repetitions)) + len("...session.jsonl")
	taken := map[string]string{}
	for _, m := range p.Suite.Models {
		for _, i := range p.armsOn(m) {
			who := fmt.Sprintf("model %s, arm %s", m, p.Arms[i].Name)
			name := strings.ToLower(modelFile(m) + "." + p.Arms[i].Name)
			if other, ok := taken[name]; ok {
				return p.Suite.Errorf("rename an arm", "suite %s: sessions of %s and of %s would share their files", p.Suite.Name, other, who)
			}
			taken[name] = who
			if longest+len(name) > maxSessionName {
				return p.Suite.Errorf("shorten the arm's name", "suite %s: sessions of %s would have names of more than %d bytes", p.Suite.Name, who, maxSessionName)
			}
		}
	}
	return nil
}

// check configures one trial of every scenario and model, and of every arm, so
// that what cannot run is refused before anything runs: an unknown model or tool,
// a mistake in an oracle script, a cost budget on a model without a price.
func (p *Plan) check() error {
	for _, m := range p.Suite.Asked() {
		if _, known := p.price(m); !known && p.Suite.Budgets.Money() {
			return p.Suite.Budgets.Errorf("remove the budget in USD, or give the model a price", "the price of %s is unknown", m)
		}
	}
	for _, m := range p.Suite.Models {
		on := p.armsOn(m)
		if len(on) == 0 {
			continue
		}
		for _, sc := range p.Scenarios {
			if err := p.try(sc, m, &p.Arms[on[0]]); err != nil {
				return err
			}
		}
		for _, i := range on {
			on := p.scenariosOf(&p.Arms[i])
			if len(on) == 0 {
				continue
			}
			if err := p.try(on[0], m, &p.Arms[i]); err != nil {
				return fmt.Errorf("arm %s: %w", p.Arms[i].Name, err)
			}
		}
	}
	return nil
}

func (p *Plan) try(sc *scenarios.Scenario, model string, a *Arm) error {
	for _, l := range []struct {
		key   string
		names []string
	}{{"stresses", sc.Stresses}, {"controls", sc.Controls}} {
		for i, name := range l.names {
			if guard.Lookup(name) < 0 {
				return sc.At(l.key, i).Errorf("see: harnessbench guards", "there is no guard %q", name)
			}
		}
	}
	spec := p.spec(&Trial{Scenario: sc, Model: model, Arm: *a})
	if _, err := spec.Rebuilt(); err != nil || spec.Card != nil {
		return err // where a model of the models file is reached is looked up by who runs it
	}
	_, err := spec.NewModel(nil)
	return err
}

// Block is the trials of one (scenario, model, repetition): what shares model
// answers, is paired, and is cut as a whole.
type Block struct {
	Scenario   *scenarios.Scenario
	Model      string
	Repetition int
	First      int     // position of its first trial in the plan
	Trials     []Trial // one per arm, in order of execution; a part of the plan's
}

// Blocks cuts the plan's trials into blocks, in order of execution.
func (p *Plan) Blocks() []Block {
	var out []Block
	for i := range p.Trials {
		t := &p.Trials[i]
		if n := len(out); n > 0 && out[n-1].Scenario == t.Scenario && out[n-1].Model == t.Model && out[n-1].Repetition == t.Repetition {
			out[n-1].Trials = p.Trials[out[n-1].First : i+1 : i+1]
			continue
		}
		out = append(out, Block{t.Scenario, t.Model, t.Repetition, i, p.Trials[i : i+1 : i+1]})
	}
	return out
}

// Shard returns part i of n, from 1, of a whole plan: every n-th block. The
// parts of a plan have no block in common, and together they have all.
func (p *Plan) Shard(i, n int) (*Plan, error) {
	blocks := p.Blocks()
	switch {
	case i < 1 || i > n:
		return nil, fmt.Errorf("shard %d/%d: the first number goes from 1 to the second", i, n)
	case p.Shards != 0:
		return nil, fmt.Errorf("shard %d/%d: the plan is a shard already", i, n)
	case n > len(blocks):
		return nil, fmt.Errorf("shard %d/%d: the plan has %d blocks (scenario x model x repetition) and cannot be cut into more parts", i, n, len(blocks))
	}
	out := *p
	out.ShardIndex, out.Shards, out.Trials = i, n, nil
	for b := i - 1; b < len(blocks); b += n {
		out.Trials = append(out.Trials, blocks[b].Trials...)
	}
	return &out, nil
}

// ParseShard reads a shard as command lines write it: i/n.
func ParseShard(s string) (i, n int, err error) {
	first, second, ok := strings.Cut(s, "/")
	i, err1 := strconv.Atoi(first)
	n, err2 := strconv.Atoi(second)
	if !ok || err1 != nil || err2 != nil || i < 1 || i > n {
		return 0, 0, fmt.Errorf("%.40q is no shard; write i/n with 1 <= i <= n, for example 2/8", s)
	}
	return i, n, nil
}
