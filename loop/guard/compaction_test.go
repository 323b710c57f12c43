package guard

import "testing"

func compactionOf(t *testing.T, changes ...string) Compaction {
	t.Helper()
	s := MustProfile(ProfileDefault)
	for i := 0; i < len(changes); i += 2 {
		var err error
		if s, err = s.WithParam("compaction", changes[i], changes[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	c, mode := NewSet(s, Backstop{}, Env{}).Compaction()
	if mode != Enforce {
		t.Fatalf("mode %s", mode)
	}
	return c
}

func TestCompactionThresholds(t *testing.T) {
	c := compactionOf(t)
	if c != (Compaction{At: 75, To: 55, Keep: 3, Summary: true}) {
		t.Fatalf("%+v", c)
	}
	for _, tt := range []struct {
		tokens, window int64
		due            bool
	}{{7500, 10_000, false}, {7501, 10_000, true}, {0, 10_000, false}, {1 << 40, 0, false}, {75, 100, false}, {76, 100, true}} {
		if c.Due(tt.tokens, tt.window) != tt.due {
			t.Errorf("%d of %d: due %v", tt.tokens, tt.window, !tt.due)
		}
	}
	if (Compaction{}).Due(1<<40, 1) {
		t.Error("a zero Compaction is due")
	}
	if got := c.Target(10_000); got != 5500 {
		t.Errorf("target %d", got)
	}
	if got := compactionOf(t, "at", "40").Target(10_000); got != 4000 {
		t.Errorf("to is above at: target %d", got)
	}
	if compactionOf(t, "summary", "0", "keep", "0") != (Compaction{At: 75, To: 55}) {
		t.Error("summary 0, keep 0")
	}
}

// After a compaction that left too much it is not due again before the
// conversation has grown by what it would have gained.
func TestCompactionComesAgain(t *testing.T) {
	c := compactionOf(t)
	for left, want := range map[int64]int64{5500: 0, 7500: 0, 7501: 9501, 20_000: 22_000} {
		if got := c.Again(left, 10_000); got != want {
			t.Errorf("%d left: %d, want %d", left, got, want)
		}
	}
	if got := compactionOf(t, "to", "75").Again(8000, 10_000); got != 8500 {
		t.Errorf("at = to: %d", got)
	}
	if got := compactionOf(t, "to", "75").Again(8, 10); got != 9 {
		t.Errorf("at = to in a tiny window: %d", got)
	}
}

func TestContextOverflowRetries(t *testing.T) {
	o, mode := NewSet(MustProfile(ProfileDefault), Backstop{}, Env{}).ContextOverflow()
	if mode != Enforce || !o.Again(0) || o.Again(1) {
		t.Errorf("%+v %s", o, mode)
	}
	if (ContextOverflow{}).Again(0) {
		t.Error("no retries, and again")
	}
	if _, mode := NewSet(MustProfile(ProfileNone), Backstop{}, Env{}).ContextOverflow(); mode != Off {
		t.Errorf("profile none: %s", mode)
	}
}
