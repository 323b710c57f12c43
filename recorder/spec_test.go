package recorder_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder"
	"github.com/harnessbench/harnessbench/recorder/internal/sample"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// specification is the document whose tables and example come from the code.
const specification = "../docs/session-format.md"

func TestSpecification(t *testing.T) {
	have, err := os.ReadFile(specification)
	if err != nil {
		t.Fatal(err)
	}
	want := replaceBlock(t, string(have), "tables", fieldTables())
	want = replaceBlock(t, want, "example", example(t))
	if *update {
		if err := os.WriteFile(specification, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(have) {
		t.Errorf("%s does not say what the code does: run go test ./recorder -run TestSpecification -update", specification)
	}
}

// replaceBlock puts text between the markers of a block.
func replaceBlock(t *testing.T, doc, name, text string) string {
	t.Helper()
	start, end := "<!-- "+name+" -->\n", "<!-- end -->"
	i := strings.Index(doc, start)
	if i < 0 {
		t.Fatalf("%s has no %s", specification, start)
	}
	i += len(start)
	j := strings.Index(doc[i:], end)
	if j < 0 {
		t.Fatalf("%s: %s is not closed", specification, start)
	}
	return doc[:i] + text + doc[i+j:]
}

func fieldTables() string {
	var b strings.Builder
	last := session.Type("-")
	for _, f := range session.Fields {
		if f.Line != last {
			last = f.Line
			title := "`" + string(f.Line) + "`"
			if f.Line == "" {
				title = "every line"
			}
			fmt.Fprintf(&b, "\n#### %s\n\n| field | value | origin | left out when | meaning |\n|---|---|---|---|---|\n", title)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", f.Name, f.JSON, f.Origin, f.Omit, f.Doc)
	}
	return b.String() + "\n"
}

// exampleSession is the small session of the specification.
func exampleSession(t *testing.T) []byte {
	t.Helper()
	file := "ticket 7: printer\n"
	h := session.Header{Scenario: "tickets", Model: "sim/weak", Simulated: true, Config: []byte(`{"limits":{"turns":4},"seed":1}`),
		Tree: []session.TreeFile{{Path: "notes.txt", Size: int64(len(file)), Mode: 0o644, Digest: model.SumString(file), Content: []byte(file)}}}
	var buf bytes.Buffer
	rec, err := recorder.New(session.NewWriter(&buf), h, recorder.Config{})
	if err != nil {
		t.Fatal(err)
	}
	talk := sample.New(rec, event.MainLane)
	talk.Say("tool", model.NewToolPart(model.ToolSpec{Name: "copy", Version: 1, Description: "Copies a file.", Schema: `{"type":"object"}`}))
	talk.Say("task", model.NewTextPart(model.User, "Copy notes.txt."))
	talk.Turn = 1
	talk.Ask()
	talk.Answer("Copying.", sample.Call{Name: "copy", Args: `{"from":"notes.txt"}`, Text: "copied 18 bytes from notes.txt to copy.txt; nothing else was changed", Took: 2 * time.Millisecond,
		Delta: []event.Delta{sample.Write("copy.txt", file)}, Rewrite: "copied 18 bytes"})
	talk.Close()
	talk.Turn = 2
	talk.Ask()
	talk.Answer("Done.")
	talk.Emit(&event.Candidate{Head: event.Head{Lane: event.MainLane, Turn: 2}, Checked: true})
	talk.Close()
	talk.End(event.Completed, "Done.")
	if err := talk.Err; err != nil {
		t.Fatal(err)
	}
	if err := rec.Finish(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// example shows the session and the digests that its reader finds.
func example(t *testing.T) string {
	t.Helper()
	b := exampleSession(t)
	var out strings.Builder
	fmt.Fprintf(&out, "\n```json\n%s```\n\nThe chain after each line, and the inputs digest (it changes with lines that have input fields):\n\n", b)
	out.WriteString("| line | type | H | I |\n|---|---|---|---|\n")
	fmt.Fprintf(&out, "| - | | `%s` | `%s` |\n", session.ChainStart, session.InputsStart)
	talk, inputs := session.NewConversation(), session.NewInputs()
	chain := session.ChainStart
	var asked []*session.Asked
	for _, l := range lines(t, b) {
		chain = model.Sum(append(bytes.Clone(chain[:]), l.Raw[:len(l.Raw)-40]...))
		if err := inputs.Add(l); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "| %d | `%s` | `%s` | `%s` |\n", l.No, l.Type, chain, inputs.Digest().Short())
		a, err := talk.Add(l)
		if err != nil {
			t.Fatal(err)
		}
		if a != nil {
			asked = append(asked, a)
		}
	}
	out.WriteString("\nThe second request has these parts; the third was made of the `response` and the id in the `tool.request`, the\nfourth stands in place of the `tool.result`'s own message:\n\n")
	out.WriteString("| kind | role | canonical JSON | C |\n|---|---|---|---|\n")
	c := model.ChainStart
	fmt.Fprintf(&out, "| | | | `%s` |\n", c)
	for _, p := range asked[1].Parts {
		c = model.Chain(c, p)
		fmt.Fprintf(&out, "| %s | %s | `%s` | `%s` |\n", p.Kind, p.Role, p.JSON, c)
	}
	if c != asked[1].Chain {
		t.Fatal("the example does not add up")
	}
	out.WriteString("\nThe `object` that the inputs digest takes of the `tool.result`, whose text is longer than 64 bytes:\n\n```json\n")
	out.WriteString(inputObject(t, b))
	out.WriteString("\n```\n\n")
	return out.String()
}

// inputObject spells out the object of the tool.result line.
func inputObject(t *testing.T, b []byte) string {
	t.Helper()
	for _, l := range lines(t, b) {
		if l.Type != session.TypeToolResult {
			continue
		}
		r, err := l.ToolResult()
		if err != nil {
			t.Fatal(err)
		}
		var fields []string
		l.Keys(func(key string, v []byte) {
			if session.IsInput(l.Type, key) {
				if key == "text" {
					v = []byte(`"` + model.SumString(r.Text).String() + `"`)
				}
				fields = append(fields, `"`+key+`":`+string(v))
			}
		})
		return "{" + strings.Join(fields, ",") + "}"
	}
	t.Fatal("no tool.result")
	return ""
}

// TestInputsByHand checks the example's object against the digest, so
// that the specification's words and the code cannot part.
func TestInputsByHand(t *testing.T) {
	b := exampleSession(t)
	in := session.NewInputs()
	for _, l := range lines(t, b) {
		before := in.Digest()
		if err := in.Add(l); err != nil {
			t.Fatal(err)
		}
		if l.Type == session.TypeToolResult {
			want := model.Sum(append(append(bytes.Clone(before[:]), "tool.result\x00"...), inputObject(t, b)...))
			if in.Digest() != want {
				t.Fatalf("inputs digest %s, by hand %s", in.Digest(), want)
			}
		}
	}
}
