package importer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/results"
)

// Scenario is one task that the file holds trials of.
type Scenario struct {
	ID     string
	Digest string // hex; "" = unknown
	Source string
}

// Counts sum up what was imported.
type Counts struct {
	Sessions     int
	Scenarios    int
	Repetitions  int // of the scenario that has most
	Turns        int
	ToolCalls    int
	ErrorResults int // tool results that are errors
	Passes       int
	Errored      int // trials that the recording harness failed
	Ends         []End
}

// End counts the sessions that ended for one reason.
type End struct {
	Reason   string
	Sessions int
}

// Result is what an import gave.
type Result struct {
	Format string
	Model  string
	Domain string
	Digest model.Digest // SHA-256 of the file
	Counts Counts

	scenarios map[string]*Scenario
	trials    []trial
	seen      map[results.TrialKey]bool
}

// trial is the row of a session and its verdict, without what the run knows.
type trial struct {
	row     results.Trial
	verdict results.Verdict
}

func newResult(format string, o Options) *Result {
	return &Result{Format: format, Model: o.Model, Domain: o.Domain, scenarios: map[string]*Scenario{}, seen: map[results.TrialKey]bool{}}
}

// Scenarios lists the tasks, sorted by id.
func (r *Result) Scenarios() []Scenario {
	var out []Scenario
	for _, s := range r.scenarios {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b Scenario) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// Entries are the journal's lines, in canonical order.
func (r *Result) Entries(runID, suite string) []results.Entry {
	out := make([]results.Entry, 0, len(r.trials))
	for _, t := range r.trials {
		t.row.RunID, t.row.Suite, t.verdict.RunID = runID, suite, runID
		e := results.Entry{Trial: t.row}
		if !t.row.Errored {
			e.Verdicts = []results.Verdict{t.verdict}
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b results.Entry) int { return a.Trial.Key().Compare(b.Trial.Key()) })
	return out
}

// SessionName is the file name of a session: scenario, model, arm and
// repetition, with dots between them.
func SessionName(scenario, id string, repetition int) string {
	return fmt.Sprintf("%s.%s.%s.%d.session.jsonl", scenario, strings.NewReplacer("/", "_", ":", "_").Replace(id), Arm, repetition)
}

// take writes one session and keeps its row.
func (r *Result) take(s *Session, o *Options) error {
	key := results.TrialKey{Scenario: s.Scenario, Model: o.Model, Arm: Arm, Repetition: s.Repetition}
	if r.seen[key] {
		return fmt.Errorf("the trial %v stands in the file twice", key)
	}
	r.seen[key] = true
	if err := r.scenario(s); err != nil {
		return err
	}
	name := SessionName(s.Scenario, o.Model, s.Repetition)
	digest, err := r.write(s, o, name)
	if err != nil {
		return &targetError{fmt.Errorf("session %s: %w", name, err)}
	}
	r.count(s)
	r.trials = append(r.trials, newTrial(s, o, name, digest))
	if o.Done != nil {
		o.Done(s)
	}
	return nil
}

// targetError is an error of where sessions go: it is not the input's fault.
type targetError struct{ error }

func (e *targetError) Unwrap() error { return e.error }

func (r *Result) scenario(s *Session) error {
	digest := ""
	if !s.ScenarioDigest.IsZero() {
		digest = s.ScenarioDigest.String()
	}
	have := r.scenarios[s.Scenario]
	if have == nil {
		have = &Scenario{ID: s.Scenario, Source: s.Source}
		r.scenarios[s.Scenario] = have
	}
	if digest != "" && have.Digest != "" && digest != have.Digest {
		return fmt.Errorf("the task of %s is not the one of an earlier trial of it: trials of different tasks cannot be pooled", s.Scenario)
	}
	if digest != "" {
		have.Digest = digest
	}
	return nil
}

func (r *Result) write(s *Session, o *Options, name string) (model.Digest, error) {
	t, err := o.Open(name, s.header(r.Format, o))
	if err != nil {
		return model.Digest{}, err
	}
	err = s.play(t.Sink, o.Model)
	digest, cerr := t.Close()
	if err == nil {
		err = cerr
	}
	return digest, err
}

func (r *Result) count(s *Session) {
	c := &r.Counts
	calls, failed := s.Calls()
	c.Sessions++
	c.Scenarios = len(r.scenarios)
	c.Repetitions = max(c.Repetitions, s.Repetition+1)
	c.Turns += len(s.Turns)
	c.ToolCalls += calls
	c.ErrorResults += failed
	switch {
	case s.Errored != "":
		c.Errored++
	case s.Verdict.Pass:
		c.Passes++
	}
	i := slices.IndexFunc(c.Ends, func(e End) bool { return e.Reason == string(s.Reason) })
	if i < 0 {
		i = len(c.Ends)
		c.Ends = append(c.Ends, End{Reason: string(s.Reason)})
	}
	c.Ends[i].Sessions++
	slices.SortStableFunc(c.Ends, func(a, b End) int { return strings.Compare(a.Reason, b.Reason) })
}

// newTrial makes the rows of a session. Tokens, costs and dates stay nil:
// nobody recorded them.
func newTrial(s *Session, o *Options, name string, digest model.Digest) trial {
	calls, _ := s.Calls()
	row := results.Trial{
		Scenario: s.Scenario, Model: o.Model, Arm: Arm, Repetition: s.Repetition,
		Outcome: string(s.Reason), Backstop: s.Backstop, Verdict: results.Ungraded,
		Turns: len(s.Turns), ModelCalls: len(s.Turns), ToolCalls: calls,
		Session: name, SessionDigest: digest.String(),
	}
	if !s.ScenarioDigest.IsZero() {
		row.ScenarioDigest = s.ScenarioDigest.String()
	}
	v := results.Verdict{Scenario: s.Scenario, Model: o.Model, Arm: Arm, Repetition: s.Repetition,
		Grader: s.Verdict.Grader, Type: "imported", Version: 1, Primary: true, Reason: s.Verdict.Reason}
	if s.Errored != "" {
		class, why := results.ErrorInternal, s.Errored
		row.Errored, row.ErrorClass, row.ErrorText = true, &class, &why
		return trial{row, v}
	}
	score := s.Verdict.Score
	row.Verdict = results.Fail
	if s.Verdict.Pass {
		row.Verdict = results.Pass
	}
	row.Score, v.Score, v.Verdict = &score, &score, row.Verdict
	return trial{row, v}
}
