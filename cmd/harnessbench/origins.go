package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/harnessbench/harnessbench/ablations"
	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/ablations/models"
	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/results"
)

// origins finds what many sessions were recorded on, each run folder read once:
// see origin. It is safe for concurrent use.
type origins struct {
	suite  *origin // what the user names; nil = nothing
	models string  // the models file

	mu    sync.Mutex
	runs  map[string]*runOrigin     // by run folder
	asked map[string]trial.Provider // by run folder and model
}

// runOrigin is what a run folder says of its sessions.
type runOrigin struct {
	from     *origin
	err      error
	verdicts map[string]string // by session, slashes
}

// newOrigins opens the suite, unless that is empty.
func newOrigins(suite, modelsFile string) (*origins, error) {
	o := &origins{models: modelsFile, runs: map[string]*runOrigin{}, asked: map[string]trial.Provider{}}
	if suite == "" {
		return o, nil
	}
	var err error
	o.suite, err = suiteOrigin(suite)
	return o, err
}

// trial is replayer.Options.Trial. The scenario is today's: whether it is the
// recorded one is for the caller to ask.
func (o *origins) trial(path string, h *session.Header) (*trial.Spec, error) {
	from, err := o.suite, error(nil)
	if from == nil {
		run, _ := o.run(path)
		if from, err = run.from, run.err; err != nil {
			return nil, err
		}
	}
	spec, err := from.trial(h)
	if spec == nil {
		return nil, err
	}
	return spec, nil
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
	dir := filepath.Dir(filepath.Dir(filepath.Clean(path)))
	o.mu.Lock()
	defer o.mu.Unlock()
	run := o.runs[dir]
	if run == nil {
		run = &runOrigin{}
		run.from, run.err = originOf(path, "")
		if filepath.Base(filepath.Dir(path)) == ablations.SessionsDir {
			run.verdicts = recordedVerdicts(filepath.Join(dir, results.JournalFile))
		}
		o.runs[dir] = run
	}
	return run, dir
}

// recordedVerdicts reads a journal as far as that can be read.
func recordedVerdicts(journal string) map[string]string {
	index, err := results.IndexJournal(journal)
	if err != nil {
		return nil
	}
	defer index.Close()
	out := map[string]string{}
	for e, err := range index.Entries() {
		if err != nil {
			break
		}
		out[e.Trial.Session] = e.Trial.Verdict
	}
	return out
}

// model makes what a trial is gone on with live: a simulated model, or one that
// the models file, or what the run kept of it, says how to reach.
func (o *origins) model(path string, s *trial.Spec) (model.Model, error) {
	if trial.IsSimulated(s.Model) {
		return s.NewModel(nil)
	}
	run, dir := o.run(path)
	o.mu.Lock()
	defer o.mu.Unlock()
	key := dir + "\n" + strings.Join(s.Models(), "\n")
	ask := o.asked[key]
	if ask == nil {
		var kept *models.File
		if run.from != nil && o.models == "" {
			kept = run.from.used
		}
		var err error
		if ask, err = reachOne(s.Models(), kept, o.models); err != nil {
			return nil, err
		}
		o.asked[key] = ask
	}
	return s.NewModel(ask)
}

// reachOne makes what asks the models of one trial; kept is the models file to use, else the
// named one is opened.
func reachOne(ids []string, kept *models.File, file string) (trial.Provider, error) {
	if kept == nil {
		var err error
		if kept, err = models.Open(file, os.Getenv); err != nil {
			return nil, cli.WithCode(cli.Wrong, err)
		}
	}
	used, err := (&design.Suite{Models: ids}).Use(kept)
	if err != nil {
		return nil, &cli.Exit{Code: cli.Wrong, Err: err, Hint: lookedUp(file)}
	}
	p, err := reach(used)
	if err != nil {
		return nil, err
	}
	return p.Model, nil
}
