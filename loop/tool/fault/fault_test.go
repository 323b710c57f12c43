package fault_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
	"github.com/harnessbench/harnessbench/loop/tool/builtin"
	"github.com/harnessbench/harnessbench/loop/tool/fault"
	"github.com/harnessbench/harnessbench/loop/tool/mock"
	"github.com/harnessbench/harnessbench/loop/workspace"
)

// observed runs operations and keeps what came of them, by their place.
type observed struct {
	tool.Runner
	mu   *sync.Mutex
	gave map[string]model.Digest
}

func observe(r tool.Runner) observed { return observed{r, &sync.Mutex{}, map[string]model.Digest{}} }

func place(name string, nth int) string { return fmt.Sprintf("%s/%d", name, nth) }

func (o observed) Run(ctx context.Context, op *tool.Op) tool.Result {
	res := o.Runner.Run(ctx, op)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.gave[place(op.Name, op.Nth)] = fault.Digest(res)
	return res
}

// plain answers with the operation's number; its texts are of many lengths.
type plain struct{ took time.Duration }

func (p plain) Run(ctx context.Context, op *tool.Op) tool.Result {
	if ctx.Err() != nil {
		return tool.Result{Outcome: event.Cancelled, Text: "cancelled"}
	}
	return tool.Result{Outcome: event.Success, Took: p.took, Text: strings.Repeat("\u00e9", op.Nth%5) + fmt.Sprint(op.Nth)[:op.Nth%2],
		Delta: []event.Delta{{Op: "write", Path: "a"}}}
}

