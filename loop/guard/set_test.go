package guard

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/loop/event"
)

// scenes are events that make each guard fire, the last one a firing with the
// given act. The stops among them come from a second run over the same events.
var scenes = []struct {
	guard, changes string
	events         func() []event.Event
	acts           string // what fires over all events, in order
	stops          bool
}{
	{"stuck", "", func() []event.Event { return sameRounds(6) }, "nudge stop", true},
	{"monotony", "nudge=2", func() []event.Event {
		var out []event.Event
		for i := range 16 {
			out = append(out, call("grep", fmt.Sprint(i), "none"), &event.Round{N: 1})
		}
		return out
	}, "nudge stop", true},
	{"no_progress", "", func() []event.Event {
		var out []event.Event
		for range 6 {
			c := call("t", "{}", "boom")
			c.Outcome = event.ToolError
			out = append(out, c, &event.Round{N: 1})
		}
		return out
	}, "nudge stop", true},
	{"dedupe", "", func() []event.Event {
		return []event.Event{call("t", "{}", strings.Repeat("x", 300)), call("t", "{}", strings.Repeat("x", 300))}
	}, "point", false},
	{"spill", "", func() []event.Event { return []event.Event{call("t", "{}", strings.Repeat("x", 30_000))} }, "spill", false},
	{"result_ceiling", "", func() []event.Event { return []event.Event{call("t", "{}", strings.Repeat("x", 30_000))} }, "cut", false},
	{"tool_deadline", "", func() []event.Event {
		c := call("t", "{}", "")
		c.Took, c.Want = 200*time.Second, 200*time.Second
		return []event.Event{c}
	}, "timeout", false},
	{"run_deadline", "total=1m", func() []event.Event {
		return []event.Event{at(event.NextTool, time.Minute), at(event.NextModel, time.Hour)}
	}, "stop", true},
	{"limits", "turns=3", func() []event.Event {
		return []event.Event{used(event.NextTurn, 2, 0, 0, 0), used(event.NextTurn, 3, 0, 0, 0), used(event.NextTurn, 4, 0, 0, 0)}
	}, "stop", true},
	{"acceptance", "retries=1", func() []event.Event {
		return []event.Event{&event.Candidate{Checked: true, Fail: "no"}, &event.Candidate{Checked: true, Fail: "no"}, &event.Candidate{Checked: true, Fail: "no"}}
	}, "send_back stop", true},
	{"seals", "", func() []event.Event {
		return []event.Event{&event.Seal{}, &event.Seal{Broken: []string{"changed tests/a.txt"}, Count: 1}, &event.Seal{Broken: []string{"changed tests/a.txt"}, Count: 1}}
	}, "stop", true},
	{"empty_response", "", func() []event.Event {
		return []event.Event{&event.Candidate{Empty: true}, &event.Candidate{Empty: true}, &event.Candidate{Empty: true}}
	}, "correct stop", true},
	{"budget_notice", "", func() []event.Event {
		return []event.Event{turnEnd(2), turnEnd(3), turnEnd(4), turnEnd(5)}
	}, "notice notice", false},
	{"goal_reminder", "turns=2", func() []event.Event {
		var out []event.Event
		for i := range 9 {
			out = append(out, call("grep", fmt.Sprint(i), "none"), turnEnd(i+1))
		}
		return append(out, turnEnd(10), turnEnd(11))
	}, "remind gap narrow pause", true},
	{"unknown_tool", "", func() []event.Event {
		c := call("t", "{}", "")
		c.Outcome = event.UnknownTool
		return []event.Event{c}
	}, "list", false},
}

func sameRounds(n int) []event.Event {
	var out []event.Event
	for range n {
		out = append(out, call("grep", "{}", "none"), &event.Round{N: 1})
	}
	return out
}

func TestEveryFoldHasAScene(t *testing.T) {
	have := map[string]bool{}
	for _, s := range scenes {
		have[s.guard] = true
	}
	for i := range Table {
		if d := &Table[i]; have[d.Name] == d.Policy {
			t.Errorf("%s: scene %v, policy %v", d.Name, have[d.Name], d.Policy)
		}
	}
}

