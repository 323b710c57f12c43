package guard

import (
	"fmt"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/loop/event"
)

// failing makes one round a letter: a lower-case letter is that call failing with
// its own error, an upper-case one succeeds, '~' and '-' are polls that fail with
// another first line each time, '=' is a call whose error differs behind its first
// line, '!' a timeout, '?' a write of unknown outcome, '3' and '6' are batches of so
// many calls that fail, each otherwise.
func failing(t *testing.T, g Guard, rounds string) string {
	t.Helper()
	var out strings.Builder
	for i, c := range rounds {
		r := call("run", `{"cmd":"`+string(c)+`"}`, "error: "+string(c)+"\nat line 3")
		batch := []*event.ToolResult{r}
		switch {
		case c == '~' || c == '-':
			r = call("poll", string(c), fmt.Sprintf("error: not ready, %d%%\nask again", i))
			r.Outcome = event.ToolError
			batch[0] = r
		case c == '=':
			r = call("run", `{}`, fmt.Sprintf("\r\nerror: no space left\r\nrequest %d", i))
			r.Outcome = event.ToolError
			batch[0] = r
		case c == '!':
			r.Outcome = event.Timeout
		case c == '?':
			r.Effect, r.Outcome = event.Write, event.UnknownOutcome
		case c == '3' || c == '6':
			batch = nil
			for _, x := range "uvwxyz"[6-int(c-'0'):] {
				b := call("run", `{"cmd":"`+string(x)+`"}`, "error: "+string(x))
				b.Outcome = event.ValidationFailed
				batch = append(batch, b)
			}
		case c >= 'a':
			r.Outcome = event.ToolError
		}
		var d Decision
		g, d = round(t, g, batch...)
		switch {
		case d.Stop != nil:
			if d.Stop.Reason != event.NoProgress {
				t.Fatalf("stopped for %s", d.Stop.Reason)
			}
			return out.String() + "S"
		case d.Feedback != "":
			out.WriteByte('n')
		default:
			out.WriteByte('.')
		}
	}
	return out.String()
}

func TestNoProgressThresholds(t *testing.T) {
	for _, c := range []struct{ name, rounds, want, alone string }{
		{"two equal failures are nothing", "aa", "..", ".."},
		{"nudge once at three, whichever ladder", "aaaaa", "..n..", "..n.."},
		{"stop at six", "aaaaaa", "..n..S", "..n..S"},
		{"six different failures", "abcdef", "..n..S", "......"},
		{"a success begins anew", "aaAaaaAaaa", ".....n...n", ".....n...n"},
		{"another failure begins the first ladder anew", "aabaab", "..n..S", "......"},
		{"deadline failures are passed over", "!!!!!!!!!", ".........", "........."},
		{"a timeout between is neither failure nor success", "aa!a!aaa", "...n...S", "...n...S"},
		{"polls are exempt after their first failure", "~~~~~~~~~~", "..........", ".........."},
		{"a batch may leap over the nudge", "ab3", "..n", "..."},
		{"two batches leap to the stop", "33", "nS", ".."},
		{"a batch that leaps over both is nudged before it is stopped", "6a", "nS", ".."},
		{"polls may go on by turns", "~-~-~-~-~-", "..........", ".........."},
		{"a poll among failures neither counts nor resets", "~a~b~c", "...n..", "......"},
		{"what follows the first line makes no poll", "======", "..n..S", "..n..S"},
		{"calls of unknown outcome are passed over", "?????????", ".........", "........."},
		{"one nudge is sent once, whatever comes between", "aaa!!~~!!", "..n......", "..n......"},
	} {
		if got := failing(t, one(t, "no_progress", Env{}), c.rounds); got != c.want {
			t.Errorf("%s: %s\ngot  %s\nwant %s", c.name, c.rounds, got, c.want)
		}
		if got := failing(t, one(t, "no_progress", Env{}, "any_nudge=1000", "any_abort=1000"), c.rounds); got != c.alone {
			t.Errorf("%s, without the second ladder: %s\ngot  %s\nwant %s", c.name, c.rounds, got, c.alone)
		}
	}
}

// rounds of calls by tool name: a letter is a call, '+' joins calls of one batch.
func tools(t *testing.T, g Guard, rounds ...string) string {
	t.Helper()
	var out strings.Builder
	for i, names := range rounds {
		var batch []*event.ToolResult
		for _, c := range names {
			batch = append(batch, call(string(c), strings.Repeat("x", i), "none"))
		}
		var d Decision
		g, d = round(t, g, batch...)
		switch {
		case d.Stop != nil:
			return out.String() + "S"
		case d.Feedback != "":
			out.WriteByte('n')
		default:
			out.WriteByte('.')
		}
	}
	return out.String()
}

