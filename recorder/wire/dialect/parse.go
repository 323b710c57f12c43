package dialect

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"

	"github.com/harnessbench/harnessbench/loop/model"
)

// Parse reads a recorded answer: JSON or, by its content type or its first bytes,
// server-sent events. header gives the answer's headers by name, in any case; nil
// = there are none. A gzip body is unpacked. Exactly one of the two results is not
// nil:
//
//   - a Response has the answer's items in their order, empty texts left out, calls
//     with the ids of the wire, finish words in the loop's form (others as they came),
//     and the usage, unknown where none was told. Signatures and encrypted reasoning
//     are not in it. What the provider ran itself is a provider call with the
//     provider's own JSON, canonical, as evidence;
//   - an Error says by its kind what happened: a status that is no success, an error
//     object in a success or in mid-stream, a stream or a JSON text that breaks off
//     (ErrBrokenStream), an answer that is none (ErrProtocol). Status 0 is an upstream
//     that gave no answer (ErrTransport).
//
// What endpoints do otherwise than their API says is taken: calls without ids or
// with one index for all, arguments that are an object, tool_calls null, missing
// usage, a finish that denies the calls, bytes that are no UTF-8.
func Parse(api API, status int, header func(key string) string, body []byte) (*model.Response, *model.Error) {
	if header == nil {
		header = func(string) string { return "" }
	}
	if status == 0 {
		return nil, &model.Error{Kind: model.ErrTransport, Message: "there was no answer"}
	}
	body, torn, err := unpack(header("Content-Encoding"), body)
	if err != nil {
		return nil, err
	}
	if status < 200 || status > 299 {
		return nil, refusal(api, status, header, body)
	}
	a := &answer{api: api, usage: model.Usage{Unknown: true}}
	if isStream(header("Content-Type"), body) {
		err = a.stream(body)
	} else {
		err = a.whole(body)
	}
	if err == nil && torn {
		err = broken("the answer breaks off within its compression")
	}
	if err != nil {
		if err.Usage.Unknown {
			err.Usage = a.usage
		}
		return nil, err
	}
	return &model.Response{Items: a.items(), Finish: a.finish, Usage: a.usage, Model: a.model}, nil
}

func broken(why string) *model.Error {
	return &model.Error{Kind: model.ErrBrokenStream, Message: why, Usage: model.Usage{Unknown: true}}
}

func noAnswer(why string) *model.Error {
	return &model.Error{Kind: model.ErrProtocol, Message: why, Usage: model.Usage{Unknown: true}}
}

// unpack undoes a content encoding. What a torn body still says is returned.
func unpack(encoding string, body []byte) (out []byte, torn bool, e *model.Error) {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "identity":
		return body, false, nil
	case "gzip", "x-gzip":
	default:
		return nil, false, noAnswer("the content encoding " + encoding + " is not known here")
	}
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, false, noAnswer("the answer is no gzip")
	}
	out, err = io.ReadAll(io.LimitReader(r, MaxBody+1))
	return out, err != nil, nil
}

func isStream(contentType string, body []byte) bool {
	typ, _, _ := strings.Cut(contentType, ";")
	head := bytes.TrimLeft(bytes.TrimPrefix(body[:min(len(body), 64)], []byte("\xef\xbb\xbf")), "\r\n")
	if strings.EqualFold(strings.TrimSpace(typ), "text/event-stream") {
		return !bytes.HasPrefix(head, []byte("{")) // an error that forgot its type
	}
	for _, p := range []string{"data:", "event:", "id:", ":"} {
		if bytes.HasPrefix(head, []byte(p)) {
			return true
		}
	}
	return false
}

// answer puts an answer together, of JSON or of a stream.
type answer struct {
	api    API
	parts  []*part
	calls  map[int]*part // chat: the latest call with an index
	last   *part         // chat: the call that a piece without index and id continues
	blocks map[int]*part // Messages: by index
	model  string
	finish model.Finish
	usage  model.Usage
	ended  bool // the stream said that the answer is complete
	begun  bool // chat: there was a choice
}

// part is an item that may still grow.
type part struct {
	typ      model.ItemType
	text     strings.Builder // of a call: its arguments
	id, name string
	evidence *node // of a provider call, or the block that began a tool_use
}

func (a *answer) begin(typ model.ItemType) *part {
	p := &part{typ: typ}
	a.parts = append(a.parts, p)
	return p
}

// say adds a text to the last item if it is of the type, or begins one.
func (a *answer) say(typ model.ItemType, text string) {
	if text == "" {
		return
	}
	if n := len(a.parts); n > 0 && a.parts[n-1].typ == typ {
		a.parts[n-1].text.WriteString(text)
		return
	}
	a.begin(typ).text.WriteString(text)
}

// items returns the items, without those that say nothing.
func (a *answer) items() []model.Item {
	var out []model.Item
	for _, p := range a.parts {
		switch p.typ {
		case model.CallItem:
			args := p.text.String()
			if a.api == Messages {
				args = a.messageArgs(p)
			}
			out = append(out, model.Item{Type: p.typ, Call: model.ToolCall{ID: p.id, Name: p.name, Args: args}})
		case model.ProviderCall:
			out = append(out, model.Item{Type: p.typ, Evidence: p.providerJSON()})
		default:
			if p.text.Len() > 0 {
				out = append(out, model.Item{Type: p.typ, Text: p.text.String()})
			}
		}
	}
	return out
}

// whole reads an answer in one JSON text.
func (a *answer) whole(body []byte) *model.Error {
	root, bad := parseJSON(body, false)
	switch {
	case bad != nil && strings.HasSuffix(bad.What, "breaks off"):
		return broken("the answer breaks off within its JSON")
	case bad != nil:
		return noAnswer("the answer is " + bad.What)
	case root.kind != '{':
		return noAnswer("the answer is " + kindOf(root) + "; want an object")
	case failed(a.api, root):
		a.meter(root.get("usage"))
		return inBand(root)
	}
	switch a.api {
	case Responses:
		return a.responsesWhole(root)
	case Messages:
		return a.messagesWhole(root)
	}
	return a.chatWhole(root)
}

// failed reports whether a JSON text is an error object.
func failed(api API, n *node) bool {
	return n.get("error") != nil || api != Chat && n.get("type").text() == "error"
}

// stream reads an answer in server-sent events. What no blank line ends at the
// end of the body counts when it is whole.
func (a *answer) stream(body []byte) *model.Error {
	if len(body) > MaxBody {
		return noAnswer("the answer is too large")
	}
	for _, e := range Events(append(body[:len(body):len(body)], "\n\n"...)) {
		data := bytes.TrimSpace(e.Data)
		if string(data) == "[DONE]" {
			if !a.begun {
				return noAnswer("the stream has no choices")
			}
			return nil
		}
		if len(data) == 0 {
			continue
		}
		n, bad := parseJSON(data, false)
		switch {
		case bad != nil && e.End > len(body): // torn
			continue
		case bad != nil:
			return noAnswer("an event of the stream is " + bad.What)
		case e.Name == "error" || failed(a.api, n) && n.get("response") == nil:
			return inBand(n)
		}
		if err := a.event(n); err != nil {
			return err
		}
		if a.ended && a.api != Chat {
			return nil // chat's usage comes after the end
		}
	}
	if !a.ended {
		return broken("the stream ended before the answer did")
	}
	return nil
}

func (a *answer) event(n *node) *model.Error {
	switch a.api {
	case Responses:
		return a.responsesEvent(n)
	case Messages:
		a.messagesEvent(n)
		return nil
	}
	return a.chatEvent(n)
}
