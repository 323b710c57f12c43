package loop_test

import (
	"context"
	"errors"
	"testing"

	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
)

func sealed(files ...string) (out []loop.Sealed) {
	for i := 0; i < len(files); i += 2 {
		out = append(out, loop.Sealed{Path: files[i], Digest: model.SumString(files[i+1])})
	}
	return out
}

// listings gives one listing after the other, the last one again and again.
func listings(n *int, list ...[]loop.Sealed) func() ([]loop.Sealed, error) {
	return func() ([]loop.Sealed, error) {
		*n++
		return list[min(*n, len(list))-1], nil
	}
}

// A broken seal ends the session before the checks are asked, however often they
// would pass; what is in neither listing is no breach.
func TestSeals(t *testing.T) {
	start := sealed("t/a", "1", "t/b", "2")
	for _, tt := range []struct {
		name     string
		now      []loop.Sealed
		evidence string
	}{
		{"as they were", sealed("t/a", "1", "t/b", "2"), ""},
		{"changed", sealed("t/a", "1", "t/b", "x"), "changed t/b"},
		{"deleted", sealed("t/a", "1"), "deleted t/b"},
		{"all deleted", nil, "deleted t/a, deleted t/b"},
		{"created", sealed("t/a", "1", "t/aa", "1", "t/b", "2"), "created t/aa"},
		{"renamed", sealed("t/b", "2", "t/c", "1"), "deleted t/a, created t/c"},
		{"many", sealed("a", "", "b", "", "c", "", "d", "", "t/a", "1"), "created a, created b, created c and 2 more"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tr := newTrial(t, answers(calls("look"), say("done")), []tool.Tool{ok("look", event.Read, "seen")}, guard.ProfileDefault)
			n, checks := 0, 0
			tr.deps.Sealed = listings(&n, start, tt.now)
			tr.deps.Check = func(context.Context, string) (string, error) { checks++; return "", nil }
			if tt.evidence == "" {
				if end := tr.wantEnd(t, event.Completed); end.Unchecked || checks != 1 || n != 2 {
					t.Errorf("%+v, %d checks, %d listings", end, checks, n)
				}
				return
			}
			end := tr.wantEnd(t, event.SealBroken)
			if end.Evidence != tt.evidence || !end.Unchecked || checks != 0 || end.Answer != "done" {
				t.Errorf("%+v, %d checks", end, checks)
			}
			wantLines(t, tr.sink.only("guard"), "guard seals enforce stop")
			if got := tr.sink.only("candidate"); len(got) != 0 {
				t.Error("a candidate was told of all the same")
			}
		})
	}
}

// Seals are compared at every candidate, also one that is sent back; a file that
// is as it was again by then is whole.
func TestSealsAtEveryCandidate(t *testing.T) {
	for _, tt := range []struct {
		second []loop.Sealed
		reason event.Reason
	}{{sealed("a", "1"), event.Completed}, {sealed("a", "2"), event.SealBroken}} {
		tr := newTrial(t, answers(say("half"), say("whole")), nil, guard.ProfileDefault)
		n, checks := 0, 0
		tr.deps.Sealed = listings(&n, sealed("a", "1"), sealed("a", "1"), tt.second)
		tr.deps.Check = func(context.Context, string) (string, error) {
			checks++
			return []string{"not yet", ""}[min(checks-1, 1)], nil
		}
		if tr.wantEnd(t, tt.reason); n != 3 {
			t.Errorf("%d listings", n)
		}
	}
}

// In shadow the firing is recorded, once, and the session goes on; off, and
// without declared files, nothing is listed.
func TestSealsModes(t *testing.T) {
	for _, tt := range []struct {
		mode  string
		fired int
		lists int
	}{{"shadow", 1, 3}, {"off", 0, 0}} {
		tr := newTrial(t, answers(say("half"), say("whole")), nil, guard.ProfileDefault, "seals="+tt.mode)
		n, checks := 0, 0
		tr.deps.Sealed = listings(&n, sealed("a", "1"), nil)
		tr.deps.Check = func(context.Context, string) (string, error) {
			checks++
			return []string{"not yet", ""}[min(checks-1, 1)], nil
		}
		tr.wantEnd(t, event.Completed)
		if got := fired(tr.sink, "seals"); len(got) != tt.fired || n != tt.lists {
			t.Errorf("%s: %v, %d listings", tt.mode, got, n)
		}
	}
}

// Seals that cannot be looked at do not hold.
func TestSealsFailClosed(t *testing.T) {
	for fails, turns := range map[int]int{1: 0, 2: 1} {
		n := 0
		tr := newTrial(t, answers(say("done")), nil, guard.ProfileDefault)
		tr.deps.Sealed = func() ([]loop.Sealed, error) {
			if n++; n == fails {
				return nil, errors.New("no such disk")
			}
			return nil, nil
		}
		if end := tr.wantEnd(t, event.InternalError); end.Evidence != "sealed files: no such disk" || end.Turns != turns {
			t.Errorf("%+v", end)
		}
	}
}