// In shadow the same firings are recorded as in enforce, nothing is done, and
// after a stop it would have made a guard is silent. Off records nothing.
func TestEnforceShadowOff(t *testing.T) {
	for _, sc := range scenes {
		t.Run(sc.guard, func(t *testing.T) {
			for _, mode := range []Mode{Enforce, Shadow, Off} {
				changes := []string{sc.guard + "=" + string(mode)}
				if sc.changes != "" {
					changes = append(changes, sc.guard+"."+sc.changes)
				}
				h := &host{}
				s := NewSet(set(t, ProfileNone, changes...), Backstop{Calls: 6}, bothReaders)
				stopped, acted := false, false
				for _, ev := range sc.events() {
					var raw string
					if r, ok := ev.(*event.ToolResult); ok {
						raw = r.Shown
					}
					res, err := s.Step(ev, h)
					if err != nil {
						t.Fatal(err)
					}
					stopped = stopped || res.Stop != nil
					if r, ok := ev.(*event.ToolResult); ok {
						acted = acted || r.Shown != raw || res.Rewrote
					}
					acted = acted || res.Stop != nil || res.Continue || res.Feedback != nil || res.Budget != 0
					if stopped {
						break
					}
				}
				var acts []string
				for _, g := range h.fired {
					acts = append(acts, g.Act)
					if g.Name != sc.guard || g.Mode != string(mode) || g.Version != 1 || g.Evidence == "" {
						t.Errorf("%s: %+v", mode, g)
					}
				}
				want := sc.acts
				if mode == Off {
					want = ""
				}
				if got := strings.Join(acts, " "); got != want {
					t.Errorf("%s: fired %q, want %q", mode, got, want)
				}
				if mode == Enforce && stopped != sc.stops {
					t.Errorf("enforced: stopped %v", stopped)
				}
				if mode != Enforce && (acted || len(h.spilled) != 0) {
					t.Errorf("%s: acted", mode)
				}
			}
		})
	}
}

// A firing names the call it acted on and stands at the event's place and time.
func TestFiringsCarryTheirPlace(t *testing.T) {
	h := &host{}
	c := call("t", "{}", strings.Repeat("x", 30_000))
	c.Head = event.Head{Lane: "sub", Turn: 7, At: 3 * time.Second}
	if _, err := NewSet(MustProfile(ProfileDefault), Backstop{}, Env{}).Step(c, h); err != nil {
		t.Fatal(err)
	}
	if len(h.fired) != 1 || h.fired[0].Head != c.Head || h.fired[0].On != c.Call.ID {
		t.Errorf("%+v", h.fired)
	}
}

func TestHostErrorsComeBack(t *testing.T) {
	boom := errors.New("disk full")
	h := &host{firedErr: boom}
	if _, err := NewSet(MustProfile(ProfileDefault), Backstop{}, Env{}).Step(call("t", "{}", strings.Repeat("x", 30_000)), h); !errors.Is(err, boom) {
		t.Errorf("%v", err)
	}
}

// Of two stops at one event the first row's counts, and both are recorded.
func TestFirstStopInTableOrder(t *testing.T) {
	h := &host{}
	s := NewSet(set(t, ProfileNone, "acceptance=enforce", "acceptance.retries=0", "empty_response=enforce", "empty_response.corrections=0"), Backstop{}, Env{})
	res, err := s.Step(&event.Candidate{Empty: true, Checked: true, Fail: "no"}, h)
	if err != nil || res.Stop == nil || res.Stop.Reason != event.Unverified || len(h.fired) != 2 {
		t.Errorf("%+v %s %v", res.Stop, h.acts(), err)
	}
}

// Step is a function: on a kept copy of a state it says the same again, whatever
// was done with its successors.
func TestStepIsPure(t *testing.T) {
	for i := range Table {
		d := &Table[i]
		if d.build == nil {
			continue
		}
		t.Run(d.Name, func(t *testing.T) {
			for seed := range uint64(20) {
				rnd := rand.New(rand.NewPCG(seed, 1))
				g := one(t, d.Name, bothReaders)
				var states []Guard
				var events []event.Event
				var decisions []Decision
				for range 100 {
					ev := randomEvent(rnd)
					if ev.Kind()&g.Listens() == 0 {
						continue
					}
					states, events = append(states, g), append(events, ev)
					before := fmt.Sprintf("%+v", g)
					next, dec := g.Step(ev)
					if after := fmt.Sprintf("%+v", g); after != before {
						t.Fatalf("Step changed its receiver\n%s\n%s", before, after)
					}
					decisions = append(decisions, dec)
					g = next
				}
				for j := len(states) - 1; j >= 0; j-- {
					next, dec := states[j].Step(events[j])
					if diff := cmp.Diff(decisions[j], dec); diff != "" {
						t.Fatalf("seed %d, event %d: another decision from the same state\n%s", seed, j, diff)
					}
					if j+1 < len(states) && !reflect.DeepEqual(next, states[j+1]) {
						t.Fatalf("seed %d, event %d: another state from the same state", seed, j)
					}
				}
			}
		})
	}
}

// size counts the bytes that a state reaches.
func size(v reflect.Value) int {
	n := int(v.Type().Size())
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			n += size(v.Field(i)) - int(v.Field(i).Type().Size())
		}
	case reflect.Array:
		for i := range v.Len() {
			n += size(v.Index(i)) - int(v.Index(i).Type().Size())
		}
	case reflect.Slice:
		n += v.Cap() * int(v.Type().Elem().Size())
		for i := range v.Len() {
			n += size(v.Index(i)) - int(v.Type().Elem().Size())
		}
	case reflect.String:
		n += v.Len()
	case reflect.Map:
		for _, k := range v.MapKeys() {
			n += size(k) + size(v.MapIndex(k))
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			n += size(v.Elem())
		}
	}
	return n
}

