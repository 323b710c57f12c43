package replayer

import (
	"context"
	"errors"
	"strings"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/clock"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/workspace"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// LiveTrial makes a DriveOptions.Live that goes on as the trial of the session
// would have: with its model, its tools and its luck. find names the trial of a
// header; ask makes its model, nil makes simulated models only.
func LiveTrial(find func(*session.Header) (*trial.Spec, error), ask func(*trial.Spec) (model.Model, error)) func(*session.Header, *trial.Rebuilt, workspace.Workspace) (*Live, error) {
	if ask == nil {
		ask = func(s *trial.Spec) (model.Model, error) { return s.NewModel(nil) }
	}
	return func(h *session.Header, _ *trial.Rebuilt, ws workspace.Workspace) (*Live, error) {
		spec, err := find(h)
		if err != nil {
			return nil, err
		}
		m, err := ask(spec)
		if err != nil {
			return nil, err
		}
		secrets := spec.Redactor()
		tools, err := spec.Tools(trial.Masking(ws, secrets))
		if err != nil {
			return nil, err
		}
		live := &Live{Model: m, Run: tools, Secrets: secrets}
		if !trial.IsSimulated(spec.Model) {
			live.Clock = clock.NewReal()
		}
		return live, nil
	}
}

// RecordMissing replays a session under o, and where the loop asks for what was
// not recorded (EXHAUSTED, or DIVERGED) drives it again, live from there, into a
// session of its own: d says how and where. The report is the replay's, with the
// new session in Recorded; why there is none stands in its reason.
func RecordMissing(ctx context.Context, path string, o Options, d DriveOptions) (*Report, error) {
	if o.Again || len(o.Tolerant) > 0 {
		return nil, errors.New("what is missing is recorded under served results and without tolerance")
	}
	rep, err := File(ctx, path, o)
	if err != nil || rep.Verdict != Exhausted && rep.Verdict != Diverged {
		return rep, err
	}
	if o.Current != nil {
		d.Config = func(h *session.Header, _ *trial.Rebuilt) (*trial.Rebuilt, error) { return o.Current(h) }
	}
	live := d.Live
	var without error
	d.Live = func(h *session.Header, cfg *trial.Rebuilt, ws workspace.Workspace) (*Live, error) {
		var l *Live
		l, without = live(h, cfg, ws)
		return l, without
	}
	out, err := Drive(ctx, path, d)
	switch {
	case without != nil:
		rep.Reason += "; nothing was recorded: " + without.Error()
	case err != nil:
		return nil, err
	case out.Left != nil:
		rep.Recorded = d.Record
	default:
		rep.Reason += "; nothing was recorded"
	}
	return rep, nil
}

// Beside is the name of the session that is recorded anew beside the one at path:
// x.session.jsonl gives x.new.session.jsonl.
func Beside(path string) string {
	base := strings.TrimSuffix(path, session.ZstdSuffix)
	return strings.TrimSuffix(base, session.Suffix) + ".new" + session.Suffix
}
