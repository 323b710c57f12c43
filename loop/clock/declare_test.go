package clock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/harnessbench/harnessbench/loop/clock"
)

// A declared duration counts on every clock; what really passed meanwhile does
// not count beside it, and real time goes on from there.
func TestDeclare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]clock.Clock{"virtual": clock.NewVirtual(), "real": clock.NewReal()} {
			time.Sleep(2 * time.Second) // the call itself
			if took, want := c.Declare(0, time.Hour, 2*time.Minute); took != 2*time.Minute || want != time.Hour || c.Now() != 2*time.Minute {
				t.Errorf("%s: took %s of %s, now %s", name, took, want, c.Now())
			}
			if took, want := c.Declare(c.Now(), time.Second, 0); took != time.Second || want != time.Second {
				t.Errorf("%s: took %s of %s", name, took, want)
			}
			time.Sleep(3 * time.Second)
			want := 3 * time.Second
			if name == "virtual" {
				want = 5 * time.Second
			}
			if took, _ := c.Lapse(c.Now(), 5*time.Second, 0); took != want {
				t.Errorf("%s: a measured call took %s, want %s", name, took, want)
			}
		}
	})
}
