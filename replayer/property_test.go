package replayer_test

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
)

var (
	propertyTurns = flag.Int("property.turns", 100_000, "turns that TestProperty drives the loop for, in all")
	propertySeed  = flag.Uint64("property.seed", 1, "seed of the first case of TestProperty; the others follow")
	propertyCase  = flag.String("property.case", "", "knobs of the one case to run, as a failing one was printed")
)

// Under the race detector, which slows the loop down tenfold, and under -short a
// twentieth of the turns is driven.
const propertyShare = 40

// Over random models, tools, faults, limits, guards in random modes with random
// parameters, cancellations and crashes: every request has one result, every
// question is a conversation that a chat API takes, every end says why, every
// session replays EXACT, one that was cut off or cancelled is resumed to the end
// it would have had, and no goroutine is left.
//
// A failing case is printed with its seed and with as few knobs as it fails with.
func TestProperty(t *testing.T) {
	if *propertyCase != "" {
		k := knobs(strings.Split(*propertyCase, ","))
		if err := failing(t, *propertySeed, k); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := *propertyTurns
	if raceDetector || testing.Short() {
		want /= propertyShare
	}
	sum := newTally()
	for seed := *propertySeed; sum.turns < want; seed += batch {
		failed, err := runBatch(t, seed, sum)
		if err == nil {
			continue
		}
		small, why := shrink(t, failed)
		t.Fatalf("seed %d: %v\n\nwith fewer knobs: %v\n\ngo test ./replayer -run '^TestProperty$' -property.seed=%d -property.case='%s'", failed, err, why, failed, small)
	}
	sum.report(t, want >= 100_000)
}

// batch is how many cases run between two looks at what they left.
const batch = 64

// runBatch runs the cases of some seeds, side by side where they do not take real
// time, and returns the first that failed.
func runBatch(t *testing.T, seed uint64, sum *tally) (failed uint64, err error) {
	before := runtime.NumGoroutine()
	errs := make([]error, batch)
	var next atomic.Int64
	var alone [batch]bool
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < batch; i = next.Add(1) - 1 {
				k := drawKnobs(seed + uint64(i))
				if alone[i] = slices.Contains(k, "case.clock=real"); !alone[i] {
					errs[i] = runCase(t, seed+uint64(i), k, sum)
				}
			}
		})
	}
	wg.Wait()
	for i := range errs {
		if alone[i] {
			errs[i] = runCase(t, seed+uint64(i), drawKnobs(seed+uint64(i)), sum)
		}
	}
	for i, err := range errs {
		if err != nil {
			return seed + uint64(i), err
		}
	}
	if left(before) == nil {
		return 0, nil
	}
	for i := range uint64(batch) { // one of them left a goroutine
		before := runtime.NumGoroutine()
		if err := runCase(t, seed+i, drawKnobs(seed+i), newTally()); err != nil {
			return seed + i, err
		} else if err := left(before); err != nil {
			return seed + i, err
		}
	}
	return seed, left(before)
}

// left says whether there are more goroutines than before. One that was told to
// end needs a moment.
func left(before int) error {
	for range 200 {
		if runtime.NumGoroutine() <= before {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return fmt.Errorf("%d goroutines before, %d after", before, runtime.NumGoroutine())
}

// shrink leaves out knobs that a failure does not need.
func shrink(t *testing.T, seed uint64) (knobs, error) {
	k, why := drawKnobs(seed), error(nil)
	for size := len(k) / 2; size >= 1; {
		before := len(k)
		for i := 0; i+size <= len(k); {
			fewer := slices.Delete(slices.Clone(k), i, i+size)
			if err := failing(t, seed, fewer); err != nil {
				k, why = fewer, err
			} else {
				i++
			}
		}
		if size > 1 || len(k) == before {
			size /= 2
		}
	}
	return k, why
}

// failing runs one case by itself.
func failing(t *testing.T, seed uint64, k knobs) error {
	before := runtime.NumGoroutine()
	if err := runCase(t, seed, k, newTally()); err != nil {
		return err
	}
	return left(before)
}

// tally says what the cases covered.
type tally struct {
	sync.Mutex
	cases, turns                      int
	cancelled, resumed, offline, real int
	reasons                           map[event.Reason]int
	fired                             map[string]int // guard and mode
}

func newTally() *tally { return &tally{reasons: map[event.Reason]int{}, fired: map[string]int{}} }

func (s *tally) count(field *int, n int) {
	s.Lock()
	defer s.Unlock()
	*field += n
}

// Emit implements event.Sink.
func (s *tally) Emit(ev event.Event) error {
	s.Lock()
	defer s.Unlock()
	switch ev := ev.(type) {
	case *event.Guard:
		s.fired[ev.Name+" "+ev.Mode]++
	case *event.End:
		s.reasons[ev.Reason]++
	}
	return nil
}

// report checks that the cases covered what they are for.
func (s *tally) report(t *testing.T, whole bool) {
	t.Helper()
	t.Logf("%d turns in %d cases; %d cancelled, %d cut and resumed, %d driven on offline, %d in real time; ends %v; firings %v", s.turns, s.cases, s.cancelled, s.resumed, s.offline, s.real, s.reasons, s.fired)
	if !whole {
		return
	}
	for i := range guard.Table {
		d := &guard.Table[i]
		for _, mode := range []guard.Mode{guard.Enforce, guard.Shadow} {
			if !d.Policy && s.fired[d.Name+" "+string(mode)] == 0 {
				t.Errorf("%s never fired in %s: %v", d.Name, mode, s.fired)
			}
		}
	}
	for _, r := range []event.Reason{event.Completed, event.Unverified, event.Stuck, event.NoProgress, event.TurnLimit, event.ToolCallLimit, event.TokenBudget,
		event.CostBudget, event.Deadline, event.CancelledRun, event.EmptyResponse, event.ModelError, event.ProtocolError} {
		if s.reasons[r] == 0 {
			t.Errorf("no session ended %s: %v", r, s.reasons)
		}
	}
	if min(s.cancelled, s.resumed, s.offline, s.real) == 0 {
		t.Error("a way to run a case was never taken")
	}
}

// runCase runs one case and returns what is wrong with it.
func runCase(t *testing.T, seed uint64, k knobs, sum *tally) (err error) {
	c, err := newSetup(seed, k)
	if err != nil {
		return err
	}
	if !c.model.real {
		return c.run(sum)
	}
	synctest.Test(t, func(*testing.T) {
		before := runtime.NumGoroutine()
		err = c.run(sum)
		synctest.Wait()
		if now := runtime.NumGoroutine(); now > before { // the bubble panics at its end, and names no case
			fmt.Fprintf(os.Stderr, "%d goroutines before, %d after: -property.seed=%d -property.case='%s'\n", before, now, seed, k)
		}
	})
	return err
}
