package ablations

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/cache"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/results"
)

// Names inside a run folder.
const (
	SessionsDir = "sessions"
	ParquetDir  = "parquet"
)

// workDir holds the trees of running trials; a killed run leaves them there, and
// the next one takes them away.
const workDir = ".work"

// RunOptions say how a plan is executed.
type RunOptions struct {
	Dir         string       // the run folder: empty, or one to resume
	Resume      bool         // Dir holds an unfinished run of this very plan
	Concurrency int          // trials at a time; 0 = the suite's, else as many as the models can use
	Sync        session.Sync // when sessions on simulated models are forced to disk
	SyncReal    session.Sync // and those on other models, whose answers cost money and time
	// Provider makes the models that are not simulated.
	Provider trial.Provider
	// Cache is what the guard response_cache reads and fills, see OpenCache; nil =
	// nothing. It stands before sharing and budgets: a hit costs no arm anything.
	Cache cache.Store
	// Secrets are overwritten in all that trials on models which are not simulated
	// see and record: keys in the environment, say.
	Secrets []string
	// Places says how many trials on models of a provider run at a time where
	// nobody says how many trials do: more would only wait for each other. Nil, or
	// 0 = as many as there are places.
	Places func(provider string) int
	// Stop, once closed, lets running trials finish and starts no more.
	Stop <-chan struct{}
	// GradeTimeout is what the graders of one trial may take, in real time; 0 = as
	// long as they want. A trial that is not graded by then is errored (grader),
	// and can be graded later.
	GradeTimeout time.Duration
	// Live says that model calls take real time; it is implied by models that are
	// not simulated.
	Live bool
	// Wrap, when set, wraps the model of every trial, below sharing and budgets:
	// what limits calls a provider, or makes a simulated model take its time.
	Wrap func(t *design.Trial, m model.Model) model.Model
	// Done is called after each trial is journaled, from one goroutine at a time.
	Done func(row *results.Trial)
}

// Progress says how far a run came.
type Progress struct {
	Planned int // trials of the plan (or of its shard)
	Before  int // of them, journaled before this execution
	Done    int // journaled by this execution
	Cut     int // not run, since the budget did not cover their block
	Resumed int // trials taken up inside, from their recording
}

// ErrStopped is returned when a run was stopped before all trials were done.
// What was finished is in the journal.
var ErrStopped = errors.New("stopped before all trials were done")

// Run executes a plan into a run folder: sessions/, journal.jsonl and
// suite.lock.yaml. The trials of a block are journaled together, when the last of
// them is done: then it is known who paid for what they shared. Cancelling ctx
// leaves running trials unfinished, to be resumed.
func Run(ctx context.Context, p *design.Plan, o RunOptions) (_ Progress, err error) {
	r, err := newRunner(p, o)
	if err != nil {
		return Progress{}, err
	}
	defer func() { err = errors.Join(err, r.journal.Close(), os.RemoveAll(r.temp)) }()
	ctx, r.cancel = context.WithCancel(ctx)
	defer r.cancel()
	if r.concurrency() > manyTrials {
		defer debug.SetGCPercent(debug.SetGCPercent(manyTrialsGC))
	}
	all := r.work(ctx)
	r.progress.Cut = r.progress.Planned - r.progress.Before - r.progress.Done
	switch {
	case r.err != nil:
		return r.progress, r.err
	case ctx.Err() != nil || !all:
		r.progress.Cut = 0
		return r.progress, ErrStopped
	case r.broke():
		return r.progress, r.writeCut()
	}
	r.progress.Cut = 0
	return r.progress, removeCut(o.Dir)
}

// runner is one execution of a plan.
type runner struct {
	plan    *design.Plan
	o       RunOptions
	runID   string
	temp    string
	journal *results.Journal
	ledger  *ledger
	cancel  context.CancelFunc
	blocks  []*block

	mu       sync.Mutex
	progress Progress
	spent    bool  // a block was cut: the budget is used up
	err      error // the first that ended the run
}

// block is the trials of one (scenario, model, repetition), in plan order.
type block struct {
	trials []*design.Trial
	pool   *answers // nil under independent coupling

	mu         sync.Mutex
	left       int
	cut        bool            // the budget did not cover it
	broken     bool            // a trial of it was not finished
	ctx        context.Context // of its trials
	stop       context.CancelFunc
	recordings []string // of an interrupted execution; "" = none
	meters     []*meter
	outcome    []*trial.Outcome
}

// job is one trial of a block.
type job struct {
	b    *block
	at   int
	lane *lane // whose place it takes
}

func newRunner(p *design.Plan, o RunOptions) (_ *runner, err error) {
	lock, err := p.Lock().Encode()
	if err != nil {
		return nil, err
	}
	r := &runner{plan: p, o: o, runID: results.RunID(p.Suite.Name, lock),
		ledger: newLedger(p.Suite.Budgets, p.ShardIndex, p.Shards)}
	if o.Resume {
		err = r.reopen(lock)
	} else {
		err = r.open(lock)
	}
	if err != nil {
		return nil, err
	}
	r.temp = filepath.Join(o.Dir, workDir)
	if err := errors.Join(os.RemoveAll(r.temp), os.Mkdir(r.temp, 0o755)); err != nil {
		return nil, errors.Join(err, r.journal.Close())
	}
	r.group()
	return r, nil
}

