package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync/atomic"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer"
)

// replayMore are the flags of replay that say how sessions are replayed, beside
// those in replayFlags.
type replayMore struct {
	tolerant  []string
	missing   bool
	overwrite bool
	failFast  bool
	grade     bool
	models    string

	origins *origins
}

func (m *replayMore) register(fl *pflag.FlagSet) {
	fl.StringArrayVar(&m.tolerant, "tolerant", nil, "a kind of difference that is counted and is no divergence: ignore=/pointer, ignore=TYPE/pointer or args-json; repeatable")
	fl.BoolVar(&m.missing, "record-missing", false, "where the loop asks for what was not recorded, go on live and record that in NAME.new.session.jsonl")
	fl.BoolVar(&m.overwrite, "overwrite", false, "with --record-missing: put the new session in the place of the old one")
	fl.BoolVar(&m.failFast, "fail-fast", false, "stop after the first session, in order of paths, that is not as recorded")
	fl.BoolVar(&m.grade, "grade", false, "ask the scenario's graders about what the replayed session left")
	modelsFlag(fl, &m.models)
}

// check refuses flags that do not go together.
func (m *replayMore) check(cmd *cobra.Command, f *replayFlags) error {
	switch {
	case f.tools != "recorded" && f.tools != "live":
		return cli.Usagef("use recorded or live", "--tools %q", f.tools)
	case m.overwrite && !m.missing:
		return cli.Usagef("add --record-missing", "--overwrite says where the new session goes, and none is recorded")
	case m.missing && inCI():
		return cli.Usagef("record where somebody looks at what comes of it, and commit that", "--record-missing asks models, and CI is set")
	case m.models != "" && !m.missing:
		return cli.Usagef("add --record-missing", "--models says how models are asked, and none is")
	case m.missing && (f.tools == "live" || len(m.tolerant) > 0 || m.grade):
		return cli.Usagef("replay the new session with them", "--record-missing goes with none of --tools=live, --tolerant and --grade")
	case cmd.Flags().Changed("suite") && f.config != "current" && f.tools != "live" && !m.missing && !m.grade:
		return cli.Usagef("add --config=current, --tools=live, --record-missing or --grade", "--suite says which scenarios there are, and the sessions are replayed as recorded")
	}
	return nil
}

// fill adds what the flags say to the options.
func (m *replayMore) fill(cmd *cobra.Command, f *replayFlags, o *replayer.Options) error {
	for i, rule := range m.tolerant {
		if slices.Contains(m.tolerant[:i], rule) {
			return cli.Usagef("name it once", "--tolerant %s stands twice", rule)
		}
		g, err := replayer.ParseRung(rule)
		if err != nil {
			return cli.Usagef("see harnessbench replay --help", "--tolerant: %v", err)
		}
		o.Tolerant = append(o.Tolerant, g)
	}
	suite := ""
	if cmd.Flags().Changed("suite") {
		suite = f.suite
	}
	var err error
	if m.origins, err = newOrigins(suite, m.models); err != nil {
		return cli.WithCode(cli.Wrong, err)
	}
	o.Again, o.Trial = f.tools == "live", m.origins.trial
	return nil
}

// one replays one session as the flags say.
func (m *replayMore) one(ctx context.Context, path string, o replayer.Options) (*replayer.Report, error) {
	switch {
	case m.missing:
		return m.record(ctx, path, o)
	case m.grade:
		left, rep, err := replayer.RebuildWith(ctx, path, o)
		if err != nil {
			return nil, err
		}
		rep.Graded = m.origins.graded(ctx, path, left)
		return rep, nil
	}
	return replayer.File(ctx, path, o)
}

// record goes on live where the recording ends.
func (m *replayMore) record(ctx context.Context, path string, o replayer.Options) (*replayer.Report, error) {
	d := replayer.DriveOptions{Record: replayer.Beside(path), Overwrite: m.overwrite}
	if m.overwrite {
		d.Record = path
	}
	fits := true
	find := func(h *session.Header) (*trial.Spec, error) {
		spec, err := o.Trial(path, h)
		if err != nil {
			return nil, err
		}
		// Under today's configuration the scenario may be today's too.
		if err := spec.Fits(h); err != nil {
			if fits = false; o.Current == nil {
				return nil, err
			}
		}
		return spec, nil
	}
	var unreached *cli.Exit // a missing key, say: no fault of the session
	d.Live = replayer.LiveTrial(find, func(s *trial.Spec) (model.Model, error) {
		asked, err := m.origins.model(path, s)
		errors.As(err, &unreached)
		return asked, err
	})
	d.Header = func(h *session.Header) {
		if !fits { // the task is of one version, the tree of another
			h.ScenarioDigest = model.Digest{}
		}
	}
	rep, err := replayer.RecordMissing(ctx, path, o, d)
	if unreached != nil {
		return nil, unreached
	}
	if errors.Is(err, fs.ErrExist) {
		return nil, cli.Usagef("look at it and remove or rename it, or replace the recordings with --overwrite", "%v", err)
	}
	return rep, err
}

// unusedRungs warns of rungs that no session needed.
func unusedRungs(a *app, reports []*replayer.Report) {
	for i := range reports[0].Tolerated {
		n := 0
		for _, r := range reports {
			if i < len(r.Tolerated) {
				n += r.Tolerated[i].Count
			}
		}
		if n == 0 {
			fmt.Fprintf(a.stderr, "warning: --tolerant %s was not needed: take it away\n", cli.SanitizeLine(reports[0].Tolerated[i].Rule))
		}
	}
}

// printOutcomes prints what was recorded and graded beside the verdicts.
func printOutcomes(a *app, reports []*replayer.Report) {
	for _, r := range reports {
		if r.Recorded != "" {
			fmt.Fprintf(a.stdout, "recorded %s\n", cli.SanitizeLine(r.Recorded))
		}
		if r.Graded != nil {
			fmt.Fprintf(a.stdout, "%s %s\n", gradeLine(r.Graded), cli.SanitizeLine(r.Path))
		}
	}
}

// bound is the first session in the order of paths that ends a replay which fails
// fast. What comes before it is replayed whatever finishes first.
type bound struct{ at atomic.Int64 }

func newBound(n int) *bound {
	b := &bound{}
	b.at.Store(int64(n))
	return b
}

// lower says that session i is not as recorded.
func (b *bound) lower(i int) {
	for {
		at := b.at.Load()
		if int64(i) >= at || b.at.CompareAndSwap(at, int64(i)) {
			return
		}
	}
}

// beyond reports whether session i comes after the one that ended the replay.
func (b *bound) beyond(i int) bool { return int64(i) > b.at.Load() }

// suiteUsage is what --suite says.
const suiteUsage = "with --config=current: the suite that says what is current; with --tools=live, --record-missing, --grade: that has the scenarios (default: the run's own, or the embedded ones)"
