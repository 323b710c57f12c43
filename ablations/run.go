package ablations

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/results"
)

// Names inside a run folder.
const (
	SessionsDir = "sessions"
	ParquetDir  = "parquet"
	LockFile    = "suite.lock.yaml"
)

// RunOptions say how a plan is executed.
type RunOptions struct {
	Dir         string       // an existing, empty run folder
	Concurrency int          // trials at a time; 0 = the suite's, else the number of CPUs
	Sync        session.Sync // when sessions are forced to disk
	// Stop, once closed, lets running trials finish and starts no more.
	Stop <-chan struct{}
	// Done is called after each trial is journaled, from one goroutine at a time.
	Done func(row *results.Trial)
}

// ErrStopped is returned when a run was stopped before all trials were done.
// What was finished is in the journal.
var ErrStopped = errors.New("stopped before all trials were done")

// Run executes a plan into a run folder: sessions/, journal.jsonl and
// suite.lock.yaml. Cancelling ctx ends running trials too; theirs do not count.
func Run(ctx context.Context, p *Plan, o RunOptions) (err error) {
	r, err := newRunner(p, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.journal.Close(), os.RemoveAll(r.temp)) }()
	ctx, r.cancel = context.WithCancel(ctx)
	defer r.cancel()
	work := make(chan *Trial)
	var wg sync.WaitGroup
	for range r.concurrency() {
		wg.Go(func() {
			for t := range work {
				r.one(ctx, t)
			}
		})
	}
	all := r.feed(ctx, work)
	close(work)
	wg.Wait()
	switch {
	case r.err != nil:
		return r.err
	case ctx.Err() != nil || !all:
		return ErrStopped
	}
	return nil
}

// runner is one execution of a plan.
type runner struct {
	plan    *Plan
	o       RunOptions
	runID   string
	temp    string
	journal *results.Journal
	cancel  context.CancelFunc

	mu  sync.Mutex
	err error // the first that ended the run
}

func newRunner(p *Plan, o RunOptions) (*runner, error) {
	lock, err := p.Lock().Encode()
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(filepath.Join(o.Dir, SessionsDir), 0o755); err != nil {
		return nil, fmt.Errorf("run folder: %w", err)
	}
	if err := os.WriteFile(filepath.Join(o.Dir, LockFile), lock, 0o644); err != nil {
		return nil, fmt.Errorf("run folder: %w", err)
	}
	temp, err := os.MkdirTemp("", "harnessbench-run-")
	if err != nil {
		return nil, err
	}
	j, err := results.CreateJournal(filepath.Join(o.Dir, results.JournalFile))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(temp))
	}
	return &runner{plan: p, o: o, runID: results.RunID(p.Suite.Name, lock), temp: temp, journal: j}, nil
}

func (r *runner) concurrency() int {
	n := r.o.Concurrency
	if n == 0 {
		n = r.plan.Suite.Concurrency
	}
	if n == 0 {
		// Simulated trials spend a part of their time in waits for the disk.
		n = 2 * runtime.GOMAXPROCS(0)
	}
	return max(1, min(n, len(r.plan.Trials)))
}