// open begins a run in an empty folder.
func (r *runner) open(lock []byte) (err error) {
	if err = os.Mkdir(filepath.Join(r.o.Dir, SessionsDir), 0o755); err != nil {
		return fmt.Errorf("run folder: %w", err)
	}
	if err = writeFile(filepath.Join(r.o.Dir, design.LockFile), lock); err != nil {
		return fmt.Errorf("run folder: %w", err)
	}
	r.journal, err = results.CreateJournal(filepath.Join(r.o.Dir, results.JournalFile))
	return err
}

// writeFile writes a file, forces it to disk, and gives it its name when it is
// whole.
func writeFile(path string, data []byte) error {
	fresh := path + ".new"
	f, err := os.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(fresh, path)
}

// group sorts the plan's trials into blocks and leaves out what is journaled.
func (r *runner) group() {
	type id struct {
		scenario, model string
		rep             int
	}
	byID := map[id]*block{}
	for i := range r.plan.Trials {
		t := &r.plan.Trials[i]
		r.progress.Planned++
		if r.journal.Has(t.Key()) {
			r.progress.Before++
			continue
		}
		k := id{t.Scenario.ID, t.Model, t.Repetition}
		b := byID[k]
		if b == nil {
			b = &block{}
			if r.plan.Suite.Coupling != design.Independent {
				b.pool = newAnswers()
			}
			byID[k] = b
			r.blocks = append(r.blocks, b)
		}
		b.trials = append(b.trials, t)
	}
	for _, b := range r.blocks {
		b.left = len(b.trials)
		b.meters = make([]*meter, b.left)
		b.outcome = make([]*trial.Outcome, b.left)
	}
}

// concurrency is how many trials run at a time. Under a budget on simulated
// models it is one, so that the place where the budget ends is the same in every
// run.
func (r *runner) concurrency() int {
	if r.ledger.bounded() && r.simulated() {
		return 1
	}
	n := r.o.Concurrency
	if n == 0 {
		n = Concurrency(r.plan.Suite, r.o.Places)
	}
	return max(1, min(n, len(r.plan.Trials)))
}

// Concurrency is how many trials of a suite run at a time when nobody says: what
// the suite does, else the sum of what its providers can use. Simulated models
// use the CPUs. Providers that set no bound, as in RunOptions.Places, do too.
func Concurrency(s *design.Suite, places func(provider string) int) int {
	if s.Concurrency > 0 {
		return s.Concurrency
	}
	sum, seen := 0, map[string]bool{}
	for _, m := range s.Models {
		name := trial.ProviderOf(m)
		if seen[name] {
			continue
		}
		seen[name] = true
		n := 0
		if places != nil && !trial.IsSimulated(m) {
			n = places(name)
		}
		if n == 0 {
			// Trials spend a part of their time in waits for the disk.
			n = 2 * runtime.GOMAXPROCS(0)
		}
		sum += n
	}
	return sum
}

// manyTrials is how many trials at a time may each hold a file open.
const manyTrials = 256

// manyTrialsGC is the garbage collector's percentage while so many trials wait:
// what they hold is most of the heap, and room for as much again would double it.
const manyTrialsGC = 50

func (r *runner) simulated() bool {
	for _, m := range r.plan.Suite.Models {
		if !trial.IsSimulated(m) {
			return false
		}
	}
	return true
}

// work runs the trials, and reports whether all were. Once a block was cut no
// other is begun.
func (r *runner) work(ctx context.Context) bool {
	places := r.concurrency()
	q := newQueue(r.blocks, places, func(provider string) int {
		if r.o.Concurrency > 0 || r.plan.Suite.Concurrency > 0 || r.o.Places == nil || trial.IsSimulated(provider+"/") {
			return 0 // who says how many trials run at a time means it
		}
		return r.o.Places(provider)
	})
	q.ended = r.broke
	q.halt = func() bool {
		select {
		case <-r.o.Stop:
			return true
		default:
			return ctx.Err() != nil
		}
	}
	q.begin = func(b *block) (err error) {
		b.ctx, b.stop = context.WithCancel(ctx)
		if r.o.Resume {
			if err = r.recall(b); err != nil {
				r.fail(err)
			}
		}
		return err
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-r.o.Stop:
		case <-ctx.Done():
		case <-done:
		}
		q.wake()
	}()
	var wg sync.WaitGroup
	for range places {
		wg.Go(func() {
			for {
				j, ok := q.take()
				if !ok {
					return
				}
				r.one(j)
				q.done(j)
			}
		})
	}
	wg.Wait()
	return q.all()
}

// broke reports whether the budget is used up.
func (r *runner) broke() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.spent
}

func (r *runner) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
	r.cancel()
}
