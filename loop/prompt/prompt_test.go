package prompt_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/sim"
	"github.com/harnessbench/harnessbench/loop/prompt"
)

// talk is a conversation with its account.
type talk struct {
	book  prompt.Book
	parts []*model.Part
	calls int
}

func (t *talk) add(p *model.Part, l prompt.Layer, pin prompt.Pin) {
	t.parts = append(t.parts, p)
	t.book.Add(p, l, pin)
}

func newTalk() *talk {
	t := &talk{}
	t.add(model.NewToolPart(model.ToolSpec{Name: "look", Version: 1, Description: "Looks.", Schema: `{"type":"object"}`}), prompt.Fixed, prompt.Loose)
	t.add(model.NewTextPart(model.System, "Be brief."), prompt.Fixed, prompt.Loose)
	t.add(model.NewTextPart(model.User, "Do it."), prompt.Task, prompt.Loose)
	return t
}

// round adds an answer that calls once for each result.
func (t *talk) round(layer prompt.Layer, results ...string) {
	m := model.Message{Role: model.Assistant}
	for range results {
		t.calls++
		m.Items = append(m.Items, model.Item{Type: model.CallItem, Call: model.ToolCall{ID: fmt.Sprintf("call_%d", t.calls), Name: "look", Args: "{}"}})
	}
	if results == nil {
		m.Items = []model.Item{{Type: model.Text, Text: "Here it is."}}
	}
	t.add(model.NewMessagePart(m), prompt.Talk, prompt.Loose)
	for i, text := range results {
		t.add(model.NewResultPart(fmt.Sprintf("call_%d", t.calls-len(results)+1+i), text), layer, prompt.Loose)
	}
}

func (t *talk) say(text string, pin prompt.Pin) {
	t.add(model.NewTextPart(model.User, text), prompt.Talk, pin)
}

// apply performs a plan with a note of its own.
func (t *talk) apply(p *prompt.Plan, summary string) prompt.Applied {
	var note *model.Part
	if p.Rounds > 0 || takes(p) {
		note = prompt.Note(t.book.Stands(p), summary)
	}
	a := t.book.Apply(p, t.parts, note, summary != "")
	t.parts = append(t.parts[:a.Keep:a.Keep], a.Tail...)
	return a
}

func takes(p *prompt.Plan) bool {
	for _, e := range p.Edits {
		if e.Cut == prompt.Taken {
			return true
		}
	}
	return false
}