// feed hands out trials in order and reports whether all were.
func (r *runner) feed(ctx context.Context, work chan<- *Trial) bool {
	for i := range r.plan.Trials {
		select {
		case <-r.o.Stop:
			return false
		case <-ctx.Done():
			return false
		default:
		}
		select {
		case work <- &r.plan.Trials[i]:
		case <-r.o.Stop:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// one runs a trial and journals it.
func (r *runner) one(ctx context.Context, t *Trial) {
	spec := trial.Spec{Scenario: t.Scenario, Model: t.Model, Arm: t.Arm.Name, Guards: t.Arm.Guards,
		Repetition: t.Repetition, Seed: r.plan.Suite.Seed}
	out, err := trial.Run(ctx, spec, trial.Options{
		Session: filepath.Join(r.o.Dir, SessionsDir, t.SessionName()), Sync: r.o.Sync, Temp: r.temp})
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		r.fail(err)
		return
	}
	entry := r.entry(t, out)
	if err := r.journal.Append(entry); err != nil {
		r.fail(err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.o.Done != nil {
		r.o.Done(&entry.Trial)
	}
}

func (r *runner) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
	r.cancel()
}

// entry makes the journal's line of a finished trial.
func (r *runner) entry(t *Trial, out *trial.Outcome) results.Entry {
	end, tally := out.End, out.Tally
	row := results.Trial{
		RunID: r.runID, Suite: r.plan.Suite.Name, Scenario: t.Scenario.ID, ScenarioDigest: t.Scenario.Digest,
		Tags: append([]string(nil), t.Scenario.Tags...), Harms: t.Scenario.Tagged(results.HarmsTag),
		Model: t.Model, Simulated: trial.IsSimulated(t.Model), Arm: t.Arm.Name, Repetition: t.Repetition,
		Seed:    trial.RepetitionSeed(r.plan.Suite.Seed, t.Scenario.ID, t.Repetition),
		Outcome: string(end.Reason), Backstop: end.Backstop, Verdict: out.Overall.Verdict,
		Turns: end.Turns, ModelCalls: end.Attempts, ToolCalls: len(tally.Calls),
		InputUncached: &end.Usage.InputUncached, CacheRead: &end.Usage.CacheRead, CacheWrite: &end.Usage.CacheWrite,
		Output: &end.Usage.Output, Reasoning: &end.Usage.Reasoning,
		ModelUS: results.Micros(tally.ModelTime), ToolUS: results.Micros(tally.ToolTime), WaitUS: results.Micros(tally.WaitTime),
		Session: t.SessionName(), SessionDigest: out.Digest.String(), Guards: tally.GuardCounts(t.Arm.Guards),
	}
	if end.Cost.Known {
		usd := float64(end.Cost.Pico) / 1e12
		row.CostUSD, row.SpentUSD = &usd, &usd
	}
	if class, why := errored(out); class != "" {
		row.Errored, row.ErrorClass, row.ErrorText = true, &class, &why
		row.Verdict = results.Ungraded
	}
	if row.Verdict != results.Ungraded {
		row.Score = &out.Overall.Score
	}
	return results.Entry{Trial: row, Verdicts: r.verdicts(t, out), Events: r.firings(t, tally)}
}

// errored says whether the infrastructure failed a trial rather than the harness
// or the model: such a trial is in no denominator.
func errored(out *trial.Outcome) (class, why string) {
	end, last := out.End, out.Tally.LastError
	switch {
	case end.Reason == event.InternalError:
		return "internal", end.Evidence
	case end.Reason == event.ModelError && last != nil && last.Kind == model.ErrAuth:
		return "auth", last.Message
	case end.Reason == event.ModelError && last != nil && last.Kind == model.ErrQuota:
		return "quota", last.Message
	case out.Overall.Verdict == results.Ungraded:
		return "grader", out.Overall.Reason
	}
	return "", ""
}

func (r *runner) verdicts(t *Trial, out *trial.Outcome) []results.Verdict {
	rows := make([]results.Verdict, 0, len(out.Verdicts))
	for _, v := range out.Verdicts {
		row := results.Verdict{RunID: r.runID, Scenario: t.Scenario.ID, Model: t.Model, Arm: t.Arm.Name, Repetition: t.Repetition,
			Index: len(rows), Grader: v.Grader, Type: v.Type, Version: v.Version, Digest: v.Digest,
			Gate: v.Gate, Primary: v.Primary, Verdict: v.Verdict, Reason: v.Reason, Evidence: v.Evidence}
		if v.Verdict != results.Ungraded {
			row.Score = &v.Score
		}
		rows = append(rows, row)
	}
	return rows
}

func (r *runner) firings(t *Trial, tally *trial.Tally) []results.GuardEvent {
	rows := make([]results.GuardEvent, 0, len(tally.Firings))
	for i, f := range tally.Firings {
		rows = append(rows, results.GuardEvent{RunID: r.runID, Scenario: t.Scenario.ID, Model: t.Model, Arm: t.Arm.Name,
			Repetition: t.Repetition, Index: i, Lane: f.Lane, Turn: f.Turn, AtUS: f.At.Microseconds(),
			Guard: f.Name, Version: f.Version, Mode: f.Mode, Act: f.Act, On: f.On, Evidence: f.Evidence})
	}
	return rows
}
