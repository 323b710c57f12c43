package sim_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/sim"
)

// chat is a conversation under test.
type chat struct {
	t      *testing.T
	script *model.Transcript
	turn   int
	limit  int
}

func newChat(t *testing.T) *chat {
	c := &chat{t: t, script: model.NewTranscript()}
	c.script.Append(model.NewTextPart(model.System, "You work in /workspace."))
	c.script.Append(model.NewTextPart(model.User, "Do the task."))
	return c
}

func (c *chat) request() *model.Request {
	parts, chains := c.script.View()
	p := model.Params{Model: "sim/x", MaxTokens: c.limit}
	return &model.Request{Params: p, ParamsDigest: p.Digest(), Parts: parts, Chains: chains, Lane: "main", Turn: c.turn}
}

// next asks, appends the answer and answers its calls with result; it returns the
// answer in short: TEXT, tool(args) and what lies between.
func (c *chat) next(m model.Model, result string) string {
	c.t.Helper()
	c.turn++
	r, err := m.Generate(context.Background(), c.request(), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	items := append([]model.Item(nil), r.Items...)
	var said []string
	for i := range items {
		if items[i].Type == model.CallItem {
			items[i].Call.ID = fmt.Sprintf("c%d.%d", c.turn, i)
			said = append(said, items[i].Call.Name+"("+items[i].Call.Args+")")
		} else {
			said = append(said, items[i].Text)
		}
	}
	c.script.Append(model.NewMessagePart(model.Message{Role: model.Assistant, Items: items}))
	for i := range items {
		if items[i].Type == model.CallItem {
			c.script.Append(model.NewResultPart(items[i].Call.ID, result))
		}
	}
	return strings.Join(said, " + ")
}

func (c *chat) say(text string) { c.script.Append(model.NewTextPart(model.User, text)) }

func (c *chat) want(got, want string) {
	c.t.Helper()
	if got != want {
		c.t.Errorf("got %q, want %q", got, want)
	}
}

func script(t testing.TB, yaml string) *sim.Script {
	t.Helper()
	s, err := sim.ParseScript("oracle.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func profile(change func(*sim.Profile)) sim.Profile {
	p, _ := sim.Lookup("oracle")
	change(&p)
	return p
}

// trap is a script with one trap of a kind at its second step.
func trap(t *testing.T, kind, more string) *sim.Script {
	return script(t, `
facts:
  found: {in: tool, from: grep, match: 'id=(\d+)'}
  wrote: {in: tool, from: put, match: 'ok'}
rules:
- {id: end, need: [wrote], do: {say: "It is ${found}."}}
- {id: put, need: [found], trap: `+kind+`, do: {tool: put, args: {v: "${found}"}}`+more+`}
- {id: look, do: {tool: grep, args: {p: id}}}
`)
}

func TestTraps(t *testing.T) {
	const put, look = `put({"v":"7"})`, `grep({"p":"id"})`
	for _, c := range []struct {
		kind, more string
		rates      sim.Rates
		closed     string // what is said while the trap is closed
		heed       string // the message that opens it; empty = the tool's result is
		result     string
	}{
		{"repeat", "", sim.Rates{Repeat: 1, Obey: 1}, look, "You made the same call again.", "id=7"},
		{"repeat", ", habit: [{tool: a}, {tool: b}]", sim.Rates{Repeat: 1, Obey: 1}, "a({}) b({})", "Now change your approach.", "nothing"},
		{"end_early", ", habit: {say: I would write it.}", sim.Rates{EndEarly: 1, Fix: 1}, "I would write it.", "The task is not done yet: x", ""},
		{"blank", "", sim.Rates{Blank: 1, Obey: 1}, "", "Attention: your last answer was empty.", ""},
		{"unknown_tool", "", sim.Rates{UnknownTool: 1, Fix: 1}, `puts({"v":"7"})`, "", `unknown tool. did you mean "put"?`},
		{"malformed", "", sim.Rates{Malformed: 1, Fix: 1}, `put({"v":"7")`, "", "the arguments are no JSON"},
		{"wrong", ", heed: check again, habit: {tool: put, args: {v: '9'}}", sim.Rates{Wrong: 1, Fix: 1}, `put({"v":"9"})`, "Please check again.", "no"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			m := sim.New(profile(func(p *sim.Profile) { p.Rates = c.rates }), sim.Options{Script: trap(t, c.kind, c.more)})
			ch := newChat(t)
			ch.want(ch.next(m, "id=7"), look)
			habits := strings.Split(c.closed, " ")
			if c.kind != "repeat" || c.more == "" {
				habits = []string{c.closed}
			}
			if c.heed != "" {
				for i := range 6 { // whatever else is said, the trap stays closed
					ch.want(ch.next(m, c.result), habits[i%len(habits)])
					ch.say("Please go on with the work.")
				}
				ch.say(c.heed)
			} else {
				ch.want(ch.next(m, "the line was busy"), c.closed)
				ch.want(ch.next(m, c.result), c.closed)
			}
			ch.want(ch.next(m, "ok"), put)
			ch.want(ch.next(m, ""), "It is 7.")
		})
	}
}

// A correction that is not heeded leaves the trap closed; the next one has a draw
// of its own, which does not depend on the request.
func TestYield(t *testing.T) {
	freed := map[int]int{}
	for seed := range uint64(400) {
		m := sim.New(profile(func(p *sim.Profile) { p.Rates = sim.Rates{Repeat: 1, Obey: .5} }), sim.Options{Script: trap(t, "repeat", ""), Seed: seed})
		ch := newChat(t)
		ch.next(m, "id=7")
		n := 0
		for ; n < 3; n++ {
			if ch.next(m, "id=7") != `grep({"p":"id"})` {
				break
			}
			ch.next(m, "id=7")
			ch.say("the same call")
		}
		freed[n]++
	}
	if freed[0] != 0 || freed[1] < 160 || freed[1] > 240 || freed[2] < 70 || freed[2] > 130 {
		t.Errorf("freed after n corrections: %v", freed)
	}
}

// Rates are met over seeds, and a profile's name is a part of the draw.
func TestRates(t *testing.T) {
	n := map[string]int{}
	for seed := range uint64(1000) {
		for _, name := range []string{"sim/a", "sim/b"} {
			m := sim.New(profile(func(p *sim.Profile) { p.Name, p.Rates.Wrong = name, .25 }),
				sim.Options{Script: trap(t, "wrong", ", habit: {tool: put, args: {v: '9'}}"), Seed: seed})
			ch := newChat(t)
			ch.next(m, "id=7")
			n[name+ch.next(m, "ok")]++
		}
	}
	a, b := n[`sim/aput({"v":"9"})`], n[`sim/bput({"v":"9"})`]
	if a < 210 || a > 290 || b < 210 || b > 290 || a == b {
		t.Errorf("%v", n)
	}
}

func TestThink(t *testing.T) {
	s := script(t, `
rules:
- {id: solve, think: 1500, max: 1, do: {tool: put}}
- {id: end, do: {say: done}}
`)
	m := sim.New(profile(func(p *sim.Profile) { p.Rates.Think = 1 }), sim.Options{Script: s})
	ch := newChat(t)
	ask := func(limit int) *model.Response {
		ch.limit = limit
		r, err := m.Generate(context.Background(), ch.request(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	cut := ask(1024)
	if len(cut.Items) != 0 || cut.Finish != model.FinishLength || cut.Usage.Output != 1024 || cut.Usage.Reasoning != 1024 {
		t.Errorf("%+v", cut)
	}
	for _, limit := range []int{2048, 0} { // 0 = the profile's 4096
		if r := ask(limit); len(r.Calls()) != 1 || r.Usage.Reasoning != 1500 || r.Usage.Output <= 1500 {
			t.Errorf("%d: %+v", limit, r)
		}
	}
	// An answer that was cut has done nothing, also when it stays in the conversation.
	ch.limit = 1024
	ch.want(ch.next(m, ""), "")
	ch.say("Attention: your last answer was empty.")
	ch.limit = 2048
	ch.want(ch.next(m, "ok"), "put({})")
	ch.want(ch.next(m, ""), "done")
	calm := sim.New(profile(func(p *sim.Profile) {}), sim.Options{Script: s})
	if r, err := calm.Generate(context.Background(), newChat(t).request(), nil); err != nil || r.Usage.Reasoning != 187 {
		t.Errorf("%+v %v", r, err)
	}
}

func TestRules(t *testing.T) {
	s := script(t, `
facts:
  a: {in: tool, from: get, match: 'a=(\w+)'}
  late: {in: tool, match: late, times: 2}
  hint: {in: user, match: 'hint (\w+)'}
  sys: {in: system, match: 'You work in (/\w+)'}
rules:
- {id: late, need: [late], max: 1, do: {say: "two late"}}
- {id: both, need: [a, hint], max: 1, do: {say: "both ${a} ${hint}", calls: [{tool: x, args: {p: "${sys}/${a}", n: 3}}, {tool: y}]}}
- {id: a, need: [a], not: [hint], max: 2, do: {tool: use, args: {q: 'say "${a}"'}}}
- {id: get, max: 1, do: {tool: get}}
guess:
- {say: one}
- {say: two}
`)
	m := sim.New(profile(func(*sim.Profile) {}), sim.Options{Script: s})
	ch := newChat(t)
	ch.want(ch.next(m, "a=one and a=two"), "get({})")
	ch.want(ch.next(m, "late a=nothing"), `use({"q":"say \"one\""})`)
	ch.want(ch.next(m, ""), `use({"q":"say \"one\""})`) // a= of another tool does not count
	ch.want(ch.next(m, ""), "one")
	ch.say("a hint here")
	ch.want(ch.next(m, "late"), `both one here + x({"n":3,"p":"/workspace/one"}) + y({})`)
	ch.want(ch.next(m, ""), "two late")
	ch.want(ch.next(m, ""), "two")
	ch.want(ch.next(m, ""), "two")
}

// A value is data: it cannot break out of the arguments.
func TestValuesAreEscaped(t *testing.T) {
	s := script(t, "facts: {v: {in: tool, match: '(?s)v=(.*)'}}\nrules:\n- {id: p, need: [v], do: {tool: put, args: {v: \"${v}\"}}}\n- {id: g, do: {tool: get}}")
	m := sim.New(profile(func(*sim.Profile) {}), sim.Options{Script: s})
	ch := newChat(t)
	ch.next(m, "v=\"}, {\"x\": \"\\\n${v}")
	ch.want(ch.next(m, ""), `put({"v":"\"}, {\"x\": \"\\\n${v}"})`)
}

func TestFaults(t *testing.T) {
	m := sim.New(profile(func(*sim.Profile) {}), sim.Options{Script: trap(t, "repeat", ""), Faults: []sim.Fault{
		{Turns: []int{2}, Attempts: []int{1}, Kind: sim.FaultRateLimit, RetryAfter: 2 * time.Second},
		{Turns: []int{2}, Attempts: []int{2}, Kind: sim.FaultServer, Status: 529},
		{Turns: []int{3}, Kind: sim.FaultTransport, Takes: time.Second},
		{Turns: []int{4}, Kind: sim.FaultHang},
		{Turns: []int{5}, Kind: sim.FaultSlow, Takes: time.Minute},
		{Turns: []int{6}, Kind: sim.FaultQuota, Message: "no credit"},
	}})
	for _, c := range []struct {
		turn, attempt int
		want          *model.Error
		slow          time.Duration
	}{
		{1, 0, nil, 0},
		{2, 0, &model.Error{Kind: model.ErrRateLimit, Status: 429, RetryAfter: 2 * time.Second, Message: "rate limit reached", Elapsed: 80 * time.Millisecond}, 0},
		{2, 1, &model.Error{Kind: model.ErrServer, Status: 529, Message: "service unavailable", Elapsed: 80 * time.Millisecond}, 0},
		{2, 2, nil, 0},
		{3, 7, &model.Error{Kind: model.ErrTransport, Message: "connection reset by peer", Elapsed: time.Second}, 0},
		{4, 0, nil, 24 * time.Hour},
		{5, 0, nil, time.Minute},
		{6, 0, &model.Error{Kind: model.ErrQuota, Status: 429, Message: "no credit", Elapsed: 80 * time.Millisecond}, 0},
	} {
		req := newChat(t).request()
		req.Turn, req.Attempt = c.turn, c.attempt
		r, err := m.Generate(context.Background(), req, nil)
		var got *model.Error
		errors.As(err, &got)
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("turn %d, attempt %d: %s", c.turn, c.attempt, d)
		}
		if err == nil && r.Elapsed-c.slow > time.Second {
			t.Errorf("turn %d: %s", c.turn, r.Elapsed)
		}
		if err == nil && r.Elapsed <= c.slow {
			t.Errorf("turn %d: %s, no time of its own", c.turn, r.Elapsed)
		}
	}
	req := newChat(t).request()
	req.Turn, req.Purpose = 3, model.ForFinalSynthesis
	if r, err := m.Generate(context.Background(), req, nil); err != nil || len(r.Calls()) > 0 {
		t.Errorf("final synthesis: %+v %v", r, err)
	}
}

func TestWindowAndUsage(t *testing.T) {
	s := trap(t, "repeat", "")
	m := sim.New(profile(func(*sim.Profile) {}), sim.Options{Script: s, Window: 300})
	ch := newChat(t)
	ch.next(m, "id=7 "+strings.Repeat("x", 400))
	parts, _ := ch.script.View()
	var all, before int64
	for i, p := range parts {
		if i < 2 {
			before += int64(p.Size)
		}
		all += int64(p.Size)
	}
	r, err := m.Generate(context.Background(), ch.request(), nil)
	if err != nil {
		t.Fatal(err)
	}
	read, in := (before+3)/4, (all+3)/4
	if r.Usage.CacheRead != read || r.Usage.InputUncached != in-read || r.Usage.Output < 5 || r.Usage.CacheWrite != 0 {
		t.Errorf("%+v; %d of %d tokens are known", r.Usage, read, in)
	}
	if want := 400*time.Millisecond + time.Duration(r.Usage.Output)*10*time.Millisecond; r.Elapsed != want {
		t.Errorf("%s, want %s", r.Elapsed, want)
	}
	ch.say(strings.Repeat("y", 1200))
	_, err = m.Generate(context.Background(), ch.request(), nil)
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != model.ErrContextOverflow || e.Status != 400 {
		t.Error(err)
	}
}

func TestPlain(t *testing.T) {
	m := sim.New(profile(func(*sim.Profile) {}), sim.Options{})
	var deltas []model.Delta
	r, err := m.Generate(context.Background(), newChat(t).request(), func(d model.Delta) { deltas = append(deltas, d) })
	if err != nil || len(r.Items) != 1 || r.Model != "sim/oracle" || m.ID() != "sim/oracle" || r.Finish != model.FinishStop {
		t.Errorf("%+v %v", r, err)
	}
	if len(deltas) != 1 || deltas[0].Text != r.Items[0].Text {
		t.Errorf("%+v", deltas)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := m.Generate(ctx, newChat(t).request(), nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// long is a conversation of n turns under a looping model, and its model.
func long(t testing.TB, n int) (*model.Transcript, []int, sim.Profile, sim.Options) {
	p, _ := sim.Lookup("sim/weak")
	p.Rates.Transport, p.Rates.RateLimit = 0, 0
	o := sim.Options{Seed: 5, Script: script(t, `
facts:
  n: {in: tool, from: next, match: 'n=(\d+)'}
  seven: {in: tool, match: 'n=\d*7\b', times: 3}
rules:
- {id: seven, need: [seven], max: 2, trap: unknown_tool, do: {tool: done, args: {n: "${n}"}}}
- {id: three, need: [n], trap: repeat, max: 40, do: {calls: [{tool: next}, {tool: look, args: {at: "${n}"}}]}}
- {id: next, do: {say: "Next.", tool: next}}
`)}
	m := sim.New(p, o)
	tr := model.NewTranscript()
	tr.Append(model.NewTextPart(model.User, "Count."))
	var turns []int // parts before each turn
	for turn := range n {
		turns = append(turns, tr.Len())
		parts, chains := tr.View()
		r, err := m.Generate(context.Background(), &model.Request{Parts: parts, Chains: chains, Turn: turn + 1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		items := append([]model.Item(nil), r.Items...)
		for i := range items {
			items[i].Call.ID = fmt.Sprintf("c%d.%d", turn, i)
		}
		tr.Append(model.NewMessagePart(model.Message{Role: model.Assistant, Items: items}))
		for i := range items {
			if items[i].Type == model.CallItem {
				text := fmt.Sprintf("n=%d", turn)
				if items[i].Call.Name == "dones" {
					text = "did you mean done?"
				}
				tr.Append(model.NewResultPart(items[i].Call.ID, text))
			}
		}
		if turn%5 == 4 {
			tr.Append(model.NewTextPart(model.User, "You made the same call; change your approach."))
		}
	}
	return tr, turns, p, o
}

// The same request has the same answer: from an instance that saw the
// conversation grow, from one that sees it for the first time, from one that sees
// the turns backwards, and from many goroutines at once.
func TestPure(t *testing.T) {
	tr, turns, p, o := long(t, 120)
	parts, chains := tr.View()
	ask := func(m model.Model, turn int) *model.Response {
		n := turns[turn]
		r, err := m.Generate(context.Background(), &model.Request{Parts: parts[:n:n], Chains: chains[: n+1 : n+1], Turn: turn + 1}, nil)
		if err != nil {
			t.Error(err)
		}
		return r
	}
	warm, shared := sim.New(p, o), sim.New(p, o)
	answers := make([]*model.Response, len(turns))
	kinds := map[string]bool{}
	for i := range turns {
		answers[i] = ask(warm, i)
		kinds[fmt.Sprint(answers[i].Items)] = true
	}
	if len(kinds) < 20 {
		t.Errorf("only %d different answers: the test says little", len(kinds))
	}
	var wg sync.WaitGroup
	for i := len(turns) - 1; i >= 0; i-- {
		if d := cmp.Diff(answers[i], ask(sim.New(p, o), i)); d != "" {
			t.Fatalf("turn %d, fresh: %s", i+1, d)
		}
		if d := cmp.Diff(answers[i], ask(warm, i)); d != "" {
			t.Fatalf("turn %d, backwards: %s", i+1, d)
		}
		wg.Go(func() {
			if d := cmp.Diff(answers[i], ask(shared, i)); d != "" {
				t.Errorf("turn %d, concurrent: %s", i+1, d)
			}
		})
	}
	wg.Wait()
}

// BenchmarkTurn is the cost of one turn of a growing conversation, after 10 and
// after 1,000 turns.
func BenchmarkTurn(b *testing.B) {
	for _, at := range []int{10, 1000} {
		b.Run(fmt.Sprint(at), func(b *testing.B) {
			tr, turns, p, o := long(b, at+1)
			parts, chains := tr.View()
			var m *sim.Model
			n := turns[at-1]
			first := &model.Request{Parts: parts[:n:n], Chains: chains[: n+1 : n+1], Turn: at}
			b.ReportAllocs()
			for i := range b.N {
				// A last part that no request had before: the fold of this turn is new.
				b.StopTimer()
				tail := model.NewTextPart(model.User, fmt.Sprint("go on ", i))
				ps := append(append([]*model.Part(nil), parts[:turns[at]]...), tail)
				cs := append(append([]model.Digest(nil), chains[:turns[at]+1]...), model.Chain(chains[turns[at]], tail))
				req := &model.Request{Parts: ps, Chains: cs, Turn: at + 1}
				if i%16 == 0 { // before the cache forgets where this began
					m = sim.New(p, o)
					if _, err := m.Generate(context.Background(), first, nil); err != nil {
						b.Fatal(err)
					}
				}
				b.StartTimer()
				if _, err := m.Generate(context.Background(), req, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
