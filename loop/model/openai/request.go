package openai

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	openai "github.com/sashabaranov/go-openai"

	"github.com/harnessbench/harnessbench/loop/model"
)

// call is one call while it lasts: what is sent, and what came.
type call struct {
	request openai.ChatCompletionRequest
	head    []byte // of the body: the model's name and the messages
	tail    []byte // of the body: members that the library's types cannot say
	watch   *watch
	answer  answer

	sent   bool        // it went to the transport
	status int         // of the answer; 0 = none came
	told   bool        // usage was told
	usage  model.Usage // as told
	done   bool        // the stream said [DONE]
}

// callKey finds the call in the context of its request.
type callKey struct{}

// billed is what the call cost in tokens as far as the endpoint told.
func (c *call) billed() model.Usage {
	if !c.told {
		return model.Usage{Unknown: true}
	}
	return c.usage
}

// pose fills in the request.
//
// The library drops a temperature of 0, an empty text and empty arguments, cuts
// numbers to 32 bits, and refuses by the model's name what it believes a model
// cannot do. So the name, the messages and those numbers are written here and
// take their places in its body (see splice); the endpoint is the judge.
func (c *call) pose(m *Model, req *model.Request) {
	r := &c.request
	r.Stream = m.o.Stream
	if m.o.Stream {
		r.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	r.ReasoningEffort = m.o.ReasoningEffort
	r.ResponseFormat = m.o.ResponseFormat.wire()
	for _, p := range req.Parts {
		if p.Tool != nil && m.offers(req) {
			r.Tools = append(r.Tools, wireTool(p.Tool))
		}
	}
	if m.o.Trace {
		r.Metadata = trace(m.seed, req)
	}
	c.head = appendHead(nil, m.o.Name, req, m.o.SendReasoning)
	c.tail = append(appendNumbers(nil, &req.Params, m.o.MaxTokensField), m.extra...)
}

// offers reports whether the tools go with a request. The last answer of a session
// is asked for without: an endpoint that was not told of a tool cannot call it,
// which not every one keeps to that is told tool_choice none. Our own serve
// command is told the purpose, and gets the request whole.
func (m *Model) offers(req *model.Request) bool {
	return req.Purpose != model.ForFinalSynthesis || m.o.Trace
}

func (f *ResponseFormat) wire() *openai.ChatCompletionResponseFormat {
	switch {
	case f == nil:
		return nil
	case f.Schema == "":
		return &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
	}
	name := f.Name
	if name == "" {
		name = "answer"
	}
	return &openai.ChatCompletionResponseFormat{
		Type:       openai.ChatCompletionResponseFormatTypeJSONSchema,
		JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: name, Schema: jsontext.Value(f.Schema), Strict: f.Strict},
	}
}

func wireTool(t *model.ToolSpec) openai.Tool {
	schema := t.Schema
	if schema == "" {
		schema = `{"properties":{},"type":"object"}`
	}
	return openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
		Name: t.Name, Description: t.Description, Parameters: jsontext.Value(schema)}}
}

// trace is what the serve command needs to answer as a simulated model does in
// process.
func trace(seed string, req *model.Request) map[string]string {
	meta := map[string]string{
		"harnessbench_lane":       req.Lane,
		"harnessbench_turn":       strconv.Itoa(req.Turn),
		"harnessbench_attempt":    strconv.Itoa(req.Attempt),
		"harnessbench_occurrence": strconv.Itoa(req.Occurrence),
	}
	if seed != "" {
		meta["harnessbench_seed"] = seed
	}
	if req.Purpose != "" {
		meta["harnessbench_purpose"] = string(req.Purpose)
	}
	var versions []string
	tools := 0
	for _, p := range req.Parts {
		if p.Tool == nil {
			continue
		}
		if p.Tool.Version != 1 {
			versions = append(versions, fmt.Sprintf("%d:%d", tools, p.Tool.Version))
		}
		tools++
	}
	if versions != nil {
		meta["harnessbench_tools"] = strings.Join(versions, ",")
	}
	return meta
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }

