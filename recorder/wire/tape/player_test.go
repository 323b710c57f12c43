package tape

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/recorder/wire/canon"
	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
	"github.com/harnessbench/harnessbench/replayer"
)

// play asks requests until one misses.
func play(t testing.TB, p *Player, hint string, requests ...*canon.Request) *Miss {
	t.Helper()
	for _, r := range requests {
		if _, miss := p.Ask(hint, r); miss != nil {
			return miss
		}
	}
	return nil
}

func requests(t testing.TB, list []*chat) (out []*canon.Request) {
	for _, c := range list {
		out = append(out, ask(t, c.body()))
	}
	return out
}

func TestExact(t *testing.T) {
	p := NewPlayer(recorded(t, 4))
	for i, r := range requests(t, talk("Do it.", 4)) {
		x, miss := p.Ask("", r)
		if miss != nil {
			t.Fatal(miss)
		}
		if got := string(x.AnswerBody()); got != answerTo(i+1) || x.Frames[0].At != 1500*time.Microsecond {
			t.Errorf("turn %d was answered %s", i+1, got)
		}
	}
	if r := p.Report(); r.Verdict != replayer.Exact || r.Served != 4 || r.Unused != 0 || r.Reason != "" {
		t.Errorf("%+v", r)
	}
}

// TestDivergence changes one thing at a time in the third of four turns.
func TestDivergence(t *testing.T) {
	long := strings.Repeat("a line of a long text\n", 500)
	tests := []struct {
		name                      string
		code                      replayer.Code
		change                    func(list []*chat) // all turns of the client
		lane                      string
		turn, part                int // part -1 = none
		pointer, recorded, actual string
		note                      string // within it
	}{
		{"system prompt", replayer.CodeSystemPrompt, func(l []*chat) { edit(l, func(c *chat) { c.system = "Be long." }) },
			"main", 1, 1, "/messages/0/content/0/text", "Be brief.", "Be long.", "no recorded conversation begins like this one"},
		{"tool description", replayer.CodeToolSpec, func(l []*chat) { edit(l, func(c *chat) { c.tool = "Reads." }) },
			"main", 1, 0, "/tools/0/function/description", "Reads a file.", "Reads.", ""},
		{"param", replayer.CodeParams, func(l []*chat) { l[2].extra = `,"max_tokens":5` },
			"main", 3, -1, "/max_tokens", "nothing", "5", ""},
		{"other model", replayer.CodeParams, func(l []*chat) { l[2].model = "n" },
			"main", 3, -1, "/model", "m", "n", ""},
		{"stream", replayer.CodeWireStream, func(l []*chat) { l[2].extra = `,"stream":true` },
			"main", 3, -1, "/stream", "false", "true", ""},
		{"extra message", replayer.CodeConversation, func(l []*chat) { l[2].messages = append(l[2].messages, said("user", "More.")) },
			"main", 3, 7, "/messages/6", "nothing", `{"content":[{"text":"More.","type":"text"}],"role":"user"}`, "7 parts were recorded, now there are 8"},
		{"missing message", replayer.CodeConversation, func(l []*chat) { l[2].messages = l[2].messages[:4] },
			"main", 3, 6, "/messages/5", `{"content":[{"text":"And then, 2?","type":"text"}],"role":"user"}`, "nothing", ""},
		{"reordered", replayer.CodeConversation, func(l []*chat) { m := l[2].messages; m[3], m[4] = m[4], m[3] },
			"main", 3, 5, "/messages/4/content/0/text", "Answer 2.", "And then, 2?", "the recorded message is by assistant, this one by user"},
		{"text and param", replayer.CodeMessage, func(l []*chat) { l[2].messages[4] = said("user", "Why?"); l[2].model = "n" },
			"main", 3, 6, "/messages/5/content/0/text", "And then, 2?", "Why?", "params differ too, at /model: recorded m, now n"},
		{"asked again", replayer.CodeWireAgain, func(l []*chat) { *l[2] = *l[1] },
			"main", 3, 5, "/messages/4", `{"content":[{"text":"Answer 2.","type":"text"}],"role":"assistant"}`, "nothing", "an equal request was recorded once, and is used up"},
		{"asked again, streamed", replayer.CodeWireAgain, func(l []*chat) { again := *l[1]; again.extra = `,"stream":true`; l[2] = &again },
			"main", 3, 5, "/messages/4", `{"content":[{"text":"Answer 2.","type":"text"}],"role":"assistant"}`, "nothing", "a request equal but for stream was recorded once, and is used up"},
		{"long text", replayer.CodeMessage, func(l []*chat) { l[2].messages[4] = said("user", long+"end") },
			"main", 3, 6, "/messages/5/content/0/text", "And then, 2?", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := NewPlayer(recorded(t, 4))
			list := talk("Do it.", 4)
			tt.change(list)
			miss := play(t, p, "", requests(t, list)...)
			if miss == nil {
				t.Fatal("it was served")
			}
			d := miss.Divergence
			part := -1
			if d.Part != nil {
				part = *d.Part
			}
			if miss.Verdict != replayer.Diverged || d.Code != tt.code || d.Lane != tt.lane || d.Turn != tt.turn || part != tt.part || d.Pointer != tt.pointer || d.Recorded != tt.recorded {
				t.Errorf("%s: %+v, part %d", miss.Verdict, d, part)
			}
			if tt.actual != "" && d.Actual != tt.actual {
				t.Errorf("actual %q, want %q", d.Actual, tt.actual)
			}
			if used := strings.Contains(d.Note, "used up"); used != strings.Contains(tt.note, "used up") {
				t.Errorf("note %q", d.Note)
			}
			if !strings.Contains(d.Note, tt.note) {
				t.Errorf("note %q, want %q", d.Note, tt.note)
			}
			if len(miss.Message) > 4000 || !strings.Contains(miss.Message, tt.pointer) || !strings.Contains(miss.Message, d.Show) {
				t.Errorf("message: %s", miss.Message)
			}
		})
	}
}