func TestMonotonyThresholds(t *testing.T) {
	for _, c := range []struct {
		name, want string
		rounds     []string
	}{
		{"nudge at three, stop at five", "..n.S", []string{"a", "a", "a", "a", "a"}},
		{"a batch is one round", "..n.S", []string{"aa", "a", "aaa", "a", "a"}},
		{"a mixed round resets", ".....n", []string{"a", "a", "ab", "a", "a", "a"}},
		{"another tool begins its own count", "....n", []string{"a", "a", "b", "b", "b"}},
		{"mixed rounds are nothing", "......", []string{"ab", "ab", "ab", "ab", "ab", "ab"}},
	} {
		if got := tools(t, one(t, "monotony", Env{}, "nudge=3", "abort=5"), c.rounds...); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestDedupe(t *testing.T) {
	long := strings.Repeat("line of text\n", 40)
	read := func(args, raw string) *event.ToolResult { return call("read_file", args, raw) }
	write := func(o event.Outcome) *event.ToolResult {
		c := call("write_file", "{}", "written")
		c.Effect, c.Outcome = event.Write, o
		return c
	}
	external := func(o event.Outcome) *event.ToolResult {
		c := write(o)
		c.Effect = event.External
		return c
	}
	for _, c := range []struct {
		name  string
		calls []*event.ToolResult
		want  string // 'p' pointer, '.' whole
	}{
		{"a repeated read is a pointer", []*event.ToolResult{read("a", long), read("a", long), read("a", long)}, ".pp"},
		{"another read is not", []*event.ToolResult{read("a", long), read("b", long)}, ".."},
		{"a changed result is shown, then known", []*event.ToolResult{read("a", long), read("a", long+"x"), read("a", long+"x"), read("a", long)}, "..p."},
		{"a small result is shown again", []*event.ToolResult{read("a", "ok"), read("a", "ok")}, ".."},
		{"a write clears", []*event.ToolResult{read("a", long), write(event.Success), read("a", long)}, "..."},
		{"a failed write clears", []*event.ToolResult{read("a", long), write(event.ToolError), read("a", long)}, "..."},
		{"a write of unknown outcome clears", []*event.ToolResult{read("a", long), write(event.UnknownOutcome), read("a", long)}, "..."},
		{"an outside effect clears, a failed one too", []*event.ToolResult{read("a", long), external(event.ToolError), read("a", long)}, "..."},
		{"a write that was never run does not", []*event.ToolResult{read("a", long), write(event.ValidationFailed), read("a", long)}, "..p"},
	} {
		g := one(t, "dedupe", Env{})
		got := ""
		for _, r := range c.calls {
			var d Decision
			g, d = g.Step(r)
			if d.HasRewrite {
				got += "p"
				if len(d.Rewrite) >= len(r.Raw) || !strings.Contains(d.Rewrite, "turn 1") {
					t.Errorf("%s: %q", c.name, d.Rewrite)
				}
			} else {
				got += "."
			}
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	// A rewritten conversation may have lost the result; one that only grew has not.
	for _, implied := range []bool{false, true} {
		g := one(t, "dedupe", Env{})
		g, _ = g.Step(read("a", long))
		g, _ = g.Step(&event.Request{Implied: implied})
		if _, d := g.Step(read("a", long)); d.HasRewrite != implied {
			t.Errorf("request implied %v: pointed %v", implied, d.HasRewrite)
		}
	}
	// Results of exactly so many bytes are pointed to.
	for n, want := range map[int]bool{255: false, 256: true} {
		g := one(t, "dedupe", Env{})
		g, _ = g.Step(read("a", long[:n]))
		if _, d := g.Step(read("a", long[:n])); d.HasRewrite != want {
			t.Errorf("%d bytes: pointed %v", n, d.HasRewrite)
		}
	}
	// Beyond what is remembered the oldest goes.
	g := one(t, "dedupe", Env{})
	for i := range maxKnown + 1 {
		g, _ = g.Step(read(strings.Repeat("y", i), long))
	}
	if _, d := g.Step(read("", long)); d.HasRewrite {
		t.Error("the oldest read was not forgotten")
	}
	if _, d := g.Step(read("y", long)); !d.HasRewrite {
		t.Error("the second oldest read was forgotten")
	}
}
