package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// ErrInterrupted is the cause of a context that a second interrupt cancelled.
var ErrInterrupted = errors.New("interrupted")

type stoppingKey struct{}

// Interrupts returns a context that follows the operator's interrupts: the first
// closes the channel that Stopping returns (finish what runs, start nothing
// new), the second cancels the context. A third has the system's own effect. What
// happens is said on w. release ends it.
func Interrupts(ctx context.Context, w io.Writer) (_ context.Context, release func()) {
	sigs := make(chan os.Signal, 2)
	signal.Notify(sigs, os.Interrupt, syscall.SIGTERM)
	ctx, end := watch(ctx, sigs, w, func() { signal.Stop(sigs) })
	return ctx, func() {
		signal.Stop(sigs)
		end()
	}
}

// watch is Interrupts over any source of signals; last is called at the second.
func watch(ctx context.Context, sigs <-chan os.Signal, w io.Writer, last func()) (context.Context, func()) {
	stopping := make(chan struct{})
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, stoppingKey{}, (<-chan struct{})(stopping)))
	go func() {
		for n := 0; n < 2; n++ {
			select {
			case <-ctx.Done():
				return
			case <-sigs:
			}
			if n == 0 {
				io.WriteString(w, "\nharnessbench: stopping when what runs is done; interrupt again to stop now\n")
				close(stopping)
			} else {
				io.WriteString(w, "\nharnessbench: stopping now\n")
				last()
				cancel(ErrInterrupted)
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// Stopping returns a channel that is closed when the operator has asked to stop
// gracefully; nil, which never is ready, when no one can.
func Stopping(ctx context.Context) <-chan struct{} {
	ch, _ := ctx.Value(stoppingKey{}).(<-chan struct{})
	return ch
}

// WasInterrupted reports whether the operator has interrupted, once or twice.
func WasInterrupted(ctx context.Context) bool {
	select {
	case <-Stopping(ctx):
		return true
	default:
		return errors.Is(context.Cause(ctx), ErrInterrupted)
	}
}
