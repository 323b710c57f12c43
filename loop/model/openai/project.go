package openai

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/loop/model"
)

// lenient takes what endpoints send: bytes that are no UTF-8 become U+FFFD, and
// of equal names the last counts.
var lenient = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// form is the member of a choice that holds what was said.
type form string

const (
	asMessage form = "message" // an answer in one piece
	asDelta   form = "delta"   // a piece of a stream
)

// payload is one JSON document of an answer. Members whose type differs between
// endpoints stay raw; what is not named here is not looked at.
type payload struct {
	Error   jsontext.Value `json:"error"`
	Choices []choice       `json:"choices"`
	Usage   jsontext.Value `json:"usage"`
	Groq    jsontext.Value `json:"x_groq"` // Groq's usage of a stream, in older answers only here
}

type choice struct {
	Message *spoken        `json:"message"`
	Delta   *spoken        `json:"delta"`
	Finish  jsontext.Value `json:"finish_reason"`
	Error   jsontext.Value `json:"error"` // OpenRouter, in mid-stream
}

type spoken struct {
	Content          jsontext.Value `json:"content"`
	Refusal          jsontext.Value `json:"refusal"`
	Reasoning        jsontext.Value `json:"reasoning"` // OpenRouter, Groq, vLLM
	ReasoningContent jsontext.Value `json:"reasoning_content"`
	ToolCalls        jsontext.Value `json:"tool_calls"`
	FunctionCall     jsontext.Value `json:"function_call"` // before there were tools
}

type spokenCall struct {
	Index    jsontext.Value `json:"index"`
	ID       jsontext.Value `json:"id"`
	Function jsontext.Value `json:"function"`
	spokenFunction
}

type spokenFunction struct {
	Name      jsontext.Value `json:"name"`
	Arguments jsontext.Value `json:"arguments"`
}

// project reduces a payload to the members that the adapter needs, in the types
// that go-openai expects, and notes the usage. It is where the deviations of
// endpoints end: an error object becomes an error, arguments that are an object
// become its text, content in parts becomes one text, and null, a wrong type or an
// unknown member cannot make the library fail.
func (c *call) project(text []byte, as form) ([]byte, error) {
	var p payload
	if err := json.Unmarshal(text, &p, lenient); err != nil {
		if cut(text) {
			return nil, &brokenOff{"the answer breaks off within its JSON"}
		}
		return nil, &notAnAnswer{fmt.Sprintf("an answer that is no chat completion: %s", briefly(err))}
	}
	c.meter(p.Usage, p.Groq)
	if present(p.Error) {
		return nil, &inBand{readFault(text)}
	}
	out := append(make([]byte, 0, len(text)), `{"choices":[`...)
	if len(p.Choices) > 0 { // n is 1
		ch := &p.Choices[0]
		if present(ch.Error) {
			return nil, &inBand{readFault(ch.Error)}
		}
		said := ch.Message
		if said == nil || as == asDelta && ch.Delta != nil {
			said = ch.Delta
		}
		out = append(append(append(out, `{"`...), as...), `":`...)
		out = said.appendTo(out)
		if finish := str(ch.Finish); finish != "" {
			out = model.AppendString(append(out, `,"finish_reason":`...), finish)
		}
		out = append(out, '}')
	}
	return append(out, `]}`...), nil
}

