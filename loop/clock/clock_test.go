package clock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func lapse(t *testing.T, c Clock, start, declared, limit, wantTook, wantWant time.Duration) {
	t.Helper()
	took, want := c.Lapse(start, declared, limit)
	if took != wantTook || want != wantWant {
		t.Errorf("Lapse(%s, %s, %s) = %s, %s; want %s, %s", start, declared, limit, took, want, wantTook, wantWant)
	}
	if c.Now() != start+wantTook {
		t.Errorf("Lapse(%s, %s, %s) left the clock at %s, want %s", start, declared, limit, c.Now(), start+wantTook)
	}
}

func TestVirtualMovesByWhatIsDeclared(t *testing.T) {
	c := NewVirtual()
	if c.Now() != 0 {
		t.Fatal("does not begin at zero")
	}
	lapse(t, c, 0, 5*time.Second, 0, 5*time.Second, 5*time.Second)
	lapse(t, c, 5*time.Second, 10*time.Second, 3*time.Second, 3*time.Second, 10*time.Second) // cut
	lapse(t, c, 8*time.Second, 3*time.Second, 3*time.Second, 3*time.Second, 3*time.Second)   // exactly at the limit
	lapse(t, c, 11*time.Second, -time.Second, 3*time.Second, 0, 0)                           // hostile declaration
	lapse(t, c, 11*time.Second, 0, 0, 0, 0)
	if err := c.Sleep(t.Context(), 2*time.Second); err != nil || c.Now() != 13*time.Second {
		t.Errorf("%v at %s", err, c.Now())
	}
	if err := c.Sleep(t.Context(), -time.Hour); err != nil || c.Now() != 13*time.Second {
		t.Errorf("a negative sleep: %v at %s", err, c.Now())
	}
}

func TestVirtualSleepEndsWithItsContext(t *testing.T) {
	c := NewVirtual()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) || c.Now() != 0 {
		t.Errorf("%v at %s", err, c.Now())
	}
}

// A virtual deadline is compared with what a call declares; the machine's time
// must not cut a simulated call.
func TestVirtualBoundsNothingByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, stop := context.WithCancel(t.Context())
		ctx, cancel := NewVirtual().WithTimeout(parent, time.Millisecond)
		defer cancel()
		time.Sleep(time.Hour)
		if ctx.Err() != nil {
			t.Errorf("ended by the machine's time: %v", ctx.Err())
		}
		stop()
		if ctx.Err() == nil {
			t.Error("does not end with its parent")
		}
	})
}

func TestRealMeasures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewReal()
		time.Sleep(time.Second)
		if c.Now() != 0 {
			t.Errorf("Now moved by itself to %s", c.Now())
		}
		// The harness's own second counts with the call that follows it; what the
		// call declares does not count.
		start := c.Now()
		time.Sleep(2 * time.Second)
		lapse(t, c, start, time.Hour, 0, 3*time.Second, 3*time.Second)
		// A call of 1 s that was cut at 400 ms: the rest counts with the next one.
		start = c.Now()
		time.Sleep(time.Second)
		lapse(t, c, start, 0, 400*time.Millisecond, 400*time.Millisecond, time.Second)
		lapse(t, c, c.Now(), 0, 0, 600*time.Millisecond, 600*time.Millisecond)
		// Less than a microsecond is not recorded.
		time.Sleep(time.Microsecond + 999*time.Nanosecond)
		lapse(t, c, c.Now(), 0, 0, time.Microsecond, time.Microsecond)
	})
}

func TestRealSleepIsExactOnTheTrialsClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewReal()
		began := time.Now()
		if err := c.Sleep(t.Context(), 1500*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if c.Now() != 1500*time.Millisecond || time.Since(began) != 1500*time.Millisecond {
			t.Errorf("the trial's clock says %s, %s passed", c.Now(), time.Since(began))
		}
		// What the harness itself took before a sleep counts with the next call.
		time.Sleep(time.Second)
		if err := c.Sleep(t.Context(), time.Second); err != nil || c.Now() != 2500*time.Millisecond {
			t.Errorf("a sleep after a second of work: %v at %s", err, c.Now())
		}
		lapse(t, c, c.Now(), 0, 0, time.Second, time.Second)
		if err := c.Sleep(t.Context(), 0); err != nil || c.Now() != 3500*time.Millisecond {
			t.Errorf("a sleep of nothing: %v at %s", err, c.Now())
		}
		if err := c.Sleep(t.Context(), -time.Second); err != nil || c.Now() != 3500*time.Millisecond {
			t.Errorf("a negative sleep: %v at %s", err, c.Now())
		}
	})
}

func TestRealSleepEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewReal()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			time.Sleep(time.Second)
			cancel()
		}()
		began := time.Now()
		if err := c.Sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if time.Since(began) != time.Second {
			t.Errorf("slept %s", time.Since(began))
		}
		if c.Now() != 0 {
			t.Errorf("a broken sleep moved the clock to %s", c.Now())
		}
		if err := c.Sleep(ctx, 0); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled sleep of nothing: %v", err)
		}
	})
}

// Never back, whatever order measurements and sleeps come in.
func TestRealNeverGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewReal()
		last := time.Duration(0)
		for i := range 200 {
			start := c.Now()
			time.Sleep(time.Duration(i*i%37) * time.Millisecond)
			if i%3 == 0 {
				_ = c.Sleep(t.Context(), time.Duration(i%5)*time.Millisecond)
				start = c.Now()
			}
			took, want := c.Lapse(start, 0, time.Duration(i%4)*10*time.Millisecond)
			if took < 0 || want < took || c.Now() < last {
				t.Fatalf("step %d: took %s of %s, %s after %s", i, took, want, c.Now(), last)
			}
			last = c.Now()
		}
	})
}

func TestRealTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewReal()
		ctx, cancel := c.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := c.Now()
		<-ctx.Done()
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Errorf("%v", ctx.Err())
		}
		lapse(t, c, start, 0, time.Second, time.Second, time.Second)

		for _, d := range []time.Duration{0, -time.Second} {
			free, stop := c.WithTimeout(t.Context(), d)
			time.Sleep(time.Hour)
			if free.Err() != nil {
				t.Errorf("a timeout of %s bounds: %v", d, free.Err())
			}
			stop()
		}
	})
}

func TestRealIsSafeForConcurrentUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewReal()
		for range 8 {
			go func() {
				for range 50 {
					_ = c.Sleep(t.Context(), time.Millisecond)
					c.Lapse(c.Now(), 0, 0)
				}
			}()
		}
		time.Sleep(time.Second)
	})
}