// appendHead appends {"model":NAME,"messages":[...] without the closing brace.
func appendHead(b []byte, name string, req *model.Request, reasoning bool) []byte {
	b = append(b, `{"model":`...)
	b = model.AppendString(b, name)
	b = append(b, `,"messages":[`...)
	first := true
	for _, p := range req.Parts {
		if p.Message == nil {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = appendMessage(b, p.Message, reasoning)
	}
	return append(b, ']')
}

// appendMessage appends one message. Its texts are one string; an assistant's
// content is left out where it only calls.
func appendMessage(b []byte, m *model.Message, reasoning bool) []byte {
	b = append(b, `{"role":`...)
	b = model.AppendString(b, string(m.Role))
	calls := 0
	for i := range m.Items {
		if m.Items[i].Type == model.CallItem {
			calls++
		}
	}
	if text := joined(m.Items, said); text != "" || calls == 0 {
		b = append(b, `,"content":`...)
		b = model.AppendString(b, text)
	}
	if m.Role == model.ToolRole {
		b = append(b, `,"tool_call_id":`...)
		b = model.AppendString(b, m.CallID)
	}
	if reasoning {
		if text := joined(m.Items, func(t model.ItemType) bool { return t == model.Reasoning }); text != "" {
			b = append(b, `,"reasoning_content":`...)
			b = model.AppendString(b, text)
		}
	}
	if calls > 0 {
		b = appendCalls(append(b, `,"tool_calls":`...), m.Items)
	}
	return append(b, '}')
}

func appendCalls(b []byte, items []model.Item) []byte {
	sep := byte('[')
	for i := range items {
		if items[i].Type != model.CallItem {
			continue
		}
		c := &items[i].Call
		b = append(append(b, sep), `{"id":`...)
		b = model.AppendString(b, c.ID)
		b = append(b, `,"type":"function","function":{"name":`...)
		b = model.AppendString(b, c.Name)
		b = append(b, `,"arguments":`...)
		b = model.AppendString(b, c.Args)
		b = append(b, `}}`...)
		sep = ','
	}
	return append(b, ']')
}

// said reports the items whose text a reader of the conversation has seen; what
// another provider calls a plan or a question is text here.
func said(t model.ItemType) bool {
	return t == model.Text || t == model.Plan || t == model.Question || t == model.Proposal
}

// joined joins the texts of the wanted items with newlines, as model.TextOf does.
func joined(items []model.Item, want func(model.ItemType) bool) string {
	var texts []string
	for i := range items {
		if want(items[i].Type) {
			texts = append(texts, items[i].Text)
		}
	}
	return strings.Join(texts, "\n")
}

// appendNumbers appends what is set of the parameters; most is the name of the
// one that bounds the answer.
func appendNumbers(b []byte, p *model.Params, most string) []byte {
	if p.MaxTokens > 0 {
		b = append(append(append(b, `,"`...), most...), `":`...)
		b = strconv.AppendInt(b, int64(p.MaxTokens), 10)
	}
	number := func(key string, v *float64) {
		if v != nil {
			b = strconv.AppendFloat(append(b, key...), *v, 'g', -1, 64)
		}
	}
	number(`,"temperature":`, p.Temperature)
	number(`,"top_p":`, p.TopP)
	if p.Seed != nil {
		b = strconv.AppendInt(append(b, `,"seed":`...), *p.Seed, 10)
	}
	return b
}

// blank is how the library's body begins when it was given neither a name nor
// messages.
const blank = `{"model":"","messages":null`

// splice puts head and tail into a body of the library.
func (c *call) splice(body []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(bytes.TrimSpace(body), []byte(blank))
	if !ok || len(rest) == 0 || rest[len(rest)-1] != '}' {
		return nil, fmt.Errorf("the client library's body does not begin with %s", blank)
	}
	out := make([]byte, 0, len(c.head)+len(rest)+len(c.tail))
	out = append(append(out, c.head...), rest[:len(rest)-1]...)
	return append(append(out, c.tail...), '}'), nil
}
