package wire

import (
	"context"
	"net/http"
	"time"
)

// Speed is how fast the times of a recording, or those that a simulated model
// declares, pass: 0 waits for nothing, 1 is as declared, N is N times faster.
type Speed float64

// pacer waits for places in time since its start.
type pacer struct {
	speed Speed
	start time.Time
}

func (s Speed) begin() pacer { return pacer{speed: s, start: time.Now()} }

// wait returns when at has come, or with the context's error.
func (p pacer) wait(ctx context.Context, at time.Duration) error {
	if p.speed <= 0 {
		return ctx.Err()
	}
	left := time.Duration(float64(at)/float64(p.speed)) - time.Since(p.start)
	if left <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(left)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A teller is a ResponseWriter that wants to know more of an answer than HTTP
// says: the recorder's.
type teller interface {
	// at says when, since the request came, the next Write happens: a simulated
	// model declares its times, and a recording of it has them.
	at(time.Duration)
	// broke says why the answer ends here. It is not complete.
	broke(why string)
}

// sayAt tells the time of the next write to who wants to know.
func sayAt(w http.ResponseWriter, d time.Duration) {
	if t, ok := w.(teller); ok {
		t.at(d)
	}
}

// abort ends an answer that is not complete: the client sees the connection
// break, before the first byte or within the body.
func abort(w http.ResponseWriter, why string) {
	if t, ok := w.(teller); ok {
		t.broke(why)
	}
	panic(http.ErrAbortHandler)
}

// push writes a piece of a body and sends it off.
func push(w http.ResponseWriter, data []byte) error {
	if _, err := w.Write(data); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}
