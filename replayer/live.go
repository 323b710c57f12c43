package replayer

import (
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
		tools, err := spec.Tools(ws)
		if err != nil {
			return nil, err
		}
		live := &Live{Model: m, Run: tools}
		if !trial.IsSimulated(spec.Model) {
			live.Clock = clock.NewReal()
		}
		return live, nil
	}
}