// valid says what is wrong with a conversation for a chat API.
func (t *talk) valid() error {
	open := map[string]bool{}
	for i, p := range t.parts {
		switch {
		case p.Message == nil:
		case p.Role == model.ToolRole:
			if !open[p.Message.CallID] {
				return fmt.Errorf("part %d: the result of %s has no call before it", i, p.Message.CallID)
			}
			delete(open, p.Message.CallID)
		default:
			if len(open) > 0 {
				return fmt.Errorf("part %d: %d calls without a result stand before it", i, len(open))
			}
			for _, it := range p.Message.Items {
				if it.Type == model.CallItem {
					open[it.Call.ID] = true
				}
			}
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%d calls without a result at the end", len(open))
	}
	return nil
}

func (t *talk) size() int64 {
	n := int64(0)
	for _, p := range t.parts {
		n += int64(p.Size)
	}
	return n
}

func text(p *model.Part) string { return model.TextOf(p.Message.Items) }

func TestShrinksTheOldestFirst(t *testing.T) {
	c := newTalk()
	for i := range 6 {
		c.round(prompt.Talk, strings.Repeat(string(rune('a'+i)), 2000))
	}
	target := c.size() - 2500 // two results' worth
	p := c.book.Plan(prompt.Rules{Target: target, Keep: 3, Summary: 1000})
	if p.Shrunk != 2 || p.Rounds != 0 || p.Documents != 0 || p.After > target {
		t.Fatalf("%+v", p)
	}
	a := c.apply(&p, "")
	if c.size() > target || c.size() != c.book.Bytes() || len(a.Fresh) != 2 || a.Keep != 4 {
		t.Errorf("%d bytes, account %d, %d new, %d kept", c.size(), c.book.Bytes(), len(a.Fresh), a.Keep)
	}
	got := text(c.parts[4])
	if want := strings.Repeat("a", 512) + "\n[shortened to fit the context window: the last 1488 bytes are gone]"; got != want {
		t.Errorf("%q", got)
	}
	if text(c.parts[8]) != strings.Repeat("c", 2000) {
		t.Error("the third result was touched")
	}
}

// What a result says of the file that holds all of it stays, also when it is
// shortened twice, and the bytes that are gone are counted from the first.
func TestSpillPathStays(t *testing.T) {
	c := newTalk()
	const line = "full output: /workspace/.harness/spill/main-1-0-look.txt"
	c.round(prompt.Documents, strings.Repeat("x", 3000)+"\n[result of 90000 bytes in 1 lines; only the first 3000 bytes are above]\n"+line+"\n[read slices of it]\n")
	p := c.book.Plan(prompt.Rules{Target: c.size() - 1000, Keep: 1})
	c.apply(&p, "")
	first := text(c.parts[4])
	if !strings.HasSuffix(first, "]\n"+line) {
		t.Fatalf("%q", first[max(len(first)-300, 0):])
	}
	for range 4 {
		c.round(prompt.Talk, "ok")
	}
	p = c.book.Plan(prompt.Rules{Target: 900, Keep: 1})
	if c.apply(&p, ""); p.Documents != 1 && p.Rounds == 0 {
		t.Fatalf("%+v", p)
	}
	if p.Rounds == 0 {
		if got := text(c.parts[4]); !strings.HasPrefix(got, "[dropped to fit the context window: 30") || !strings.HasSuffix(got, "\n"+line) {
			t.Errorf("%q", got)
		}
	}
}

// A short history with one huge result: nothing is old, and it shrinks all the
// same, as little as it takes.
func TestShortHistoryWithOneHugeResultShrinks(t *testing.T) {
	for _, summary := range []int64{0, 1000} {
		c := newTalk()
		c.round(prompt.Talk, "small", strings.Repeat("\n\"", 50_000), "small too")
		const target = 20_000
		p := c.book.Plan(prompt.Rules{Target: target, Keep: 3, Summary: summary})
		c.apply(&p, "")
		if p.Rounds != 0 || p.Shrunk != 1 || c.size() > target || c.size() < target-200 {
			t.Errorf("%+v: %d bytes", p, c.size())
		}
		if err := c.valid(); err != nil {
			t.Error(err)
		}
		if text(c.parts[4]) != "small" || text(c.parts[6]) != "small too" {
			t.Error("a small result was touched")
		}
	}
}

// Large results of the last round come down to one size.
func TestLargeResultsShare(t *testing.T) {
	c := newTalk()
	c.round(prompt.Talk, strings.Repeat("a", 30_000), strings.Repeat("b", 2000), strings.Repeat("c", 60_000))
	p := c.book.Plan(prompt.Rules{Target: 22_000, Keep: 3})
	c.apply(&p, "")
	a, b, d := len(text(c.parts[4])), len(text(c.parts[5])), len(text(c.parts[6]))
	if c.size() > 22_000 || b != 2000 || a < 9000 || a-d > 100 || d-a > 100 {
		t.Errorf("%d bytes: %d %d %d", c.size(), a, b, d)
	}
}

func TestSummaryStandsForTheMiddle(t *testing.T) {
	c := newTalk()
	for i := range 8 {
		c.round(prompt.Talk, fmt.Sprint("result ", i, strings.Repeat(" words", 120)))
	}
	c.say("pinned", prompt.Pinned)
	prefix := bytes.Join([][]byte{c.parts[0].JSON, c.parts[1].JSON, c.parts[2].JSON}, nil)
	p := c.book.Plan(prompt.Rules{Target: c.size() * 6 / 10, Keep: 3, Summary: 600})
	if p.Rounds != 5 || p.Shrunk != 0 || p.Upto != 3+5*2 {
		t.Fatalf("%+v", p)
	}
	c.apply(&p, "The first five said little.")
	if want := "[Earlier rounds of this conversation were summarised to fit the context window: 5.]\nThe first five said little."; text(c.parts[3]) != want {
		t.Errorf("%q", text(c.parts[3]))
	}
	if len(c.parts) != 3+1+3*2+1 || c.valid() != nil || text(c.parts[len(c.parts)-1]) != "pinned" {
		t.Errorf("%d parts, %v", len(c.parts), c.valid())
	}
	if now := bytes.Join([][]byte{c.parts[0].JSON, c.parts[1].JSON, c.parts[2].JSON}, nil); !bytes.Equal(now, prefix) {
		t.Error("the prefix changed")
	}
	// A second summary covers the first; without one that stays.
	for i := range 6 {
		c.round(prompt.Talk, fmt.Sprint("more ", i, strings.Repeat(" words", 120)))
	}
	whole := *c
	whole.parts = append([]*model.Part(nil), c.parts...)
	p = c.book.Plan(prompt.Rules{Target: c.size() * 6 / 10, Keep: 3, Summary: 600})
	if n := c.book.Stands(&p); n != 5+p.Rounds || p.Edits[3].Cut != prompt.Taken {
		t.Errorf("%+v stands for %d", p, n)
	}
	p = whole.book.Plan(prompt.Rules{Target: whole.size() * 6 / 10, Keep: 3})
	whole.apply(&p, "")
	if got := text(whole.parts[3]); !strings.Contains(got, "The first five") {
		t.Errorf("%q", got)
	}
	if got := text(whole.parts[4]); got != fmt.Sprintf("[Earlier rounds of this conversation were removed to fit the context window: %d. What they found has to be found again where it is needed.]", p.Rounds) {
		t.Errorf("%q", got)
	}
}

// Without a summary as few rounds go as it takes.
func TestTrimTakesNoMoreThanNeeded(t *testing.T) {
	c := newTalk()
	for i := range 10 {
		c.round(prompt.Talk, fmt.Sprint(i, strings.Repeat(" words", 100)))
	}
	target := c.size() - 2*800
	p := c.book.Plan(prompt.Rules{Target: target, Keep: 3})
	c.apply(&p, "")
	if p.Rounds < 2 || p.Rounds > 3 || c.size() > target || c.valid() != nil {
		t.Errorf("%+v: %d of %d bytes, %v", p, c.size(), target, c.valid())
	}
}

// Feedback of acceptance is pinned until the next of its kind.
func TestUnmetFeedbackIsPinned(t *testing.T) {
	c := newTalk()
	c.round(prompt.Talk)
	c.say("a is missing", prompt.Unmet)
	c.round(prompt.Talk, strings.Repeat("x", 900))
	c.round(prompt.Talk)
	c.say("b is missing", prompt.Unmet)
	for range 5 {
		c.round(prompt.Talk, strings.Repeat("y", 900))
	}
	p := c.book.Plan(prompt.Rules{Target: 2600, Keep: 2})
	c.apply(&p, "")
	all := ""
	for _, m := range c.parts[1:] {
		all += text(m) + "\n"
	}
	if strings.Contains(all, "a is missing") || !strings.Contains(all, "b is missing") || p.Rounds < 4 {
		t.Errorf("%+v\n%s", p, all)
	}
}

func TestCannot(t *testing.T) {
	c := newTalk()
	c.say(strings.Repeat("pinned ", 500), prompt.Pinned)
	c.round(prompt.Talk, "ok")
	if p := c.book.Plan(prompt.Rules{Target: 100, Keep: 3, Summary: 500}); !p.Empty() || p.After != p.Before {
		t.Errorf("%+v", p)
	}
	if p := c.book.Plan(prompt.Rules{Target: c.size(), Keep: 3}); !p.Empty() {
		t.Errorf("a conversation that fits: %+v", p)
	}
}

func TestEstimator(t *testing.T) {
	var e prompt.Estimator
	for _, tt := range []struct{ bytes, tokens int64 }{{0, 0}, {1, 1}, {4, 1}, {5, 2}, {4000, 1000}, {1 << 40, 1 << 38}} {
		if got := e.Tokens(tt.bytes); got != tt.tokens {
			t.Errorf("%d bytes: %d tokens, want %d", tt.bytes, got, tt.tokens)
		}
	}
	usage := func(in, read, write int64) model.Usage {
		return model.Usage{InputUncached: in, CacheRead: read, CacheWrite: write, Output: 1 << 30}
	}
	if got := e.Calibrate(4000, usage(500, 1000, 500)).Tokens(8000); got != 4000 {
		t.Errorf("twice as many tokens reported: %d", got)
	}
	for name, u := range map[string]model.Usage{"unknown": {InputUncached: 9000, Unknown: true}, "none": {}, "absurd": usage(1<<62, 0, 0)} {
		if got := e.Calibrate(4000, u); got != e {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if lo, hi := e.Calibrate(1<<20, usage(1, 0, 0)), e.Calibrate(1, usage(1<<20, 0, 0)); lo.Tokens(4000) != 250 || hi.Tokens(4000) != 8000 {
		t.Errorf("bounds: %d %d", lo.Tokens(4000), hi.Tokens(4000))
	}
	for range 1000 {
		e := e.Calibrate(1+rand.Int64N(1<<20), usage(rand.Int64N(1<<20), 0, 0))
		n := rand.Int64N(1 << 30)
		if e.Tokens(e.Bytes(n)) > n {
			t.Fatalf("%+v: %d bytes are more than %d tokens", e, e.Bytes(n), n)
		}
	}
}

// random makes a conversation of random shape.
func random(rnd *rand.Rand) *talk {
	c := newTalk()
	piece := func() string {
		n := []int{0, 10, 300, 1500, 6000, 12_000}[rnd.IntN(6)]
		switch rnd.IntN(5) {
		case 0:
			return strings.Repeat("\x01\n\"", n/3)
		case 1:
			return strings.Repeat("\u00e9\u2028\xff", n/6)
		case 2:
			return strings.Repeat("x", n) + "\nfull output: /workspace/.harness/spill/main-1-0-look.txt\n"
		}
		return strings.Repeat("words ", n/6)
	}
	for range rnd.IntN(25) {
		var results []string
		for range rnd.IntN(4) {
			results = append(results, piece())
		}
		c.round([]prompt.Layer{prompt.Documents, prompt.Talk}[rnd.IntN(2)], results...)
		if rnd.IntN(4) == 0 {
			c.say(piece(), []prompt.Pin{prompt.Loose, prompt.Pinned, prompt.Unmet}[rnd.IntN(3)])
		}
	}
	return c
}

func checkPlan(t *testing.T, seed uint64) (empty bool) {
	rnd := rand.New(rand.NewPCG(seed, 5))
	c := random(rnd)
	rules := prompt.Rules{Target: 200 + rnd.Int64N(c.size()+1), Keep: rnd.IntN(6)}
	summary := ""
	if rnd.IntN(2) == 0 {
		rules.Summary, summary = 512+rnd.Int64N(2000), "What was found: "+strings.Repeat("x", rnd.IntN(200))
	}
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("seed %d: %s", seed, fmt.Sprintf(format, args...))
	}
	before, old := c.size(), append([]*model.Part(nil), c.parts...)
	var pinned []*model.Part
	for i, e := range c.book.Entries() {
		if e.Layer <= prompt.Task || e.Pin != prompt.Loose {
			pinned = append(pinned, old[i])
		}
	}
	plan, again := c.book.Plan(rules), c.book.Plan(rules)
	if !reflect.DeepEqual(plan, again) {
		fail("two plans differ")
	}
	if plan.Before != before || plan.Empty() != (plan.After == before) {
		fail("%+v of %d bytes", plan, before)
	}
	shadow := prompt.Book{}
	for i, e := range c.book.Entries() { // the account alone goes the same way
		shadow.Add(old[i], e.Layer, e.Pin)
	}
	shadow.Apply(&plan, nil, nil, summary != "")
	c.apply(&plan, summary)
	switch {
	case c.size() != c.book.Bytes():
		fail("%d bytes, the account says %d", c.size(), c.book.Bytes())
	case c.size() > plan.After || plan.After > before:
		fail("%d to %d bytes, planned %d", before, c.size(), plan.After)
	case shadow.Bytes() != plan.After:
		fail("as if: %d bytes, planned %d", shadow.Bytes(), plan.After)
	}
	if err := c.valid(); err != nil {
		fail("%v", err)
	}
	at := 0
	for _, p := range c.parts {
		if at < len(pinned) && p.Digest == pinned[at].Digest {
			at++
		}
	}
	if at < len(pinned) {
		fail("pinned part %d is gone", at)
	}
	if !plan.Empty() && plan.After <= rules.Target {
		if p := c.book.Plan(rules); !p.Empty() {
			fail("there is nothing left to do, and the plan is %+v", p)
		}
	}
	for n := 0; ; n++ { // and it comes to an end
		p := c.book.Plan(rules)
		if p.Empty() {
			break
		}
		if c.apply(&p, summary); n > 20 {
			fail("no end of plans")
		}
	}
	return plan.Empty()
}

// Over random conversations and rules: afterwards it is one that a chat API takes,
// smaller by what the plan says, or nothing was done; what is pinned is there; and
// a second plan has nothing left to do.
func TestPlansAreSound(t *testing.T) {
	empty := 0
	for seed := range uint64(800) {
		if checkPlan(t, seed) {
			empty++
		}
	}
	if empty > 400 {
		t.Errorf("%d of 800 plans were empty", empty)
	}
}

func FuzzPlan(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { checkPlan(t, seed) })
}

// Simulated models know a note by its beginning, which they cannot import: what
// one of them did is told from the note that this package makes.
func TestSimulatedModelsKnowNotes(t *testing.T) {
	script, err := sim.ParseScript("oracle.yaml", []byte("facts:\n  x: {in: tool, match: 'x=(\\d)'}\nrules:\n- {id: say, need: [x], do: {say: \"It is ${x}.\"}}\nguess: [{say: No idea.}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	p, _ := sim.Lookup("sim/oracle")
	note := text(prompt.Note(2, "Known so far:\n- x: \"7\"\n"))
	for said, want := range map[string]string{note: "It is 7.", strings.TrimPrefix(note, "["): "No idea."} {
		req := model.NewRequest(model.Params{Model: "sim/oracle"}, nil, []model.Message{*model.NewTextPart(model.User, "Do it.").Message, *model.NewTextPart(model.User, said).Message})
		r, err := sim.New(p, sim.Options{Script: script}).Generate(t.Context(), req, nil)
		if err != nil || model.TextOf(r.Items) != want {
			t.Errorf("%q: %+v %v", said, r, err)
		}
	}
}

func TestMaxSummary(t *testing.T) {
	for _, tt := range []struct{ window, want int64 }{{0, 512}, {4096, 512}, {16_000, 2000}, {1 << 20, 16 << 10}} {
		if got := prompt.MaxSummary(tt.window); got != tt.want {
			t.Errorf("%d: %d", tt.window, got)
		}
	}
	if p := prompt.Note(100_000, ""); p.Size > 256 {
		t.Errorf("a note of %d bytes", p.Size)
	}
	if !prompt.IsNote(text(prompt.Note(3, "x"))) || !prompt.IsNote(text(prompt.Note(3, ""))) || prompt.IsNote("Do it.") {
		t.Error("a note is not told apart")
	}
}
