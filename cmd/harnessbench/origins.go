package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"

	"github.com/harnessbench/harnessbench/ablations"
	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// origins finds what sessions were recorded on: in the suite that the user names;
// else, for a session of a run folder, in the run's lock; else among the embedded
// scenarios. It is safe for concurrent use.
type origins struct {
	suite func(*session.Header) (*trial.Spec, error) // nil = none is named

	mu   sync.Mutex
	runs map[string]*runOrigin // by run folder
}

// runOrigin is what a run folder says of its sessions.
type runOrigin struct {
	find     func(*session.Header) (*trial.Spec, error) // nil = it is no run folder, or an import
	err      error
	verdicts map[string]string // by session, slashes
}

// newOrigins opens the suite, unless that is empty.
func newOrigins(suite string) (*origins, error) {
	o := &origins{runs: map[string]*runOrigin{}}
	if suite == "" {
		return o, nil
	}
	var err error
	o.suite, err = design.Trials(suite)
	return o, err
}

// trial is replayer.Options.Trial.
func (o *origins) trial(path string, h *session.Header) (*trial.Spec, error) {
	if o.suite != nil {
		return o.suite(h)
	}
	run, _ := o.run(path)
	switch {
	case run.err != nil:
		return nil, run.err
	case run.find != nil:
		return run.find(h)
	}
	sc, err := builtin.Get(h.Scenario)
	if err != nil {
		return nil, fmt.Errorf("%w; name the suite that has it with --suite", err)
	}
	return design.TrialOf(h, sc, "")
}

// verdict is what the run's journal says of a session; empty where there is none.
func (o *origins) verdict(path string) string {
	run, dir := o.run(path)
	name, err := filepath.Rel(filepath.Join(dir, ablations.SessionsDir), path)
	if err != nil {
		return ""
	}
	return run.verdicts[filepath.ToSlash(name)]
}

// run reads the run folder that a session lies in, once.
func (o *origins) run(path string) (*runOrigin, string) {
	dir := filepath.Dir(filepath.Dir(path))
	o.mu.Lock()
	defer o.mu.Unlock()
	run := o.runs[dir]
	if run == nil {
		run = &runOrigin{}
		if filepath.Base(filepath.Dir(path)) == ablations.SessionsDir {
			run = openOrigin(dir)
		}
		o.runs[dir] = run
	}
	return run, dir
}

func openOrigin(dir string) *runOrigin {
	m, err := readMachine(dir)
	if err != nil {
		return &runOrigin{}
	}
	run := &runOrigin{verdicts: map[string]string{}}
	lock, _, err := design.ReadLock(filepath.Join(dir, design.LockFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		run.err = err
	case lock.Coupling != "": // else it was imported
		run.find, run.err = lock.Trials(m.SuiteFolder)
	}
	index, err := results.IndexJournal(filepath.Join(dir, results.JournalFile))
	if err != nil {
		return run
	}
	defer index.Close()
	for e, err := range index.Entries() {
		if err != nil {
			break
		}
		run.verdicts[e.Trial.Session] = e.Trial.Verdict
	}
	return run
}
