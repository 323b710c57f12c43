package sim

import (
	"context"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/loop/model"
)

const summaryScript = `facts:
  code: {in: tool, from: open, match: 'code=(\S+)'}
  odd: {in: tool, match: 'odd=(.*)'}
  seen: {in: tool, from: page, match: 'page \d+', times: 3}
  asked: {in: user, match: 'Open'}
rules:
- {id: answer, need: [written], do: {say: Done.}}
- {id: write, need: [code, seen], do: {tool: write, args: {text: "${code}"}}}
- {id: open, max: 1, do: {tool: open, args: {}}}
- {id: page, not: [seen], do: {tool: page, args: {}}}
guess: [{say: I guess.}]
`

// summariser is a model over a conversation of a task, a call of open and n calls
// of page.
func summariser(t *testing.T, p Profile, n int) (*Model, []model.Message) {
	t.Helper()
	text := strings.Replace(summaryScript, "  asked:", "  written: {in: tool, from: write, match: ok}\n  asked:", 1)
	s, err := ParseScript("oracle.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	talk := []model.Message{say(model.User, "Open it and read three pages.")}
	call := func(name, id, result string) {
		talk = append(talk, model.Message{Role: model.Assistant, Items: []model.Item{{Type: model.CallItem, Call: model.ToolCall{ID: id, Name: name, Args: "{}"}}}},
			model.Message{Role: model.ToolRole, CallID: id, Items: []model.Item{{Type: model.Text, Text: result}}})
	}
	call("open", "a", "code=X1 odd=\"a\\b\"\tc\nmore")
	for i := range n {
		call("page", "p"+string(rune('0'+i)), "page "+string(rune('1'+i)))
	}
	return New(p, Options{Script: s, Seed: 7}), talk
}

func say(r model.Role, text string) model.Message {
	return model.Message{Role: r, Items: []model.Item{{Type: model.Text, Text: text}}}
}

func generate(t *testing.T, m *Model, purpose model.Purpose, talk ...model.Message) *model.Response {
	t.Helper()
	req := model.NewRequest(model.Params{Model: m.ID()}, nil, talk)
	req.Purpose, req.Turn = purpose, 5
	r, err := m.Generate(context.Background(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func profileOf(t *testing.T, name string) Profile {
	t.Helper()
	p, ok := Lookup(name)
	if !ok {
		t.Fatal(name)
	}
	return p
}

// A summary names what can be seen, and a model that reads it goes on as if it
// had seen that.
func TestSummaryIsReadBack(t *testing.T) {
	m, talk := summariser(t, profileOf(t, "sim/oracle"), 3)
	sum := model.TextOf(generate(t, m, model.ForSummary, append(talk[:len(talk):len(talk)], say(model.User, "Write a summary."))...).Items)
	want := "Known so far:\n- code: \"X1\"\n- odd: \"\\\"a\\\\b\\\"\\tc\"\n- seen: \"page 3\" 3 times\nDone so far:\n- open: 1\n- page: 3\n"
	if sum != want {
		t.Errorf("%q", sum)
	}
	after := []model.Message{talk[0], say(model.User, noteHead+"summarised to fit the context window: 4.]\n"+sum)}
	r := generate(t, m, "", after...)
	if len(r.Calls()) != 1 || r.Calls()[0].Args != `{"text":"X1"}` {
		t.Errorf("%+v", r)
	}
	// Without it the model begins anew; the same lines said by anybody else are
	// no summary.
	for _, text := range []string{noteHead + "removed to fit the context window: 4.]", "Be quick.\n" + sum} {
		if r := generate(t, m, "", talk[0], say(model.User, text)); len(r.Calls()) != 1 || r.Calls()[0].Name != "open" {
			t.Errorf("%q: %+v", text, r)
		}
	}
}

// Messages that stand after what was taken away are told by what they do.
func TestAttributionAfterANote(t *testing.T) {
	m, talk := summariser(t, profileOf(t, "sim/oracle"), 2)
	note := say(model.User, noteHead+"removed to fit the context window: 1.]")
	// Only the pages are left: they are not taken for the call of open.
	r := generate(t, m, "", append([]model.Message{talk[0], note}, talk[3:]...)...)
	if len(r.Calls()) != 1 || r.Calls()[0].Name != "open" {
		t.Errorf("%+v", r)
	}
}

// Weak models lose more, each fact by its own draw, and one that is lost from a
// summary is not known any more.
func TestSummariesLose(t *testing.T) {
	lost := func(name string) (n int) {
		for seed := range uint64(400) {
			m, talk := summariser(t, profileOf(t, name), 3)
			m.seed = seed
			sum := model.TextOf(generate(t, m, model.ForSummary, talk...).Items)
			if again := model.TextOf(generate(t, m, model.ForSummary, talk...).Items); again != sum {
				t.Fatal("two equal questions got two summaries")
			}
			if !strings.Contains(sum, "- code: ") {
				n++
			}
		}
		return n
	}
	oracle, strong, medium, weak := lost("sim/oracle"), lost("sim/strong"), lost("sim/medium"), lost("sim/weak")
	if oracle != 0 || strong == 0 || strong >= medium || medium >= weak || weak < 20 || weak > 80 {
		t.Errorf("of 400: oracle %d, strong %d, medium %d, weak %d", oracle, strong, medium, weak)
	}
	for _, name := range []string{"sim/noop", "sim/spam"} {
		m, talk := summariser(t, profileOf(t, name), 3)
		if got := model.TextOf(generate(t, m, model.ForSummary, talk...).Items); got != "Nothing to report so far." {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Whatever stands in a note, nothing breaks, and bounds hold.
func FuzzRecall(f *testing.F) {
	f.Add("Known so far:\n- code: \"X\" 3 times\nDone so far:\n- open: 2 corrected\n- page: 99999\n- : \n- code\n")
	f.Add("Done so far:\n- open: -1\nKnown so far:\n- code: \"\\x\n- code: \"a\" 0 times")
	f.Fuzz(func(t *testing.T, text string) {
		m, talk := summariser(t, profileOf(t, "sim/weak"), 0)
		s := m.fresh()
		m.recall(s, text)
		for _, v := range s.facts {
			if v.times < 0 || v.times > maxTimes {
				t.Errorf("%d times", v.times)
			}
		}
		for _, r := range s.rules {
			if r.count < 0 || r.count > maxTimes {
				t.Errorf("done %d times", r.count)
			}
		}
		generate(t, m, "", talk[0], say(model.User, noteHead+"x.]\n"+text))
	})
}

func TestFaultsByPurpose(t *testing.T) {
	m, talk := summariser(t, profileOf(t, "sim/oracle"), 1)
	m.faults = []Fault{{Purpose: model.ForSummary, Kind: FaultServer}, {Turns: []int{5}, Attempts: []int{2}, Kind: FaultOverflow}}
	ask := func(purpose model.Purpose, attempt int) model.ErrorKind {
		req := model.NewRequest(model.Params{Model: m.ID()}, nil, talk)
		req.Purpose, req.Turn, req.Attempt = purpose, 5, attempt
		_, err := m.Generate(context.Background(), req, nil)
		if err == nil {
			return ""
		}
		return err.(*model.Error).Kind
	}
	for _, tt := range []struct {
		purpose model.Purpose
		attempt int
		want    model.ErrorKind
	}{{model.ForSummary, 0, model.ErrServer}, {"", 0, ""}, {"", 1, model.ErrContextOverflow}, {model.ForFinalSynthesis, 1, ""}} {
		if got := ask(tt.purpose, tt.attempt); got != tt.want {
			t.Errorf("%q, attempt %d: %q", tt.purpose, tt.attempt, got)
		}
	}
}
