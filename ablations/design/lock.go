package design

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/results/pricing"
	"github.com/harnessbench/harnessbench/scenarios"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

// Lock is a suite as it was run, every digest included: the content of
// suite.lock.yaml. Two runs with equal locks on simulated models give equal
// sessions and results. It holds all that [PlanFromLock] needs beside the
// scenarios themselves. Digests are SHA-256, hex.
type Lock struct {
	Schema      string         `yaml:"schema"`
	Name        string         `yaml:"name"`
	Suite       string         `yaml:"suite,omitempty"` // digest of the suite file
	Seed        uint64         `yaml:"seed"`
	Repetitions int            `yaml:"repetitions"`
	Concurrency int            `yaml:"concurrency,omitempty"`
	Coupling    string         `yaml:"coupling,omitempty"`
	Limits      *LockLimits    `yaml:"limits,omitempty"`
	Budgets     *LockBudgets   `yaml:"budgets,omitempty"`
	Errors      float64        `yaml:"errors_allow,omitempty"`
	Models      []string       `yaml:"models"`
	Prices      *LockPrices    `yaml:"prices,omitempty"`
	ModelsFile  *LockModels    `yaml:"models_file,omitempty"`
	Scenarios   []LockScenario `yaml:"scenarios"`
	Prompts     []LockPrompt   `yaml:"prompts,omitempty"`
	Factors     []LockFactor   `yaml:"factors,omitempty"` // of a factorial design
	Arms        []LockArm      `yaml:"arms"`
	Comparisons []Comparison   `yaml:"comparisons"`
	Gates       []Gate         `yaml:"gates,omitempty"`
}

// LockFile is the name of a lock in its run folder.
const LockFile = "suite.lock.yaml"

// Planned is how many trials the whole suite has.
func (l *Lock) Planned() int {
	n := 0
	for _, a := range l.Arms {
		models := len(a.Models)
		if models == 0 {
			models = len(l.Models)
		}
		scenarios := len(l.Scenarios)
		if a.Expect != nil {
			scenarios = len(a.Scenarios)
		}
		n += models * scenarios * l.Repetitions
	}
	return n
}

// LockSchema is the value of a lock's schema key.
const LockSchema = "harnessbench/suite-lock/v1"

// LockLimits is the suite's limits.
type LockLimits struct {
	Turns        int    `yaml:"turns,omitempty"`
	ToolCalls    int    `yaml:"tool_calls,omitempty"`
	Tokens       int64  `yaml:"tokens,omitempty"`
	CostMicroUSD int64  `yaml:"cost_micro_usd,omitempty"`
	Wall         string `yaml:"wall,omitempty"` // a Go duration
}

// LockBudgets is the suite's budgets.
type LockBudgets struct {
	MicroUSD      int64 `yaml:"micro_usd,omitempty"`
	Tokens        int64 `yaml:"tokens,omitempty"`
	TrialMicroUSD int64 `yaml:"trial_micro_usd,omitempty"`
}

// LockPrices is the table of the simulated models' prices. Those of others stand in
// ModelsFile.
type LockPrices struct {
	Date   string `yaml:"date"`
	Digest string `yaml:"digest"` // over the prices of the suite's models
}

// LockScenario names a scenario and what it was.
type LockScenario struct {
	ID     string `yaml:"id"`
	Digest string `yaml:"digest"`
	Source string `yaml:"source"` // builtin/NAME, or a path relative to the suite's folder, with slashes
}

// LockPrompt is the text of a system prompt.
type LockPrompt struct {
	Digest string `yaml:"digest"`
	Text   string `yaml:"text"`
}

// LockArm is one arm with every guard setting, as canonical JSON.
type LockArm struct {
	Name     string   `yaml:"name"`
	Guards   string   `yaml:"guards"`
	Prompt   string   `yaml:"prompt,omitempty"`   // digest of its system prompt
	Models   []string `yaml:"models,omitempty"`   // none = all
	Fallback []string `yaml:"fallback,omitempty"` // the models that the guard fallback may turn to
	Levels   []Level  `yaml:"levels,omitempty"`   // of a factorial design
	Expect   *Expect  `yaml:"expect,omitempty"`
	// Scenarios are the ids of those that an arm with an expectation runs on.
	Scenarios []string `yaml:"scenarios,omitempty"`
	Digest    string   `yaml:"digest,omitempty"` // over guards and prompt
}