func runner(t testing.TB, r tool.Runner, o fault.Options, faults ...fault.Fault) *fault.Runner {
	t.Helper()
	w, err := fault.NewRunner(r, map[string][]fault.Fault{"look": faults, "act": faults}, o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func op(name string, nth int) *tool.Op {
	return &tool.Op{Lane: "main", Turn: 1 + nth/3, Index: nth % 3, Name: name, Nth: nth, Args: "{}"}
}

// text is a tool that says one thing.
type text string

func (s text) Run(context.Context, *tool.Op) tool.Result {
	return tool.Result{Outcome: event.Success, Text: string(s), Took: time.Second}
}

func TestEveryKind(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		fault fault.Fault
		want  tool.Result
	}{
		"error":        {fault.Fault{Kind: fault.Error}, tool.Result{Outcome: event.ToolError, Text: "look: internal error", Took: time.Millisecond}},
		"error text":   {fault.Fault{Kind: fault.Error, Text: "E42", Takes: 60 * s}, tool.Result{Outcome: event.ToolError, Text: "E42", Took: 60 * s}},
		"flaky":        {fault.Fault{Kind: fault.Flaky, P: 1}, tool.Result{Outcome: event.ToolError, Text: "look: temporarily unavailable, try again", Took: time.Millisecond}},
		"hang":         {fault.Fault{Kind: fault.Hang}, tool.Result{Outcome: event.ToolError, Text: "look: no answer", Took: fault.HangFor}},
		"truncate":     {fault.Fault{Kind: fault.Truncate}, tool.Result{Outcome: event.Success, Text: "ab", Took: s}},
		"truncate 3":   {fault.Fault{Kind: fault.Truncate, Bytes: 3, Takes: s}, tool.Result{Outcome: event.Success, Text: "ab", Took: 2 * s}},
		"malformed":    {fault.Fault{Kind: fault.Malformed}, tool.Result{Outcome: event.Success, Text: "ab\uFFFD\uFFFD\uFFFD", Took: s}},
		"malformed as": {fault.Fault{Kind: fault.Malformed, Text: "{"}, tool.Result{Outcome: event.Success, Text: "{", Took: s}},
		"slow":         {fault.Fault{Kind: fault.Slow}, tool.Result{Outcome: event.Success, Text: "ab\u00e9d", Took: 31 * s}},
		"slow takes":   {fault.Fault{Kind: fault.Slow, Takes: time.Hour}, tool.Result{Outcome: event.Success, Text: "ab\u00e9d", Took: time.Hour + s}},
	} {
		c.fault.AtCall = []int{2, 4}
		r := runner(t, text("ab\u00e9d"), fault.Options{}, c.fault)
		well := tool.Result{Outcome: event.Success, Text: "ab\u00e9d", Took: s}
		for nth, want := range []tool.Result{well, c.want, well, c.want, well} {
			if diff := cmp.Diff(want, r.Run(t.Context(), op("look", nth))); diff != "" {
				t.Errorf("%s, call %d (-want +got):\n%s", name, nth+1, diff)
			}
		}
	}
	if r := runner(t, text("x"), fault.Options{}, fault.Fault{Kind: fault.Error}); r.Run(t.Context(), op("other", 0)).Text != "x" {
		t.Error("a tool without faults was struck")
	}
	if len(fault.Kinds()) != 6 || !slices.IsSorted(fault.Kinds()) {
		t.Errorf("%q", fault.Kinds())
	}
}

// Every reported injection is what an observer saw, and nothing else was changed.
func TestInjectionsAreProved(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	kinds, struck := fault.Kinds(), map[fault.Kind]int{}
	for range 200 {
		var faults []fault.Fault
		for range 1 + rnd.IntN(4) {
			f := fault.Fault{Kind: kinds[rnd.IntN(len(kinds))], Takes: time.Duration(rnd.IntN(2)) * time.Minute}
			for range rnd.IntN(5) {
				f.AtCall = append(f.AtCall, 1+rnd.IntN(30))
			}
			faults = append(faults, f)
		}
		var log fault.Log
		inner := observe(plain{time.Second})
		outer := observe(runner(t, inner, fault.Options{Seed: rnd.Uint64(), Log: &log}, faults...))
		var wg sync.WaitGroup
		for _, name := range []string{"look", "act", "other"} {
			wg.Go(func() {
				for nth := 29; nth >= 0; nth-- {
					outer.Run(context.Background(), op(name, nth))
				}
			})
		}
		wg.Wait()
		injected := map[string]bool{}
		for i, in := range log.Injections() {
			at := place(in.Tool, in.Nth)
			was, ran := inner.gave[at]
			switch {
			case injected[at]:
				t.Fatalf("%s is reported twice", at)
			case in.Ran != ran || in.Was != was || in.Gave != outer.gave[at]:
				t.Fatalf("%+v, but the tool was run: %v, gave %s, and the caller got %s", in, ran, was, outer.gave[at])
			case in.Gave == in.Was:
				t.Fatalf("%+v changed nothing", in)
			case in.Kind != faults[in.Fault].Kind:
				t.Fatalf("%+v is not fault %+v", in, faults[in.Fault])
			}
			if i > 0 {
				if last := log.Injections()[i-1]; in.Turn < last.Turn || in.Turn == last.Turn && in.Index < last.Index {
					t.Fatalf("%+v after %+v", in, last)
				}
			}
			injected[at] = true
			struck[in.Kind]++
		}
		for at, gave := range outer.gave {
			if !injected[at] && gave != inner.gave[at] {
				t.Fatalf("%s was changed and is not reported", at)
			}
		}
	}
	for _, k := range kinds {
		if struck[k] == 0 {
			t.Errorf("%s never struck: %v", k, struck)
		}
	}
}

// A text is never cut within a character.
func TestCut(t *testing.T) {
	const s = "a\u00e9\u20ac\U0001F600z"
	for n := range len(s) + 2 {
		if got := fault.Cut(s, n); !utf8.ValidString(got) || len(got) > n || !strings.HasPrefix(s, got) || n < len(s) && len(got) < n-3 {
			t.Errorf("%d bytes: %q", n, got)
		}
	}
}

// What strikes a call depends on its number alone.
func TestWrapperCountsNothing(t *testing.T) {
	o := fault.Options{Seed: 3}
	history := func(first int, o fault.Options) string {
		r, b := runner(t, plain{}, o, fault.Fault{Kind: fault.Flaky, P: 0.3, Text: "no"}), strings.Builder{}
		for nth := 999; nth >= first; nth-- {
			b.WriteString(string(r.Run(t.Context(), op("look", nth)).Outcome[:1]))
		}
		return b.String()
	}
	whole := history(0, o)
	if !strings.HasPrefix(whole, history(500, o)) {
		t.Error("what comes after a served prefix is another")
	}
	if history(0, fault.Options{Seed: 4}) == whole {
		t.Error("two seeds agree")
	}
	if got := float64(strings.Count(whole, "t")) / 1000; math.Abs(got-0.3) > 0.05 {
		t.Errorf("rate %v, want 0.3", got)
	}
}

// With Wait a call takes real time, as long as its context lasts. What a cut call
// changed stands.
func TestWaits(t *testing.T) {
	const s = time.Second
	changed := []event.Delta{{Op: "write", Path: "a"}}
	for name, c := range map[string]struct {
		f           fault.Fault
		inner       tool.Runner
		limit, took time.Duration
		cancelled   bool
		want        tool.Result
	}{
		"slow":            {f: fault.Fault{Kind: fault.Slow, Takes: 3 * s}, took: 3 * s, want: tool.Result{Outcome: event.Success, Delta: changed}},
		"slow, cut":       {f: fault.Fault{Kind: fault.Slow}, limit: 9 * s, took: 9 * s, want: tool.Result{Outcome: event.Timeout, Text: "no answer in time", Delta: changed}},
		"hang, cut":       {f: fault.Fault{Kind: fault.Hang}, limit: 9 * s, took: 9 * s, want: tool.Result{Outcome: event.Timeout, Text: "no answer in time"}},
		"hang":            {f: fault.Fault{Kind: fault.Hang}, took: fault.HangFor, want: tool.Result{Outcome: event.ToolError, Text: "look: no answer"}},
		"hang, cancelled": {f: fault.Fault{Kind: fault.Hang}, limit: 9 * s, took: 9 * s, cancelled: true, want: tool.Result{Outcome: event.Cancelled, Text: "cancelled"}},
		"error":           {f: fault.Fault{Kind: fault.Error}, want: tool.Result{Outcome: event.ToolError, Text: "look: internal error"}},
		"late error":      {f: fault.Fault{Kind: fault.Error, Takes: s}, took: s, want: tool.Result{Outcome: event.ToolError, Text: "look: internal error"}},
		"declared":        {f: fault.Fault{Kind: fault.Slow}, inner: declares{}, want: tool.Result{Outcome: event.Success, Took: 31 * s, Declared: true}},
	} {
		synctest.Test(t, func(t *testing.T) {
			if c.inner == nil {
				c.inner = plain{}
			}
			var log fault.Log
			r := runner(t, c.inner, fault.Options{Wait: true, Log: &log}, c.f)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			switch {
			case c.cancelled:
				time.AfterFunc(c.limit, cancel)
			case c.limit > 0:
				var stop context.CancelFunc
				ctx, stop = context.WithTimeout(ctx, c.limit)
				defer stop()
			}
			began := time.Now()
			got := r.Run(ctx, op("look", 0))
			if took := time.Since(began); took != c.took {
				t.Errorf("%s: took %v, want %v", name, took, c.took)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
			if ins := log.Injections(); len(ins) != 1 || ins[0].Gave != fault.Digest(got) {
				t.Errorf("%s: %+v", name, ins)
			}
			if res := r.Run(ctx, op("look", 0)); ctx.Err() != nil && res.Outcome != event.Cancelled && res.Outcome != event.Timeout {
				t.Errorf("%s: made after its context ended: %+v", name, res)
			}
		})
	}
}

type declares struct{}

func (declares) Run(context.Context, *tool.Op) tool.Result {
	return tool.Result{Outcome: event.Success, Took: time.Second, Declared: true}
}

// A wrapped tool describes itself as it is, and a write that an error takes the
// place of is not made.
func TestTool(t *testing.T) {
	ws, err := workspace.NewMem(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var list []tool.Tool
	for _, b := range builtin.Tools(ws) {
		w, err := fault.New(b, []fault.Fault{{Kind: fault.Error, AtCall: []int{1}}}, fault.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if w.Spec() != b.Spec() {
			t.Errorf("%+v, wrapped %+v", b.Spec(), w.Spec())
		}
		list = append(list, w)
	}
	set, err := tool.NewSet(list...)
	if err != nil {
		t.Fatal(err)
	}
	p := set.Prepare(model.ToolCall{Name: "write_file", Args: `{"path":"./x/../a.txt","content":"hi"}`})
	if p.Problem != event.NoProblem || !slices.Equal(p.Resources, []string{"/workspace/a.txt"}) {
		t.Fatalf("%+v", p)
	}
	for nth, want := range []event.Outcome{event.ToolError, event.Success} {
		res := set.Run(t.Context(), &tool.Op{Name: "write_file", Args: p.Args, Nth: nth})
		if _, err := ws.Stat("a.txt"); res.Outcome != want || (err == nil) != (want == event.Success) {
			t.Errorf("call %d: %+v, file: %v", nth+1, res, err)
		}
	}
}

// A mock tool meets faults of its own as one under a wrapper does, but for the time
// that a call takes which is not made, or slow: a mock declares all of it.
func TestMocksAgree(t *testing.T) {
	for _, kind := range fault.Kinds() {
		spec := mock.Spec{Name: "look", Effect: event.Read, Responses: []mock.Response{{Text: "ab\u00e9d"}}}
		bare, err := mock.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		spec.Faults = []mock.Fault{{Kind: kind}}
		own, err := mock.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		r := runner(t, bare.With(5, nil), fault.Options{Seed: 5}, spec.Faults...)
		for nth := range 20 {
			a, b := own.With(5, nil).Run(t.Context(), op("look", nth)), r.Run(t.Context(), op("look", nth))
			if a.Outcome != b.Outcome || a.Text != b.Text || (a.Took >= fault.SlowTakes) != (b.Took >= fault.SlowTakes) {
				t.Errorf("%s: %+v, wrapped %+v", kind, a, b)
			}
		}
	}
}

func TestNewRefuses(t *testing.T) {
	_, err := fault.NewRunner(text(""), map[string][]fault.Fault{"look": {{Kind: fault.Error}, {Kind: "x"}}}, fault.Options{})
	if err == nil || !strings.HasPrefix(err.Error(), `tool "look": fault 2: kind "x": want `) {
		t.Error(err)
	}
}