// The state's size does not grow with the session, or a turn would cost more at
// turn 1,000 than at turn 10.
func TestStateIsBounded(t *testing.T) {
	for i := range Table {
		d := &Table[i]
		if d.build == nil {
			continue
		}
		t.Run(d.Name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(3, 3))
			g := one(t, d.Name, bothReaders)
			var early int
			for n := range 3_000 {
				if ev := randomEvent(rnd); ev.Kind()&g.Listens() != 0 {
					g, _ = g.Step(ev)
				}
				if n == 99 {
					early = size(reflect.ValueOf(g))
				}
			}
			if late := size(reflect.ValueOf(g)); late != early || late > 1024 {
				t.Errorf("%d bytes after 100 events, %d after 3,000", early, late)
			}
		})
	}
}

func TestSizeSeesGrowth(t *testing.T) {
	type state struct{ seen []string }
	if a, b := size(reflect.ValueOf(state{})), size(reflect.ValueOf(state{seen: []string{"abc"}})); b < a+19 {
		t.Errorf("%d %d", a, b)
	}
}

// Guards are only given what they listen to, and a set asks nobody for what
// nobody listens to.
func TestListens(t *testing.T) {
	s := NewSet(MustProfile(ProfileFull), Backstop{}, Env{})
	for _, ev := range []event.Event{&event.Start{}, &event.Part{}, &event.Request{}, &event.Attempt{}, &event.Response{},
		&event.Anomaly{}, &event.ToolRequest{}, &event.Guard{}, &event.State{}, &event.End{}} {
		res, err := s.Step(ev, &host{firedErr: errors.New("fired")})
		if err != nil || !reflect.DeepEqual(res, Result{}) {
			t.Errorf("%T: %+v %v", ev, res, err)
		}
	}
}

func TestPoliciesOfASet(t *testing.T) {
	s := NewSet(set(t, ProfileNone, "retry=shadow", "retry.attempts=7", "truncated_empty=enforce", "truncated_empty.factor_cap=8"), Backstop{}, Env{})
	r, mode := s.Retry()
	if mode != Shadow || r != (Retry{7, 200 * time.Millisecond, 30 * time.Second, 120 * time.Second}) {
		t.Errorf("%+v %s", r, mode)
	}
	te, mode := s.TruncatedEmpty()
	if mode != Enforce || te != (TruncatedEmpty{1, 8}) {
		t.Errorf("%+v %s", te, mode)
	}
	if s.Checks() {
		t.Error("acceptance is off and candidates are checked")
	}
	s = NewSet(Settings{}, Backstop{}, Env{})
	if _, mode = s.Retry(); mode != Off {
		t.Errorf("retry is %s", mode)
	}
	for _, mode := range []Mode{Shadow, Enforce} {
		if !NewSet(set(t, ProfileNone, "acceptance="+string(mode)), Backstop{}, Env{}).Checks() {
			t.Errorf("acceptance is in %s and candidates are not checked", mode)
		}
	}
}

func BenchmarkSetStep(b *testing.B) {
	s := NewSet(MustProfile(ProfileDefault), Backstop{Turns: 1 << 20, Wall: time.Hour}, bothReaders)
	h := &host{}
	check, res, rnd := at(event.NextTool, time.Second), call("grep", "{}", "1 match"), &event.Round{N: 1}
	b.ReportAllocs()
	n := byte(0)
	for b.Loop() {
		n++
		res.RawDigest[0] = n // progress: nothing fires
		for _, ev := range []event.Event{check, res, rnd} {
			if _, err := s.Step(ev, h); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// spy is a guard that listens to rounds and fails on anything else.
type spy struct{ t *testing.T }

func (spy) Listens() event.Kind { return event.KindRound }

func (s spy) Step(ev event.Event) (Guard, Decision) {
	if ev.Kind() != event.KindRound {
		s.t.Errorf("was given %T", ev)
	}
	return s, Decision{}
}

func TestGuardsHearOnlyWhatTheyListenTo(t *testing.T) {
	s := NewSet(MustProfile(ProfileDefault), Backstop{}, Env{})
	s.entries = append(s.entries, entry{def: &Table[0], mode: Enforce, g: spy{t}, listens: spy{t}.Listens()})
	for _, ev := range []event.Event{&event.Round{N: 1}, &event.Candidate{}, at(event.NextTool, 0), call("t", "{}", "")} {
		if _, err := s.Step(ev, &host{}); err != nil {
			t.Fatal(err)
		}
	}
}
