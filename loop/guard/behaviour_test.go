package guard

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/loop/event"
)

// earlier is a behaviour of stuck that never was: it has one parameter and stops
// at the first round.
var earlier = behaviour{version: 7, params: []Param{{"rounds", Count, 1, 1, 10, "rounds before the stop"}},
	build: func(v []int64, _ Env) Guard { return stopAfter(v[0]) }}

type stopAfter int64

func (stopAfter) Listens() event.Kind { return event.KindRound }

func (n stopAfter) Step(event.Event) (Guard, Decision) {
	if n > 1 {
		return n - 1, Decision{}
	}
	return n, Decision{Act: "stop", Evidence: "of old", Stop: &Stop{Reason: event.Stuck, Evidence: "of old"}}
}

func init() {
	d := &Table[Lookup("stuck")]
	d.older = append(d.older, earlier)
}

// A session that was recorded under a behaviour that is still in the code gets
// that behaviour, with the parameters of then; its settings are written as they
// stood, and today's are made under today's.
func TestEarlierBehaviour(t *testing.T) {
	text := `{"stuck":{"mode":"enforce","rounds":2,"v":7}}`
	s, err := ParseSettings([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(s.AppendJSON(nil)); got != text {
		t.Errorf("written as %s", got)
	}
	if s.Version("stuck") != 7 || s.Param("stuck", "rounds") != 2 || s.Param("stuck", "abort") != 0 {
		t.Errorf("%+v", s.Get("stuck"))
	}
	if s, err = s.WithParam("stuck", "rounds", "1"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.WithParam("stuck", "abort", "9"); err == nil || !strings.Contains(err.Error(), "rounds") {
		t.Errorf("a parameter of today: %v", err)
	}
	h := &listening{}
	res, err := NewSet(s, Backstop{}, Env{}).Step(&event.Round{N: 1}, h)
	if err != nil || res.Stop == nil || res.Stop.Evidence != "of old" || len(h.fired) != 1 || h.fired[0].Version != 7 {
		t.Errorf("%+v %+v %v", res, h.fired, err)
	}
	if today := MustProfile(ProfileDefault); today.Version("stuck") != 1 || !slices.Contains(Differ(s, today), "stuck") {
		t.Errorf("today: %d, %v", today.Version("stuck"), Differ(s, today))
	}
	if _, err := ParseSettings([]byte(strings.Replace(text, "rounds", "abort", 1))); err == nil || !strings.Contains(err.Error(), `no parameter "abort"`) {
		t.Errorf("%v", err)
	}
}

type listening struct{ fired []event.Guard }

func (*listening) Spill(*Spill) error { return nil }

func (l *listening) Fired(g *event.Guard) error {
	l.fired = append(l.fired, *g)
	return nil
}

// Settings are written as they were read: guards that did not exist then are left
// out, one that was off keeps what nobody understands any more.
func TestSettingsAreWrittenAsTheyStood(t *testing.T) {
	for _, text := range []string{
		`{}`,
		`{"limits":{"calls":200,"cost":0,"mode":"enforce","tokens":0,"turns":50,"v":1}}`,
		`{"stuck":{"mode":"off","other":1,"v":99}}`,
		string(MustProfile(ProfileFull).AppendJSON(nil)),
	} {
		s, err := ParseSettings([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := string(s.AppendJSON(nil)); got != text {
			t.Errorf("%s is written as %s", text, got)
		}
		if s, err = s.With("stuck", Shadow); err != nil || s.Mode("stuck") != Shadow || s.raws() {
			t.Errorf("%s: %v", text, err)
		}
		if again, err := ParseSettings(s.AppendJSON(nil)); err != nil || again.Mode("stuck") != Shadow {
			t.Errorf("%s changed: %s: %v", text, s.AppendJSON(nil), err)
		}
	}
}

func (s Settings) raws() bool {
	return slices.ContainsFunc(s.rows, func(r Setting) bool { return r.raw != "" })
}

func TestForeignGuard(t *testing.T) {
	_, err := ParseSettings([]byte(`{"clairvoyance":{"mode":"enforce","v":3}}`))
	var old *OldBehaviourError
	if !errors.As(err, &old) || err.Error() != "guard clairvoyance: recorded under behaviour version 3, this version has no such guard" {
		t.Errorf("%v", err)
	}
}
