package ablations

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/results"
)

// CutFile says which blocks a budget kept from being run.
const CutFile = "cut.json"

// Cut is the content of CutFile.
type Cut struct {
	Schema string     `json:"schema"`
	Reason string     `json:"reason"`
	Trials int        `json:"trials"`
	Blocks []CutBlock `json:"blocks"` // sorted
	// What the whole run spent, also on blocks that were cut while they ran and
	// have no rows.
	SpentUSD    float64 `json:"spent_usd"`
	SpentTokens int64   `json:"spent_tokens"`
}

// CutBlock names one block that was not run.
type CutBlock struct {
	Scenario   string `json:"scenario"`
	Harms      bool   `json:"harms"` // the scenario is tagged harms
	Model      string `json:"model"`
	Repetition int    `json:"repetition"`
	Trials     int    `json:"trials"`
}

// CutSchema is the value of a Cut's schema.
const CutSchema = "harnessbench/cut/v1"

// reopen takes up an unfinished run: the lock must be the plan's, the journal says
// what is done. Blocks of which only a part is journaled, and trials that the
// harness itself failed, are done again; what they spent counts.
func (r *runner) reopen(lock []byte) error {
	have, err := os.ReadFile(filepath.Join(r.o.Dir, design.LockFile))
	if err != nil {
		return fmt.Errorf("run folder: %w", err)
	}
	if !bytes.Equal(have, lock) {
		return fmt.Errorf("%s: the run was made with another version of its suite; run it anew", filepath.Join(r.o.Dir, design.LockFile))
	}
	if err := os.MkdirAll(filepath.Join(r.o.Dir, SessionsDir), 0o755); err != nil {
		return fmt.Errorf("run folder: %w", err)
	}
	path := filepath.Join(r.o.Dir, results.JournalFile)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		r.journal, err = results.CreateJournal(path)
		return err
	}
	c, err := results.ReadJournalFile(path)
	if err != nil {
		return err
	}
	whole := r.wholeBlocks(c.Trials())
	j, kept, err := results.ResumeJournal(path, func(t *results.Trial) bool {
		return !whole[blockOf(t)] || again(t)
	})
	if err != nil {
		return err
	}
	r.journal = j
	for _, t := range kept.Trials() {
		r.carry(&t)
	}
	return nil
}

// blockID names the block of a journaled trial.
type blockID struct {
	scenario, model string
	rep             int
}

func blockOf(t *results.Trial) blockID { return blockID{t.Scenario, t.Model, t.Repetition} }

// again reports whether a journaled trial is run again: the harness itself failed
// it, or the operator cancelled it.
func again(t *results.Trial) bool {
	return t.Outcome == string(event.CancelledRun) || t.ErrorClass != nil && *t.ErrorClass == results.ErrorInternal
}

// wholeBlocks says which blocks are journaled with all their trials, none of
// which is to be run again.
func (r *runner) wholeBlocks(rows []results.Trial) map[blockID]bool {
	want, have := map[blockID]int{}, map[blockID]int{}
	for i := range r.plan.Trials {
		t := &r.plan.Trials[i]
		want[blockID{t.Scenario.ID, t.Model, t.Repetition}]++
	}
	for i := range rows {
		if !again(&rows[i]) {
			have[blockOf(&rows[i])]++
		}
	}
	whole := make(map[blockID]bool, len(have))
	for id, n := range have {
		whole[id] = n == want[id]
	}
	return whole
}

// carry counts what a journaled trial spent into the budget.
func (r *runner) carry(t *results.Trial) {
	var pico, tokens int64
	if t.SpentUSD != nil {
		pico = int64(*t.SpentUSD*1e12 + 0.5)
	}
	if t.SpentTokens != nil {
		tokens = *t.SpentTokens
	}
	r.ledger.carry(pico, tokens)
}

// writeCut notes the blocks that were not run.
func (r *runner) writeCut() error {
	c := Cut{Schema: CutSchema, Reason: r.plan.Suite.Budgets.String(), Trials: r.progress.Cut,
		SpentUSD: float64(r.ledger.spentPico) / 1e12, SpentTokens: r.ledger.spentTokens}
	for _, b := range r.blocks {
		t := b.trials[0]
		if !r.journal.Has(t.Key()) {
			c.Blocks = append(c.Blocks, CutBlock{t.Scenario.ID, t.Scenario.Tagged(results.HarmsTag), t.Model, t.Repetition, len(b.trials)})
		}
	}
	return c.write(r.o.Dir)
}

// write sorts the blocks and writes the file.
func (c *Cut) write(dir string) error {
	slices.SortFunc(c.Blocks, func(a, b CutBlock) int {
		return cmp.Or(cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Repetition, b.Repetition))
	})
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, CutFile), append(data, '\n'))
}

func removeCut(dir string) error { return removeIfThere(filepath.Join(dir, CutFile)) }

// ReadCut returns what a budget cut of a run; no blocks when it cut nothing.
func ReadCut(dir string) (Cut, error) {
	path := filepath.Join(dir, CutFile)
	var c Cut
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return c, nil
	}
	if err == nil {
		if err = json.Unmarshal(data, &c); err == nil && c.Schema != CutSchema {
			err = fmt.Errorf("schema is %q, not %s", c.Schema, CutSchema)
		}
	}
	if err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}
