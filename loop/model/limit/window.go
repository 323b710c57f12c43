package limit

import (
	"math"
	"time"
)

// Window is how many calls may be in flight: congestion control as in TCP
// (RFC 5681). It begins small and grows by one per answer, which doubles it per
// round trip (slow start). A 429 halves it; slow start then ends at three quarters
// of where it was, and from there on each answer adds a quarter of a call. (TCP's
// one call per round trip would hold an account at half of its limits when a few
// per cent of all calls get a stray 429.) It is below 1 when even one call after
// the other is too much: the calls then begin Latency/Size apart.
type Window struct {
	Size    float64       // calls in flight, minWindow to Most
	Most    int           // the configured concurrency
	Latency time.Duration // of answers, smoothed; 0 = none came yet

	slow  float64       // below it growth is exponential
	cutAt time.Duration // time of the last cut
	cut   bool
}

// The least windows: without, and with a Retry-After.
const minWindow, toldWindow = 1.0 / 64, 1.0 / 8

// NewWindow returns a window that starts at start and never passes most.
func NewWindow(start, most int) Window {
	return Window{Size: float64(min(start, most)), Most: most, slow: float64(most)}
}

// Slots is how many calls may be in flight, at least 1.
func (w *Window) Slots() int { return max(1, int(w.Size)) }

// Answered counts an answer that took a time. The window only grows when it was
// full: inflight is the number of calls in flight, this one included.
func (w *Window) Answered(inflight int, took time.Duration) {
	if w.Latency == 0 {
		w.Latency = took
	}
	w.Latency += (took - w.Latency) / 8
	if inflight < w.Slots() {
		return
	}
	switch {
	case w.Size < 1:
		w.Size = min(1, w.Size*1.125)
	case w.Size < w.slow:
		w.Size = min(w.Size+1, max(w.slow, w.Size+0.25))
	default:
		w.Size += 0.25
	}
	w.Size = min(w.Size, float64(w.Most))
}

// Throttled counts a 429 of a call that began at a time, and reports whether it
// halved the window. Calls that were under way when it was last halved say
// nothing new and do not halve it again. told says that there was a Retry-After:
// the provider paces as well, and the window stays at an eighth or more.
func (w *Window) Throttled(now, began time.Duration, told bool) bool {
	if w.cut && began < w.cutAt {
		return false
	}
	w.slow, w.cutAt, w.cut = w.Size*3/4, now, true
	least := minWindow
	if told {
		least = min(toldWindow, w.Size)
	}
	w.Size = max(least, w.Size/2)
	return true
}

// Restart begins again with slow start up to half of what was, after an outage.
func (w *Window) Restart(start int) {
	w.slow = max(1, w.Size/2)
	w.Size = min(w.Size, float64(start))
}

// Gap is the time between the beginnings of calls that keeps Size of them in
// flight, by Little's law; a call is taken to last 100 ms where no answer came
// yet. At most most.
func (w *Window) Gap(most time.Duration) time.Duration {
	l := w.Latency
	if l == 0 {
		l = 100 * time.Millisecond
	}
	return time.Duration(min(math.Ceil(float64(l)/w.Size), float64(most)))
}