// TestGaps: what is missing has the place where it would stand.
func TestGaps(t *testing.T) {
	tests := []struct {
		name             string
		api              dialect.API
		recorded, actual string
		part             int
		pointer          string
		lacks            bool // the client lacks what was recorded; else it has more
	}{
		{"a tool less", dialect.Chat, `{"model":"m","tools":[{"name":"a"},{"name":"b"}],"messages":[{"role":"user","content":"x"}]}`,
			`{"model":"m","tools":[{"name":"a"}],"messages":[{"role":"user","content":"x"}]}`, 1, "/tools/1", true},
		{"a tool more", dialect.Chat, `{"model":"m","tools":[{"name":"a"}],"messages":[{"role":"user","content":"x"}]}`,
			`{"model":"m","tools":[{"name":"a"},{"name":"b"}],"messages":[{"role":"user","content":"x"}]}`, 1, "/tools/1", false},
		{"chat without system", dialect.Chat, `{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"x"}]}`,
			`{"model":"m","messages":[{"role":"user","content":"x"}]}`, 0, "/messages/0", true},
		{"messages without system", dialect.Messages, `{"model":"m","system":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"messages":[{"role":"user","content":"x"}]}`,
			`{"model":"m","system":[{"type":"text","text":"a"}],"messages":[{"role":"user","content":"x"}]}`, 1, "/system/1", true},
		{"responses without instructions", dialect.Responses, `{"model":"m","instructions":"i","input":"x"}`, `{"model":"m","input":"x"}`, 0, "/instructions", true},
		{"responses, one item less", dialect.Responses, `{"model":"m","input":[{"role":"user","content":"x"},{"role":"user","content":"y"}]}`, `{"model":"m","input":"x"}`, 1, "/input/1", true},
		{"chat, one message less", dialect.Chat, `{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"x"},{"role":"user","content":"y"}]}`,
			`{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"x"}]}`, 2, "/messages/2", true},
	}
	for _, tt := range tests {
		parse := func(body string) *canon.Request {
			r, err := canon.Parse(tt.api, []byte(body), canon.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		b := newBench(t, Head{})
		b.pass("", parse(tt.recorded), answerTo(1))
		d := play(t, NewPlayer(b.tape()), "", parse(tt.actual)).Divergence
		if d.Part == nil || *d.Part != tt.part || d.Pointer != tt.pointer || (d.Actual == "nothing") != tt.lacks || (d.Recorded == "nothing") == tt.lacks {
			t.Errorf("%s: %+v", tt.name, d)
		}
	}
}

func edit(list []*chat, fn func(*chat)) {
	for _, c := range list {
		fn(c)
	}
}

// TestLongText: of two long texts the lines that differ are shown.
func TestLongText(t *testing.T) {
	lines := make([]string, 400)
	for i := range lines {
		lines[i] = fmt.Sprintf("line %d of a text of ten kilobytes", i)
	}
	c := newChat(strings.Join(lines, "\n"))
	b := newBench(t, Head{})
	b.pass("", ask(t, c.body()), answerTo(1))
	lines[200] = "something else"
	d := play(t, NewPlayer(b.tape()), "", ask(t, newChat(strings.Join(lines, "\n")).body())).Divergence
	want := "  line 199 of a text of ten kilobytes\n- line 200 of a text of ten kilobytes\n+ something else\n"
	if d.Diff != want {
		t.Errorf("diff:\n%s", d.Diff)
	}
}

func TestPoisoned(t *testing.T) {
	p := NewPlayer(recorded(t, 3))
	list := requests(t, talk("Do it.", 3))
	first := play(t, p, "", ask(t, newChat("Else.").body()))
	for _, r := range list {
		if x, miss := p.Ask("", r); x != nil || miss != first {
			t.Errorf("served after a miss: %v", x)
		}
	}
	if r := p.Report(); r.Verdict != replayer.Diverged || r.Served != 0 {
		t.Errorf("%+v", r)
	}
}

func TestRefuse(t *testing.T) {
	p := NewPlayer(recorded(t, 1))
	first := p.Refuse("/messages", "is missing")
	if miss := play(t, p, "", requests(t, talk("Do it.", 1))...); miss != first || !strings.Contains(first.Message, "/messages") {
		t.Errorf("%+v", miss)
	}
	if r := p.Report(); r.Verdict != replayer.Diverged || r.Code != replayer.CodeWireUnreadable {
		t.Errorf("%+v", r)
	}
}

func TestExhausted(t *testing.T) {
	p := NewPlayer(recorded(t, 2))
	miss := play(t, p, "", requests(t, talk("Do it.", 3))...)
	if miss == nil || miss.Verdict != replayer.Exhausted || miss.Divergence.Code != replayer.CodeExhausted || miss.Divergence.Lane != "main" || miss.Divergence.Turn != 3 {
		t.Fatalf("%+v", miss)
	}
	p = NewPlayer(recorded(t, 1))
	miss = play(t, p, "", append(requests(t, talk("Do it.", 1)), ask(t, newChat("A new one.").body()))...)
	if miss == nil || miss.Verdict != replayer.Exhausted || miss.Divergence.Lane != "lane-2" || miss.Divergence.Turn != 1 {
		t.Fatalf("%+v", miss)
	}
}

func TestUnusedAndNoop(t *testing.T) {
	p := NewPlayer(recorded(t, 15))
	if r := p.Report(); r.Verdict != replayer.Noop || r.Verdict.Exit() != 3 {
		t.Errorf("%+v", r)
	}
	play(t, p, "", requests(t, talk("Do it.", 2))...)
	r := p.Report()
	if r.Verdict != replayer.Unused || r.Unused != 13 || len(r.Missing) != maxMissing || r.Verdict.Exit() != 1 {
		t.Errorf("%+v", r)
	}
	if m := r.Missing[0]; m.Lane != "main" || m.Turn != 3 || !strings.Contains(m.What, "And then, 2?") {
		t.Errorf("%+v", m)
	}
	if b, err := json.Marshal(r); err != nil || !strings.HasPrefix(string(b), `{"schema":"harnessbench/wire-replay/v1"`) {
		t.Errorf("%s, %v", b, err)
	}
}

func TestRetry(t *testing.T) {
	b := newBench(t, Head{})
	various(t, b)
	p := NewPlayer(b.tape())
	main := talk("Do it.", 3)
	main[1].extra = `,"stream":true`
	for i, want := range []struct{ turn, attempt, status int }{{1, 0, 429}, {1, 1, 200}, {2, 0, 200}, {3, 0, 200}, {3, 1, 0}} {
		x, miss := p.Ask("other-hint", ask(t, main[want.turn-1].body()))
		if miss != nil {
			t.Fatal(miss)
		}
		if x.Turn != want.turn || x.Attempt != want.attempt || x.Status != want.status {
			t.Errorf("request %d was answered by turn %d, attempt %d, status %d", i, x.Turn, x.Attempt, x.Status)
		}
	}
	if r := p.Report(); r.Verdict != replayer.Unused || r.Unused != 3 || r.Lanes[1].Unused != 1 {
		t.Errorf("%+v", r)
	}
}

// TestConcurrent asks equal requests from many goroutines: each recorded answer
// is served once.
func TestConcurrent(t *testing.T) {
	const n = 40
	b := newBench(t, Head{})
	body := newChat("Do it.").body()
	var wg sync.WaitGroup
	for i := range n {
		r := ask(t, body)
		wg.Go(func() {
			if err := b.Add(fill(b.Begin("", r), answerTo(i))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	p := NewPlayer(b.tape())
	got := make([]string, n)
	for i := range n {
		r := ask(t, body)
		wg.Go(func() {
			x, miss := p.Ask("", r)
			if miss != nil {
				t.Error(miss)
				return
			}
			got[i] = string(x.AnswerBody())
			p.Report()
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for _, s := range got {
		if seen[s] {
			t.Errorf("served twice: %s", s)
		}
		seen[s] = true
	}
	if r := p.Report(); r.Verdict != replayer.Exact {
		t.Errorf("%+v", r)
	}
}

// TestLanes: conversations keep their lanes by order, not by the value of the
// hint, whatever comes first at the replay.
func TestLanes(t *testing.T) {
	b := newBench(t, Head{})
	a, c, d := talk("Same task.", 3), talk("Same task.", 3), talk("Another task.", 2)
	edit(c, func(c *chat) { c.model = "small" })
	ra, rc, rd := requests(t, a), requests(t, c), requests(t, d)
	for i := range 3 { // two with one root, told apart by their hints
		b.pass("x", ra[i], answerTo(10+i))
		b.pass("y", rc[i], answerTo(20+i))
	}
	b.pass("", rd[0], answerTo(30))
	b.pass("", rd[1], answerTo(31))
	tape := b.tape()
	for i, x := range tape.Exchanges {
		want := []string{"main", "lane-2", "main", "lane-2", "main", "lane-2", "lane-3", "lane-3"}[i]
		if x.Lane != want {
			t.Errorf("exchange %d is in lane %s, not %s", x.N, x.Lane, want)
		}
	}
	p := NewPlayer(tape)
	for _, step := range []struct {
		hint string
		r    *canon.Request
		want string
	}{
		{"9", rd[0], answerTo(30)}, {"8", rc[0], answerTo(20)}, {"8", rc[1], answerTo(21)}, {"7", ra[0], answerTo(10)},
		{"9", rd[1], answerTo(31)}, {"7", ra[1], answerTo(11)}, {"8", rc[2], answerTo(22)}, {"7", ra[2], answerTo(12)},
	} {
		x, miss := p.Ask(step.hint, step.r)
		if miss != nil {
			t.Fatal(miss)
		}
		if got := string(x.AnswerBody()); got != step.want {
			t.Errorf("%s: got %s, want %s", step.hint, got, step.want)
		}
	}
	if r := p.Report(); r.Verdict != replayer.Exact || len(r.Lanes) != 3 {
		t.Errorf("%+v", r)
	}
}

// TestChangedRoot: the request of an unknown conversation is compared with the
// first lane that nobody asked.
func TestChangedRoot(t *testing.T) {
	b := newBench(t, Head{})
	one, two := talk("One.", 2), talk("Two.", 2)
	for i := range 2 {
		b.pass("", ask(t, one[i].body()), answerTo(i))
	}
	for i := range 2 {
		b.pass("", ask(t, two[i].body()), answerTo(i))
	}
	p := NewPlayer(b.tape())
	edit(two, func(c *chat) { c.messages[0] = said("user", "Too.") })
	miss := play(t, p, "", append(requests(t, one), requests(t, two)...)...)
	if d := miss.Divergence; d.Code != replayer.CodeWireRoot || d.Lane != "lane-2" || d.Turn != 1 || d.Recorded != "Two." || d.Actual != "Too." || d.Pointer != "/messages/1/content/0/text" {
		t.Errorf("%+v", d)
	}
}

func TestNormalised(t *testing.T) {
	r := ask(t, newChat("In /tmp/a1.").body())
	b := newBench(t, Head{})
	b.pass("", r, answerTo(1))
	p := NewPlayer(b.tape())
	now := *r
	now.Raw[3] ^= 1
	now.Applied = map[string]int{"tmp": 2}
	if miss := play(t, p, "", &now); miss != nil {
		t.Fatal(miss)
	}
	if r := p.Report(); r.Verdict != replayer.Normalised || r.Code != replayer.CodeNormalised || r.Normalised["tmp"] != 2 || r.Verdict.Exit() != 0 {
		t.Errorf("%+v", r)
	}
}

func TestAux(t *testing.T) {
	b := newBench(t, Head{})
	various(t, b)
	p := NewPlayer(b.tape())
	for range 2 {
		if x, ok := p.Aux("GET", "/v1/models", nil); !ok || string(x.AnswerBody()) != `{"data":[]}` {
			t.Errorf("%v", x)
		}
	}
	if _, ok := p.Aux("POST", "/v1/messages/count_tokens?beta=true", []byte(`{"a":[2],"b":1.0}`)); !ok {
		t.Error("equal JSON is another call")
	}
	if _, ok := p.Aux("POST", "/v1/messages/count_tokens?beta=true", []byte(`{"a":[3],"b":1}`)); ok {
		t.Error("another body is the same call")
	}
	if r := p.Report(); r.Verdict != replayer.Noop || r.Auxiliary != 3 {
		t.Errorf("%+v", r)
	}
}

// TestOtherAPI: the same conversation over another API is no match.
func TestOtherAPI(t *testing.T) {
	p := NewPlayer(recorded(t, 1))
	r := ask(t, newChat("Do it.").body())
	r.API = dialect.Messages
	if miss := play(t, p, "", r); miss == nil || miss.Divergence.Code != replayer.CodeWireAPI || miss.Divergence.Recorded != "chat" || miss.Divergence.Actual != "messages" {
		t.Errorf("%+v", miss)
	}
}

// TestSameJSON: a system message before the conversation and the same within it
// are two parts with one digest.
func TestSameJSON(t *testing.T) {
	c := newChat("Do it.")
	c.messages = append(c.messages, said("assistant", "Yes."), said("system", c.system), said("user", "Go on."))
	b := newBench(t, Head{})
	r := ask(t, c.body())
	if r.Parts[1].Kind == r.Parts[4].Kind || r.Parts[1].Digest != r.Parts[4].Digest {
		t.Fatal("the test tests nothing")
	}
	b.pass("", r, answerTo(1))
	if miss := play(t, NewPlayer(b.tape()), "", r); miss != nil {
		t.Error(miss)
	}
}

// TestReports is the report of each verdict, and what a client is told.
func TestReports(t *testing.T) {
	var out strings.Builder
	tell := func(p *Player) {
		t.Helper()
		b, err := json.MarshalIndent(p.Report(), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString(string(b) + "\n\n")
	}
	list := talk("Do it.", 2)
	p := NewPlayer(recorded(t, 2))
	tell(p)
	play(t, p, "", requests(t, list[:1])...)
	tell(p)
	play(t, p, "", requests(t, list[1:])...)
	tell(p)
	miss := play(t, p, "", ask(t, newChat("Again.").body()))
	tell(p)
	out.WriteString(miss.Message + "\n\n")
	long := strings.Repeat("It is so.\n", 100)
	b := newBench(t, Head{})
	b.pass("", ask(t, newChat(long+"Really.\n"+long).body()), answerTo(1))
	p = NewPlayer(b.tape())
	changed := newChat(long + "Truly.\n" + long)
	changed.model = "other"
	miss = play(t, p, "", ask(t, changed.body()))
	tell(p)
	out.WriteString(miss.Message + "\n")
	name := filepath.Join("testdata", "report.txt")
	if *update {
		if err := os.WriteFile(name, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil || string(want) != out.String() {
		t.Errorf("not as in %s (%v):\n%s", name, err, out.String())
	}
}

// TestToolResults: what a client's own tool says otherwise is told apart, in each
// API.
func TestToolResults(t *testing.T) {
	for api, body := range map[dialect.API]string{
		dialect.Chat: `{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"c","content":"RESULT"}]}`,
		dialect.Messages: `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"RESULT"}]}]}`,
		dialect.Responses: `{"model":"m","input":[{"role":"user","content":"x"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},
			{"type":"function_call_output","call_id":"c","output":"RESULT"}]}`,
	} {
		parse := func(result string) *canon.Request {
			r, err := canon.Parse(api, []byte(strings.Replace(body, "RESULT", result, 1)), canon.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		b := newBench(t, Head{})
		b.pass("", parse("seen at 10:15"), answerTo(1))
		d := play(t, NewPlayer(b.tape()), "", parse("seen at 11:20")).Divergence
		if d.Code != replayer.CodeObservation || !strings.Contains(d.Hint, "a date or time") {
			t.Errorf("%s: %+v", api, d)
		}
	}
}
