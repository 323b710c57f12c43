package guard

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/harnessbench/harnessbench/loop/event"
)

func TestAcceptance(t *testing.T) {
	for _, tt := range []struct {
		retries    string
		candidates string // p passes, f fails, u unchecked, x fails in other words
		want       string // a accepted, b sent back, S stop
	}{
		{"2", "p", "a"},
		{"2", "u", "a"},
		{"2", "fp", "ba"},
		{"2", "ffp", "bba"},
		{"2", "fff", "bbS"},
		{"2", "fxf", "bbS"},
		{"0", "f", "S"},
		{"0", "p", "a"},
		{"3", "ffff", "bbbS"},
		{"1", "uf", "ab"},
	} {
		g := one(t, "acceptance", Env{}, "retries="+tt.retries)
		var out strings.Builder
		for _, c := range tt.candidates {
			ev := &event.Candidate{Answer: "done", Checked: c != 'u'}
			switch c {
			case 'f':
				ev.Fail = "report.md is missing"
			case 'x':
				ev.Fail = "report.md is empty"
			case 'u':
				ev.Fail = "left over" // nobody looked at this candidate
			}
			var d Decision
			g, d = g.Step(ev)
			switch {
			case d.Stop != nil:
				out.WriteByte('S')
				if d.Stop.Reason != event.Unverified || d.Stop.Evidence != ev.Fail || d.Evidence != ev.Fail || d.Continue || d.Act != "stop" {
					t.Errorf("%s: %+v", tt.candidates, d)
				}
			case d.Continue:
				out.WriteByte('b')
				if d.Act != "send_back" || !strings.Contains(d.Feedback, ev.Fail) || d.Evidence != ev.Fail {
					t.Errorf("%s: %+v", tt.candidates, d)
				}
			default:
				out.WriteByte('a')
				if d.Fired() || d.Feedback != "" {
					t.Errorf("%s: %+v", tt.candidates, d)
				}
			}
		}
		if out.String() != tt.want {
			t.Errorf("%s retries, %s: %s, want %s", tt.retries, tt.candidates, out.String(), tt.want)
		}
	}
}

func TestAcceptanceEvidenceIsBounded(t *testing.T) {
	fail := strings.Repeat("\U0001F600", 1000)
	_, d := one(t, "acceptance", Env{}).Step(&event.Candidate{Checked: true, Fail: fail})
	if len(d.Evidence) > 200 || !utf8.ValidString(d.Evidence) || d.Evidence == "" {
		t.Errorf("%d bytes of evidence", len(d.Evidence))
	}
}

func TestEmptyResponse(t *testing.T) {
	for _, tt := range []struct {
		corrections string
		turns       string // e empty, t text, r a round of calls
		want        string // . nothing, c correction, S stop
	}{
		{"1", "e", "c"},
		{"1", "ee", "cS"},
		{"1", "ere", "c.c"},
		{"1", "ete", "c.c"},
		{"1", "eree", "c.cS"},
		{"1", "ttrrtt", "......"},
		{"0", "e", "S"},
		{"2", "eee", "ccS"},
	} {
		g := one(t, "empty_response", Env{}, "corrections="+tt.corrections)
		var out strings.Builder
		for _, c := range tt.turns {
			var ev event.Event = &event.Candidate{Empty: c == 'e', Answer: "x"}
			if c == 'r' {
				ev = &event.Round{N: 1}
			}
			var d Decision
			g, d = g.Step(ev)
			switch {
			case d.Stop != nil:
				out.WriteByte('S')
				if d.Stop.Reason != event.EmptyResponse || d.Evidence == "" || d.Continue {
					t.Errorf("%+v", d)
				}
			case d.Act == "correct":
				out.WriteByte('c')
				if !d.Continue || d.Feedback == "" || d.Evidence == "" {
					t.Errorf("%+v", d)
				}
			case d.Fired():
				t.Errorf("%+v", d)
			default:
				out.WriteByte('.')
			}
		}
		if out.String() != tt.want {
			t.Errorf("%s corrections, %s: %s, want %s", tt.corrections, tt.turns, out.String(), tt.want)
		}
	}
}

// A blank end that also fails its checks: both speak, in table order, and of two
// stops the first row's is taken.
func TestBlankAndRejected(t *testing.T) {
	blank := &event.Candidate{Empty: true, Checked: true, Fail: "report.md is missing"}
	h := &host{}
	s := NewSet(set(t, ProfileDefault, "acceptance.retries=1", "empty_response.corrections=1"), Backstop{}, Env{})
	res, err := s.Step(blank, h)
	if err != nil || !res.Continue || res.Stop != nil || len(res.Feedback) != 2 || !strings.Contains(res.Feedback[0], "report.md") {
		t.Errorf("%+v %v", res, err)
	}
	res, err = s.Step(blank, h)
	if err != nil || res.Stop == nil || res.Stop.Reason != event.Unverified || res.Rank != Lookup("acceptance") {
		t.Errorf("%+v %v", res.Stop, err)
	}
	if got := h.acts(); got != "acceptance:enforce:send_back empty_response:enforce:correct acceptance:enforce:stop empty_response:enforce:stop" {
		t.Errorf("fired %s", got)
	}
}
