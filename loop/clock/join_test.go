package clock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/harnessbench/harnessbench/loop/clock"
)

// Calls that ran beside each other move the clock once. What one declares moves a
// real clock ahead of the machine's; what was waited for beyond a limit counts
// with the next call.
func TestJoin(t *testing.T) {
	v := clock.NewVirtual()
	v.Lapse(0, time.Second, 0)
	if d := v.Measure(v.Now(), 3*time.Second); d != 3*time.Second || v.Now() != time.Second || v.Concurrent() {
		t.Errorf("measured %s, clock at %s", d, v.Now())
	}
	if v.Join(time.Second, 4*time.Second); v.Now() != 5*time.Second {
		t.Errorf("joined at %s", v.Now())
	}
	synctest.Test(t, func(t *testing.T) {
		r := clock.NewReal()
		time.Sleep(2 * time.Second)
		if d := r.Measure(0, time.Hour); d != 2*time.Second || r.Now() != 0 || !r.Concurrent() {
			t.Errorf("measured %s, clock at %s", d, r.Now())
		}
		r.Join(0, 5*time.Second) // declared
		time.Sleep(time.Second)
		if d := r.Measure(r.Now(), 0); r.Now() != 5*time.Second || d != time.Second {
			t.Errorf("measured %s, clock at %s", d, r.Now())
		}
		time.Sleep(time.Second)
		r.Join(r.Now(), time.Second) // cut short of the two that passed
		if took, _ := r.Lapse(r.Now(), 0, 0); took != time.Second || r.Now() != 7*time.Second {
			t.Errorf("the next call took %s, clock at %s", took, r.Now())
		}
	})
}
