package loop

import (
	"context"
	"errors"

	"github.com/harnessbench/harnessbench/loop/clock"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/redact"
	"github.com/harnessbench/harnessbench/loop/tool"
)

// Deps are what a loop acts through. A replay gives recorded ones; the loop
// cannot tell.
type Deps struct {
	Model model.Model
	Tools Preparer
	Run   tool.Runner
	// Spill writes a harness file, its path relative to the workspace.
	Spill func(path, data string) error
	// Check runs the scenario's acceptance checks and returns the first failing
	// reason, "" when all pass. Nil means that there are none.
	Check func(ctx context.Context, answer string) (fail string, err error)
	// Sealed lists the files that are declared not to be changed, as they are now,
	// sorted by path. Nil means that none are declared.
	Sealed func() ([]Sealed, error)
	Clock  clock.Clock
	Sink   event.Sink
	Rules  Rules
	// Approve asks an approver about one operation and waits for the answer. Nil
	// means that nobody is there to ask.
	Approve Approver
	// Secrets overwrites secrets; nil finds those that have a known shape.
	Secrets *redact.Redactor
	// Forget keeps no part of the conversation, only its chain digest: for a
	// model that is served its answers and reads none. Where a guard in force may
	// rewrite the conversation its parts are kept all the same, as much of them as
	// a context window holds.
	Forget bool
}

// Preparer resolves, validates and canonicalises a call; *tool.Set is one.
type Preparer interface {
	Prepare(model.ToolCall) tool.Prepared
}

// Loop is one configured agent loop, to be run once.
type Loop struct {
	cfg  Config
	deps Deps
	lane string
}

// New binds a configuration to what it acts through.
func New(cfg Config, deps Deps) (*Loop, error) {
	switch {
	case !cfg.frozen:
		return nil, errors.New("loop: the configuration was not frozen")
	case deps.Model == nil || deps.Tools == nil || deps.Run == nil || deps.Clock == nil || deps.Sink == nil:
		return nil, errors.New("loop: model, tools, runner, clock and sink are all needed")
	}
	return &Loop{cfg: cfg, deps: deps, lane: event.MainLane}, nil
}

// Run drives the lane to its end and returns how it ended. The error is not nil
// only where no end could be recorded: a sink or a driver that failed. Whatever
// the model, the tools and the guards do is an end with a stop reason.
func (l *Loop) Run(ctx context.Context) (*event.End, error) {
	r := l.begin(ctx)
	for r.mayStart() {
		r.assemble()
		r.infer()
		r.parse()
		r.authorise()
		r.execute()
		r.commit()
		r.evaluate()
		if r.decide() {
			break
		}
	}
	return r.finish()
}

// run is the state of one running lane: what the transcript shows and what it
// does not, kept apart.
type run struct {
	*Loop
	ctx    context.Context
	guards *guard.Set
	script *model.Transcript
	room   room

	// of the session
	version  int            // + 1 a committed turn
	turn     int            // from 1
	calls    int            // tool calls run
	attempts int            // model calls, failed ones included
	nth      map[string]int // calls a tool
	usage    model.Usage
	cost     event.Cost
	answer   string                    // last text of the model
	limbo    map[model.Digest]struct{} // operations whose outcome is unknown
	safe     safe
	asked    asked
	sealed   []Sealed // before the first turn
	spent    spent

	// of the turn
	resp     *model.Response
	late     *event.Guard   // a policy's firing in shadow, to be recorded after the answer
	turned   []string       // models that fallback turned to
	mended   []*event.Guard // firings of argument_repair, likewise
	ids      []string
	batch    []event.ToolRequest
	ops      []tool.Prepared
	feedback []string
	accepted bool
	checked  bool
	goOn     bool // a guard keeps the candidate from being the end

	stop     *guard.Stop // due at the turn's end at the latest
	stopRank int         // of stop in the guards' table; -1 = nothing overrules it
	err      error       // of the sink or a driver: nothing more is done
}

// asked remembers how often the current request was asked, every attempt
// counted. A new chain forgets the old one's counts.
type asked struct {
	chain  model.Digest
	counts []askedParams // a turn asks under few params
}

type askedParams struct {
	params model.Digest
	times  int
}

func (a *asked) next(chain, params model.Digest) int {
	if a.chain != chain {
		a.chain, a.counts = chain, a.counts[:0]
	}
	for i := range a.counts {
		if a.counts[i].params == params {
			a.counts[i].times++
			return a.counts[i].times
		}
	}
	a.counts = append(a.counts, askedParams{params: params})
	return 0
}

// begin opens the session: the parts that stand before the first turn.
func (l *Loop) begin(ctx context.Context) *run {
	s := &l.cfg.s
	names := make([]string, len(s.Tools))
	for i := range s.Tools {
		names[i] = s.Tools[i].Name
	}
	r := &run{Loop: l, ctx: ctx, nth: map[string]int{},
		guards: guard.NewSet(s.Guards, s.Limits, guard.Env{Tools: names, Task: s.Task, Contract: s.Contract}), cost: event.Cost{Known: true}}
	r.openRoom()
	r.emit(&event.Start{Head: r.head(), Config: l.cfg.digest})
	why := map[model.PartKind]string{model.KindTool: "tool", model.KindSystem: "system", model.KindMessage: "task"}
	for _, p := range l.cfg.Parts() {
		r.say(p, why[p.Kind])
	}
	r.seal()
	return r
}

// over reports whether nothing more is to be done in this turn.
func (r *run) over() bool { return r.err != nil || r.stop != nil }

func (r *run) head() event.Head {
	return event.Head{Lane: r.lane, Turn: r.turn, At: r.deps.Clock.Now()}
}

// emit hands an event to the sink. The first error sticks.
func (r *run) emit(ev event.Event) {
	if r.err == nil {
		r.err = r.deps.Sink.Emit(ev)
		r.noteRedacted(ev)
	}
}

// say records a part that no other event carries and appends it.
func (r *run) say(p *model.Part, why string) {
	r.emit(&event.Part{Head: r.head(), Part: p, Why: why})
	r.appendSaid(p, why)
}

// consult steps the guards over an event and takes up what they decided.
func (r *run) consult(ev event.Event) guard.Result {
	if r.err != nil {
		return guard.Result{}
	}
	res, err := r.guards.Step(ev, r)
	if err != nil {
		r.err = err
	}
	r.feedback = append(r.feedback, res.Feedback...)
	r.goOn = r.goOn || res.Continue
	if res.Stop != nil {
		r.due(ev, res)
	}
	return res
}

// due takes up a guard's stop. Among stops of one turn the table's order decides;
// a limit that kept a call from being made is not overruled by what came of it.
func (r *run) due(ev event.Event, res guard.Result) {
	rank := res.Rank
	if ev.Kind() == event.KindCheckpoint {
		rank = -1
	}
	if r.stop == nil || rank < r.stopRank {
		r.stop, r.stopRank = res.Stop, rank
	}
}

// Spill implements guard.Host.
func (r *run) Spill(s *guard.Spill) error {
	if r.deps.Spill == nil {
		return errors.New("no place to spill to")
	}
	return r.deps.Spill(s.Path, s.Data)
}

// Fired implements guard.Host.
func (r *run) Fired(g *event.Guard) error {
	r.emit(g)
	return r.err
}

// fail ends the session for a reason that no guard gave.
func (r *run) fail(reason event.Reason, evidence string) {
	if r.stop == nil {
		r.stop, r.stopRank = &guard.Stop{Reason: reason, Evidence: evidence}, -1
	}
}
