package guard

import (
	"fmt"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/loop/event"
)

// play feeds one round per letter (equal letters are equal rounds) and notes
// what happened after each: '.' nothing, 'n' nudge, 'S' stop. It goes on after a
// stop no further.
func play(t *testing.T, g Guard, rounds string) string {
	t.Helper()
	var out strings.Builder
	for _, c := range rounds {
		var d Decision
		g, d = round(t, g, call("grep", `{"pattern":"`+string(c)+`"}`, "none"))
		switch {
		case d.Stop != nil:
			return out.String() + "S"
		case d.Feedback != "":
			out.WriteByte('n')
		case d.Fired():
			t.Fatalf("fired without an effect: %+v", d)
		default:
			out.WriteByte('.')
		}
	}
	return out.String()
}

func TestStuckThresholds(t *testing.T) {
	for _, tt := range []struct{ name, rounds, want string }{
		{"two equal rounds are nothing", "AA", ".."},
		{"nudge at three", "AAA", "..n"},
		{"nudge once", "AAAA", "..n."},
		{"five are not six", "AAAAA", "..n.."},
		{"stop at six", "AAAAAAA", "..n..S"},
		{"another round begins a new count", "AAABAAA", "..n...n"},
		{"the new count also stops", "AAAAABAAAAAA", "..n.....n..S"},
		{"another round before the nudge", "AABAAB", ".....n"}, // [A,A,B] twice
		{"cycle of two", "ABABAB", "...n.S"},
		{"cycle of three", "ABCABCABC", ".....n..S"},
		{"cycle of four", "ABCDABCDABCD", ".......n...S"},
		{"cycle of three with a doubled step", "AABAABAAB", ".....n..S"},
		{"cycle of three, doubled at the end", "BAABAABAA", ".....n..S"},
		{"cycle of four with a doubled step", "AABCAABCAABC", ".......n...S"},
		{"cycle of five is not seen", "ABCDEABCDEABCDE", "..............."},
		{"one and a half periods are nothing", "ABA", "..."},
		{"a cycle after a start of its own", "XYABABAB", ".....n.S"},
		{"a broken cycle begins again", "ABABXABABAB", "...n....n.S"},
		{"a cycle in its other order", "ABABCBABA", "...n....n"},
		{"all different", "ABCDEFGHIJKLMNOP", "................"},
		{"equal rounds after a cycle", "ABABBBB", "...n.n."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := play(t, one(t, "stuck", Env{}), tt.rounds); got != tt.want {
				t.Errorf("%s\ngot  %s\nwant %s", tt.rounds, got, tt.want)
			}
		})
	}
}

func TestStuckParameters(t *testing.T) {
	for _, tt := range []struct{ changes, rounds, want string }{
		{"nudge=2 abort=3", "AAAA", ".nS"},
		{"nudge=5 abort=3", "AAAA", "..S"},
		{"nudge=3 abort=3", "AAAA", "..S"},
		{"abort=1000", "AAAAAAAAAA", "..n......."},
		{"cycle_nudge=3 cycle_abort=5", "ABABABABABAB", ".....n...S"},
		{"cycle_nudge=2 cycle_abort=2", "ABABAB", "...S"},
		// One cycle is one cycle: that two of its periods are a period of four too
		// is no second finding.
		{"cycle_abort=100", "ABABABABABABABABABAB", "...n................"},
	} {
		t.Run(tt.changes, func(t *testing.T) {
			g := one(t, "stuck", Env{}, strings.Fields(tt.changes)...)
			if got := play(t, g, tt.rounds); got != tt.want {
				t.Errorf("%s\ngot  %s\nwant %s", tt.rounds, got, tt.want)
			}
		})
	}
}

