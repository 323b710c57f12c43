package trial

import (
	"context"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
)

// gate lets nothing more be recorded once the operator has cancelled or the
// machine has failed: the session then stays unfinished, and a resumed run takes
// it up where it was. A model answer that has come is recorded all the same,
// since it was paid for.
type gate struct {
	ctx context.Context
	ws  *watched
}

// Emit implements event.Sink.
func (g gate) Emit(ev event.Event) error {
	if err := g.ws.failed(); err != nil {
		return err
	}
	switch ev := ev.(type) {
	case *event.Response:
		return nil
	case *event.Attempt:
		if ev.Err == nil || ev.Err.Kind != model.ErrCancelled {
			return nil
		}
	}
	return context.Cause(g.ctx)
}