// cut reports whether a JSON text only lacks its end.
func cut(text []byte) bool {
	_, err := jsontext.NewDecoder(bytes.NewReader(text), lenient).ReadValue()
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// appendTo appends what was said as go-openai's message or delta.
func (m *spoken) appendTo(out []byte) []byte {
	out = append(out, `{"role":"assistant"`...)
	if m == nil {
		return append(out, '}')
	}
	add := func(key, text string) {
		if text != "" {
			out = model.AppendString(append(out, key...), text)
		}
	}
	content, thought, refused := texts(m.Content)
	reasoning := str(m.ReasoningContent)
	if reasoning == "" {
		reasoning = str(m.Reasoning)
	}
	add(`,"content":`, content)
	add(`,"reasoning_content":`, reasoning+thought)
	add(`,"refusal":`, str(m.Refusal)+refused)
	calls := list(m.ToolCalls)
	if present(m.FunctionCall) && len(calls) == 0 {
		calls = []jsontext.Value{append(append(jsontext.Value(`{"function":`), m.FunctionCall...), '}')}
	}
	for i, raw := range calls {
		sep := `,`
		if i == 0 {
			sep = `,"tool_calls":[`
		}
		out = appendCall(append(out, sep...), raw)
	}
	if len(calls) > 0 {
		out = append(out, ']')
	}
	return append(out, '}')
}

// appendCall appends one call. Members that are missing stay out, so that the
// pieces of a stream can be told apart.
func appendCall(out []byte, raw jsontext.Value) []byte {
	var call spokenCall
	if json.Unmarshal(raw, &call, lenient) != nil {
		return append(out, `{"type":"function","function":{}}`...)
	}
	f := call.spokenFunction
	if present(call.Function) {
		f = spokenFunction{}
		_ = json.Unmarshal(call.Function, &f, lenient) // what is no object has neither name nor arguments
	}
	out = append(out, `{"type":"function"`...)
	if n, ok := number(call.Index); ok && n >= 0 && n < 1<<20 {
		out = strconv.AppendInt(append(out, `,"index":`...), n, 10)
	}
	if id := str(call.ID); id != "" {
		out = model.AppendString(append(out, `,"id":`...), id)
	}
	out = model.AppendString(append(out, `,"function":{"name":`...), str(f.Name))
	return append(model.AppendString(append(out, `,"arguments":`...), arguments(f.Arguments)), `}}`...)
}

// arguments are the text that a model wrote: a string's content, or the JSON that
// an endpoint has made of it already.
func arguments(v jsontext.Value) string {
	if !present(v) {
		return ""
	}
	if v.Kind() == '"' {
		return str(v)
	}
	return strings.ToValidUTF8(string(v), "\uFFFD")
}

// texts are the texts of a content: a string, or parts of which some are thoughts
// (Mistral: parts of their own) or refusals.
func texts(v jsontext.Value) (content, thought, refused string) {
	if v.Kind() == '"' {
		return str(v), "", ""
	}
	for _, raw := range list(v) {
		p := readPart(raw)
		content += p.text
		refused += p.refusal
		thought += str(p.thinking)
		for _, inner := range list(p.thinking) {
			thought += readPart(inner).text
		}
	}
	return content, thought, refused
}

type part struct {
	text, refusal string
	thinking      jsontext.Value
}

// readPart reads a part of a content; one that is a string is its own text.
func readPart(v jsontext.Value) part {
	var w struct {
		Text     jsontext.Value `json:"text"`
		Refusal  jsontext.Value `json:"refusal"`
		Thinking jsontext.Value `json:"thinking"`
	}
	if v.Kind() != '{' {
		return part{text: str(v)}
	}
	_ = json.Unmarshal(v, &w, lenient) // an object whose members are taken as they are
	return part{str(w.Text), str(w.Refusal), w.Thinking}
}

// list returns the elements of an array; an object is a list of one.
func list(v jsontext.Value) (out []jsontext.Value) {
	switch v.Kind() {
	case '{':
		return []jsontext.Value{v}
	case '[':
		_ = json.Unmarshal(v, &out, lenient) // it was valid when it was read
	}
	return out
}

// str returns a string's content; of numbers their text, of all else nothing.
func str(v jsontext.Value) string {
	switch v.Kind() {
	case '"':
		var s string
		_ = json.Unmarshal(v, &s, lenient)
		return s
	case '0':
		return string(v)
	}
	return ""
}

func present(v jsontext.Value) bool { return len(v) > 0 && v.Kind() != 'n' }