func TestStuckEvidence(t *testing.T) {
	for _, tt := range []struct {
		rounds         string
		act, evidence  string
		feedback       string
		reason         event.Reason
		stopEvidenceIs bool
	}{
		{"AAA", "nudge", "3 equal rounds", "same call 3 times", "", false},
		{"AAAAAA", "stop", "6 equal rounds", "", event.Stuck, true},
		{"ABAB", "nudge", "2 periods of a cycle of 2 rounds", "going in a circle", "", false},
		{"ABCABCABC", "stop", "3 periods of a cycle of 3 rounds", "", event.Stuck, true},
	} {
		g := one(t, "stuck", Env{})
		var d Decision
		for _, c := range tt.rounds {
			g, d = round(t, g, call("grep", string(c), ""))
		}
		if d.Act != tt.act || d.Evidence != tt.evidence || !strings.Contains(d.Feedback, tt.feedback) {
			t.Errorf("%s: %+v", tt.rounds, d)
		}
		if tt.reason != "" && (d.Stop == nil || d.Stop.Reason != tt.reason || d.Stop.Evidence != tt.evidence || d.Stop.Backstop) {
			t.Errorf("%s: stop %+v", tt.rounds, d.Stop)
		}
		if tt.feedback != "" {
			for _, want := range []string{"Inspect", "approach", "answer"} {
				if !strings.Contains(d.Feedback, want) {
					t.Errorf("%s: the nudge does not say %q: %s", tt.rounds, want, d.Feedback)
				}
			}
		}
	}
}

func TestStuckLooksAtResultsAndOrder(t *testing.T) {
	same := func() *event.ToolResult { return call("poll", "{}", "pending") }
	other := func() *event.ToolResult { return call("grep", `{"p":1}`, "none") }
	for _, tt := range []struct {
		name  string
		round func(i int) []*event.ToolResult
		want  bool // fires within twelve rounds
	}{
		{"equal batches", func(int) []*event.ToolResult { return []*event.ToolResult{same(), other()} }, true},
		{"a poll whose result changes", func(i int) []*event.ToolResult {
			return []*event.ToolResult{call("poll", "{}", fmt.Sprintf("%d %%", i))}
		}, false},
		{"a batch of which one result changes", func(i int) []*event.ToolResult {
			return []*event.ToolResult{same(), call("poll", "{}", fmt.Sprint(i))}
		}, false},
		{"only the arguments change", func(i int) []*event.ToolResult {
			return []*event.ToolResult{call("grep", fmt.Sprint(i), "none")}
		}, false},
		{"only the tool changes", func(i int) []*event.ToolResult {
			return []*event.ToolResult{call(fmt.Sprint("t", i), "{}", "none")}
		}, false},
		{"batches that grow", func(i int) []*event.ToolResult {
			var out []*event.ToolResult
			for range i + 1 {
				out = append(out, same())
			}
			return out
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, fired := one(t, "stuck", Env{}), false
			for i := range 12 {
				var d Decision
				g, d = round(t, g, tt.round(i)...)
				fired = fired || d.Fired()
			}
			if fired != tt.want {
				t.Errorf("fired %v, want %v", fired, tt.want)
			}
		})
	}
}

// The order inside a batch is a part of it: [a,b] and [b,a] are two rounds.
func TestStuckBatchOrderMatters(t *testing.T) {
	g := one(t, "stuck", Env{})
	for i := range 6 {
		a, b := call("a", "{}", "1"), call("b", "{}", "2")
		batch := []*event.ToolResult{a, b}
		if i%2 == 1 {
			batch = []*event.ToolResult{b, a}
		}
		var d Decision
		g, d = round(t, g, batch...)
		if i == 2 && d.Fired() {
			t.Errorf("[a,b] [b,a] [a,b] counts as three equal rounds")
		}
		if i == 3 && d.Evidence != "2 periods of a cycle of 2 rounds" {
			t.Errorf("two turned batches are a cycle of two: %+v", d)
		}
	}
}

// What the model sees of a result (cut, spilled) is not what counts.
func TestStuckUsesRawResults(t *testing.T) {
	g := one(t, "stuck", Env{})
	for i := range 6 {
		c := call("cat", "{}", "raw")
		c.Shown = fmt.Sprint("spilled to file ", i)
		c.Turn = i
		var d Decision
		g, d = round(t, g, c)
		if i == 2 && d.Act != "nudge" || i == 5 && d.Act != "stop" {
			t.Errorf("round %d: %+v", i+1, d)
		}
	}
}

func TestStuckIgnoresARoundWithoutCalls(t *testing.T) {
	g := one(t, "stuck", Env{})
	for range 10 {
		var d Decision
		if g, d = g.Step(&event.Round{}); d.Fired() {
			t.Fatalf("%+v", d)
		}
	}
}
