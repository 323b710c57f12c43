package ablations

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/replayer"
	"github.com/harnessbench/harnessbench/results"
)

// one runs a trial, and with the last of its block journals them all.
func (r *runner) one(j job) {
	b := j.b
	m, out, err := r.trial(j)
	b.mu.Lock()
	switch {
	case err == nil:
		b.meters[j.at], b.outcome[j.at] = m, out
	case errors.Is(err, errBudget):
		b.cut = true
		b.stop() // its other trials would not count either
	default:
		b.broken = true
	}
	b.left--
	last, cut, broken := b.left == 0, b.cut, b.broken
	stopped := b.ctx.Err() != nil
	b.mu.Unlock()
	if err != nil && !errors.Is(err, errBudget) && !stopped {
		r.fail(err)
	}
	if cut {
		r.mu.Lock()
		r.spent = true
		r.mu.Unlock()
	}
	if !last {
		return
	}
	defer b.stop()
	if cut || broken {
		return
	}
	if err := r.finish(b); err != nil {
		r.fail(err)
	}
}

// trial runs or resumes one trial.
func (r *runner) trial(j job) (*meter, *trial.Outcome, error) {
	spec, o, m := r.prepare(j)
	if r.o.Resume {
		out, err := r.resume(j, spec, o, m)
		if out != nil || err != nil {
			return m, out, err
		}
		m.uses, o.Overwrite = nil, true // the recording could not be used
	}
	out, err := trial.RunSpec(j.b.ctx, spec, o)
	return m, out, err
}

// prepare says how a trial is run.
//
//go:noinline
func (r *runner) prepare(j job) (*trial.Spec, *trial.Options, *meter) {
	t := j.b.trials[j.at]
	spec := r.spec(t)
	real := !trial.IsSimulated(t.Model)
	m := &meter{pool: j.b.pool, ledger: r.ledger, prices: spec.Prices(), real: real}
	sync := r.o.Sync
	if real {
		sync = r.o.SyncReal
	}
	return &spec, &trial.Options{
		Session: filepath.Join(r.o.Dir, SessionsDir, t.SessionName()), Sync: sync, Temp: r.temp, GradeTimeout: r.o.GradeTimeout,
		Live: r.o.Live || real, Reopen: r.concurrency() > manyTrials, Provider: r.o.Provider, Cache: r.o.Cache, Wall: time.Now,
		Model: func(live model.Model) model.Model {
			if r.o.Wrap != nil {
				live = r.o.Wrap(t, live)
			}
			m.Model = live
			return m
		},
	}, m
}

// spec makes the trial's specification.
func (r *runner) spec(t *design.Trial) trial.Spec {
	s := trial.Spec{Scenario: t.Scenario, Model: t.Model, Arm: t.Arm.Name, Guards: t.Arm.Guards, Prompt: t.Arm.Prompt,
		Repetition: t.Repetition, Seed: r.plan.Suite.Seed, Card: r.plan.Card(t.Model),
		Fallbacks: t.Arm.Fallback, FallbackCards: r.plan.Cards(t.Arm.Fallback)}
	if r.plan.Suite.Coupling == design.Independent {
		s.Salt = t.Arm.Name
	}
	if !trial.IsSimulated(t.Model) {
		s.Secrets = r.o.Secrets
	}
	return s
}

// previous is the recording that an interrupted run left of a trial, moved aside
// so that a new one can be written: the finished session, or the partial one.
// Where an earlier resumption was interrupted too, the recording that got
// further counts.
func previous(path string) (string, error) {
	aside := path + ".resume"
	best, size := "", int64(-1)
	for _, name := range []string{path, path + partialSuffix, aside} {
		info, err := os.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		if !info.Mode().IsRegular() {
			return "", fmt.Errorf("%s is no regular file", name)
		}
		if info.Size() > size {
			best, size = name, info.Size()
		}
	}
	if best == "" || best == aside {
		return best, nil
	}
	return aside, os.Rename(best, aside)
}

const partialSuffix = ".partial"

// resume takes a trial up from its recording. Nil and nil say that there is none,
// or none that fits: the trial begins anew.
func (r *runner) resume(j job, spec *trial.Spec, o *trial.Options, m *meter) (*trial.Outcome, error) {
	path := j.b.recordings[j.at]
	if path == "" {
		return nil, nil
	}
	rec, err := replayer.Resume(path)
	if err != nil {
		return nil, err
	}
	rec.Served, rec.Failed = m.served, m.failed
	again := *o
	again.Drive, again.Overwrite = rec.Drive, true
	out, err := trial.RunSpec(j.b.ctx, spec, &again)
	err = errors.Join(err, rec.Close())
	switch {
	case errors.Is(err, replayer.ErrChanged):
		return nil, errors.Join(os.Remove(path), removeIfThere(o.Session+partialSuffix))
	case err != nil:
		return nil, err
	}
	r.mu.Lock()
	r.progress.Resumed++
	r.mu.Unlock()
	return out, os.Remove(path)
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// recall finds the recordings that a block's trials left, and gives the answers in
// them to all of its trials: what was paid for is not asked again by an arm that
// comes first.
func (r *runner) recall(b *block) error {
	b.recordings = make([]string, len(b.trials))
	for i, t := range b.trials {
		path, err := previous(filepath.Join(r.o.Dir, SessionsDir, t.SessionName()))
		if err != nil {
			return err
		}
		if b.recordings[i] = path; path == "" || b.pool == nil {
			continue
		}
		spec := r.spec(t)
		prices := spec.Prices()
		err = replayer.Answers(path, func(req *model.Request, resp *model.Response) {
			if b.pool.offer(keyOf(req), resp) {
				r.ledger.pay(resp.Model, resp.Usage, prices)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// finish journals a block whose trials are all done.
func (r *runner) finish(b *block) error {
	spent := attribute(b.meters)
	down := answeredNone(b.outcome)
	entries := make([]results.Entry, len(b.trials))
	for i, t := range b.trials {
		entries[i] = r.entry(t, b.outcome[i], spent[i], down)
	}
	b.outcome, b.meters, b.pool = nil, nil, nil
	if err := r.journal.Append(entries...); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress.Done += len(entries)
	if r.o.Done != nil {
		for i := range entries {
			r.o.Done(&entries[i].Trial)
		}
	}
	return nil
}

// answeredNone reports whether the provider answered no arm of a block: then the
// block says nothing of the harness, and its trials are errored. What is no answer
// of a model, such as the page of a web server, is none. A single arm that got an answer shows that the provider was there.
func answeredNone(outs []*trial.Outcome) bool {
	for _, o := range outs {
		hung := o.End.Reason == event.ModelError || o.End.Reason == event.ProtocolError || o.End.Reason == event.Deadline
		if o.Tally.Answers > 0 || o.Tally.LastError == nil || !hung {
			return false
		}
	}
	return true
}

// errored says whether the infrastructure failed a trial rather than the harness
// or the model: such a trial is in no denominator.
func errored(out *trial.Outcome, down bool) (class, why string) {
	end, last := out.End, out.Tally.LastError
	switch {
	case end.Reason == event.InternalError:
		return results.ErrorInternal, end.Evidence
	case end.Reason == event.ModelError && last != nil && last.Kind == model.ErrAuth:
		return results.ErrorAuth, last.Error()
	case end.Reason == event.ModelError && last != nil && last.Kind == model.ErrQuota:
		return results.ErrorQuota, last.Error()
	case down && last != nil:
		return results.ErrorProvider, last.Error()
	case out.Overall.Verdict == results.Ungraded:
		return results.ErrorGrader, out.Overall.Reason
	}
	return "", ""
}