// Lock describes the plan. The parts of one suite have one lock.
func (p *Plan) Lock() Lock {
	s := p.Suite
	l := Lock{Schema: LockSchema, Name: s.Name, Suite: s.Digest, Seed: s.Seed, Repetitions: s.Repetitions,
		Concurrency: s.Concurrency, Coupling: s.Coupling, Errors: s.Errors.Allow, Models: s.Models,
		Prices: lockPrices(s.Asked()), ModelsFile: s.cards.lock(s.Asked()), Comparisons: p.Comparisons, Gates: s.Gates, Factors: p.Factors}
	if x := s.Limits; x != (Limits{Pos: x.Pos}) {
		l.Limits = &LockLimits{Turns: x.Turns, ToolCalls: x.ToolCalls, Tokens: x.Tokens, CostMicroUSD: x.CostMicroUSD}
		if x.Wall > 0 {
			l.Limits.Wall = x.Wall.String()
		}
	}
	if x := s.Budgets; x != (Budgets{Pos: x.Pos}) {
		l.Budgets = &LockBudgets{x.MicroUSD, x.Tokens, x.TrialMicroUSD}
	}
	for i, sc := range p.Scenarios {
		source := sc.Source
		if i < len(p.sources) {
			source = p.sources[i]
		}
		l.Scenarios = append(l.Scenarios, LockScenario{sc.ID, sc.Digest, source})
	}
	known := map[string]bool{}
	for i := range p.Arms {
		a := &p.Arms[i]
		text := a.Prompt
		if text == "" {
			text = trial.SystemPrompt
		}
		arm := LockArm{Name: a.Name, Guards: string(a.Guards.AppendJSON(nil)), Prompt: hexDigest(text), Models: a.Models, Levels: a.Levels, Fallback: a.Fallback, Expect: a.Expect, Scenarios: a.Scenarios}
		arm.Digest = arm.digest()
		if !known[arm.Prompt] {
			known[arm.Prompt] = true
			l.Prompts = append(l.Prompts, LockPrompt{arm.Prompt, text})
		}
		l.Arms = append(l.Arms, arm)
	}
	return l
}

// digest covers what an arm does: its guards, its prompt, and its models for
// fallback if there are any.
func (a *LockArm) digest() string {
	text := "harnessbench/arm/1\n" + a.Guards + "\n" + a.Prompt
	for _, m := range a.Fallback {
		text += "\nfallback " + m
	}
	return hexDigest(text)
}

func hexDigest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// lockPrices digests the prices of models: one line each, in the order of their
// names, with ? for what is unknown.
func lockPrices(models []string) *LockPrices {
	t := pricing.Simulated()
	var b strings.Builder
	for _, m := range slices.Sorted(slices.Values(models)) {
		q, _ := t.Lookup(m)
		fmt.Fprintf(&b, "%s", m)
		for _, v := range []*pricing.Micro{q.Input, q.CacheRead, q.CacheWrite, q.Output} {
			if v == nil {
				b.WriteString(" ?")
				continue
			}
			b.WriteString(" " + v.String())
		}
		b.WriteByte('\n')
	}
	return &LockPrices{t.Date, hexDigest(b.String())}
}

// sourceOf says where a scenario is found again. Embedded ones are known by
// name; a path is relative to the suite's folder, so that the lock is the same
// wherever the suite stands.
func sourceOf(folder string, sc *scenarios.Scenario) string {
	if b, err := builtin.Get(sc.ID); err == nil && b.Source == sc.Source && b.Digest == sc.Digest {
		return sc.Source
	}
	from, err1 := filepath.Abs(folder)
	to, err2 := filepath.Abs(sc.Source)
	if err1 != nil || err2 != nil {
		return sc.Source
	}
	rel, err := filepath.Rel(from, to)
	if err != nil {
		return filepath.ToSlash(to) // on another volume
	}
	rel = filepath.ToSlash(rel)
	if strings.HasPrefix(rel, BuiltinPrefix) {
		rel = "./" + rel // a folder that has the embedded ones' name
	}
	return rel
}

// ReadLock reads a lock file and returns it with its bytes.
func ReadLock(path string) (Lock, []byte, error) {
	var l Lock
	info, err := os.Stat(path)
	if err != nil {
		return l, nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxLockBytes {
		return l, nil, fmt.Errorf("%s: a lock is a file of at most %d bytes", path, maxLockBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return l, nil, err
	}
	l, err = ParseLock(path, data)
	return l, data, err
}

// ParseLock reads a lock. file is its name for messages.
func ParseLock(file string, data []byte) (Lock, error) {
	var l Lock
	if err := strictyaml.UnmarshalMax(file, data, maxLockBytes, &l); err != nil {
		return Lock{}, err
	}
	if l.Schema != LockSchema {
		return Lock{}, fmt.Errorf("%s: schema is %.60q; this version reads %s", file, l.Schema, LockSchema)
	}
	return l, nil
}

// maxLockBytes is more than the most arms with all their guards need.
const maxLockBytes = 24 << 20

// wall reads the limit's duration.
func (l *LockLimits) wall() (time.Duration, error) {
	if l.Wall == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(l.Wall)
	if err != nil || d < 0 || d > maxWall {
		return 0, fmt.Errorf("limits: wall is no duration: %.40q", l.Wall)
	}
	return d, nil
}
