package ablations

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/harnessbench/harnessbench/graders"
	"github.com/harnessbench/harnessbench/replayer"
	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/scenarios"
)

// Regraded says what Regrade did.
type Regraded struct {
	Trials   int
	Changed  int // with another verdict than before
	Ungraded int // whose session could not be rebuilt, or whose grader failed
}

// Regrade grades a run's sessions again, without running anything: each session
// is replayed on its recording, and the graders that its scenario has today look
// at what it left. The journal is replaced at once when all are graded. list
// holds the scenarios by id. Errored trials stay as they are, unless it was their
// grader that failed.
func Regrade(ctx context.Context, dir string, list map[string]*scenarios.Scenario, each func()) (sum Regraded, err error) {
	path := filepath.Join(dir, results.JournalFile)
	index, err := results.IndexJournal(path)
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, index.Close()) }()
	fresh := path + ".new"
	if err := removeIfThere(fresh); err != nil {
		return sum, err
	}
	j, err := results.CreateJournal(fresh)
	if err != nil {
		return sum, err
	}
	g := regrader{ctx: ctx, dir: dir, list: list, each: each, journal: j}
	if err := g.all(index); err != nil {
		return g.sum, errors.Join(err, j.Close(), removeIfThere(fresh))
	}
	if err := j.Close(); err != nil {
		return g.sum, err
	}
	return g.sum, os.Rename(fresh, path)
}

type regrader struct {
	ctx     context.Context
	dir     string
	list    map[string]*scenarios.Scenario
	each    func()
	journal *results.Journal

	mu  sync.Mutex
	sum Regraded
}

// batch is how many trials are graded side by side before they are journaled, in
// canonical order.
const regradeBatch = 128

func (g *regrader) all(index *results.Index) error {
	var batch []results.Entry
	flush := func() error {
		errs := make([]error, len(batch))
		next := make(chan int)
		var wg sync.WaitGroup
		for range min(runtime.GOMAXPROCS(0), len(batch)) {
			wg.Go(func() {
				for i := range next {
					errs[i] = g.one(&batch[i])
				}
			})
		}
		for i := range batch {
			next <- i
		}
		close(next)
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
		err := g.journal.Append(batch...)
		batch = batch[:0]
		return err
	}
	for e, err := range index.Entries() {
		if err != nil {
			return err
		}
		if batch = append(batch, *e); len(batch) == regradeBatch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// one grades one trial again, in place.
func (g *regrader) one(e *results.Entry) error {
	t := &e.Trial
	sc := g.list[t.Scenario]
	if sc == nil {
		return fmt.Errorf("the scenario %q of a trial is not there", t.Scenario)
	}
	before := t.Verdict
	if !t.Errored || t.ErrorClass != nil && *t.ErrorClass == results.ErrorGrader {
		name := filepath.FromSlash(t.Session)
		if !filepath.IsLocal(name) {
			return fmt.Errorf("trial %s: the session %q is not inside the run folder", t.Key(), t.Session)
		}
		left, rep, err := replayer.Rebuild(g.ctx, filepath.Join(g.dir, SessionsDir, name))
		if err != nil {
			return err
		}
		if left != nil && left.Digest.String() != t.SessionDigest {
			return fmt.Errorf("trial %s: %s is another session than the one that was run; its digest differs from the journal's", t.Key(), t.Session)
		}
		overall := graders.Overall{Verdict: graders.Ungraded}
		var verdicts []graders.Verdict
		if left == nil {
			overall.Reason = fmt.Sprintf("the session cannot be rebuilt: %s %s", rep.Verdict, rep.Reason)
		} else {
			overall, verdicts = left.Grade(g.ctx, sc.Graders)
		}
		setVerdict(t, overall)
		e.Verdicts = verdictRows(t, verdicts)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sum.Trials++
	if t.Verdict != before {
		g.sum.Changed++
	}
	if t.Verdict == results.Ungraded {
		g.sum.Ungraded++
	}
	if g.each != nil {
		g.each()
	}
	return g.ctx.Err()
}

// setVerdict writes what the graders say into a row.
func setVerdict(t *results.Trial, o graders.Overall) {
	t.Errored, t.ErrorClass, t.ErrorText, t.Score = false, nil, nil, nil
	t.Verdict = o.Verdict
	if o.Verdict == graders.Ungraded {
		class, why := results.ErrorGrader, o.Reason
		t.Errored, t.ErrorClass, t.ErrorText = true, &class, &why
		return
	}
	score := o.Score
	t.Score = &score
}
