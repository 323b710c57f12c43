package loop_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
)

// trace is every id and every wait of a run.
func trace(t *testing.T, change func(*trial)) string {
	t.Helper()
	m := answers(calls("look", "look"), unavailable(), unavailable(), calls("look"), unavailable(), say("done"))
	tr := newTrial(t, m, []tool.Tool{ok("look", event.Read, "seen")}, guard.ProfileDefault)
	change(tr)
	tr.wantEnd(t, event.Completed)
	var out []string
	for _, ev := range tr.sink.events {
		switch ev := ev.(type) {
		case *event.ToolRequest:
			out = append(out, ev.Call.ID)
		case *event.Attempt:
			out = append(out, ev.Wait.String())
		}
	}
	return strings.Join(out, " ")
}

// Ids and jitter come from seed, scenario and repetition, and from nothing else.
func TestIDsAndJitter(t *testing.T) {
	base := trace(t, func(*trial) {})
	if again := trace(t, func(*trial) {}); again != base {
		t.Errorf("two runs differ\n%s\n%s", base, again)
	}
	for name, change := range map[string]func(*trial){
		"other guards": func(tr *trial) { tr.Guards = guards(t, guard.ProfileFull, "stuck=off", "retry.attempts=9") },
		"other limits": func(tr *trial) { tr.Limits.Turns = 55 },
		"other task":   func(tr *trial) { tr.Task = "Do it now." },
	} {
		if got := trace(t, change); got != base {
			t.Errorf("%s: ids or waits moved, so that arms cannot be compared\n%s\n%s", name, base, got)
		}
	}
	seen := map[string]string{}
	for _, w := range strings.Fields(base) {
		seen[w] = "the base"
	}
	for name, change := range map[string]func(*trial){
		"another seed":       func(tr *trial) { tr.Seed++ },
		"another repetition": func(tr *trial) { tr.Repetition++ },
		"another scenario":   func(tr *trial) { tr.Scenario = "other" },
	} {
		for _, w := range strings.Fields(trace(t, change)) {
			if other, dup := seen[w]; dup {
				t.Errorf("%s: %s was seen in %s", name, w, other)
			}
			seen[w] = name
		}
	}
}

// Over many turns no id comes twice.
func TestIDsAreUnique(t *testing.T) {
	n := 0
	m := &scripted{}
	m.answer = answers(calls("look", "look", "look")).answer
	look := newTool("look", event.Read, ok("look", event.Read, "").run)
	tr := newTrial(t, m, []tool.Tool{look}, guard.ProfileNone)
	tr.Limits = guard.Backstop{Turns: 1000}
	tr.wantEnd(t, event.TurnLimit)
	seen := map[string]bool{}
	for _, q := range eventsOf[*event.ToolRequest](tr.sink) {
		n++
		if seen[q.Call.ID] || !strings.HasPrefix(q.Call.ID, "call_") || len(q.Call.ID) != 17 {
			t.Fatalf("id %q", q.Call.ID)
		}
		seen[q.Call.ID] = true
	}
	if n != 3000 {
		t.Errorf("%d calls", n)
	}
}

// dump writes a whole run, requests by their digests.
func dump(t *testing.T, tr *trial) string {
	t.Helper()
	var b strings.Builder
	tr.sink.hook = func(ev event.Event) {
		fmt.Fprintf(&b, "%+v %s", *ev.Header(), line(ev))
		switch ev := ev.(type) {
		case *event.Request:
			fmt.Fprint(&b, " ", ev.Req.Chain(), ev.Req.ParamsDigest, ev.Req.Occurrence)
		case *event.ToolRequest:
			fmt.Fprint(&b, " ", ev.Call, ev.Digest)
		case *event.ToolResult:
			fmt.Fprint(&b, " ", ev.RawDigest, ev.Took, ev.Want)
		case *event.Guard:
			fmt.Fprint(&b, " ", ev.Evidence, ev.On)
		case *event.End:
			fmt.Fprintf(&b, " %+v", *ev)
		}
		b.WriteByte('\n')
	}
	tr.run(t)
	return b.String()
}

func TestEqualRunsGiveEqualEvents(t *testing.T) {
	for seed := range uint64(100) {
		if a, b := dump(t, randomTrial(t, seed)), dump(t, randomTrial(t, seed)); a != b {
			t.Fatalf("seed %d: two runs differ\n%s\n%s", seed, a, b)
		}
	}
}

// A loop that keeps no parts, for a model that reads none, makes the same events.
func TestForgetChangesNothing(t *testing.T) {
	for seed := range uint64(50) {
		light := randomTrial(t, seed)
		light.deps.Forget = true
		if a, b := dump(t, randomTrial(t, seed)), dump(t, light); a != b {
			t.Fatalf("seed %d:\n%s\n%s", seed, a, b)
		}
		for _, a := range light.model.asked {
			kept := light.Guards.Mode("context_overflow") == guard.Enforce || light.Guards.Mode("compaction") == guard.Enforce && light.Window > 0
			if len(a.Parts) != 0 != kept || a.Count == 0 {
				t.Fatalf("seed %d: a request with %d parts of %d", seed, len(a.Parts), a.Count)
			}
		}
	}
}

// What a model sees never depends on whether a guard is in shadow or off.
func TestShadowIsInvisible(t *testing.T) {
	names := guard.Names()
	for seed := range uint64(200) {
		name := names[seed%uint64(len(names))]
		if guard.Table[guard.Lookup(name)].Stays {
			continue
		}
		chain := func(mode guard.Mode) (string, *event.End) {
			tr := randomTrial(t, seed)
			var err error
			if tr.Guards, err = tr.Guards.With(name, mode); err != nil {
				t.Fatal(err)
			}
			end := tr.run(t)
			var out []string
			for _, a := range tr.model.asked {
				out = append(out, fmt.Sprint(a.Chain(), a.ParamsDigest, a.Occurrence, a.Attempt, a.Timeout))
			}
			return strings.Join(out, "\n"), end
		}
		shadow, s := chain(guard.Shadow)
		off, o := chain(guard.Off)
		if shadow != off || s.Reason != o.Reason || s.At != o.At || s.Answer != o.Answer {
			t.Fatalf("seed %d, %s: shadow ended %+v, off %+v", seed, name, s, o)
		}
	}
}

var _ model.Model = (*scripted)(nil)
