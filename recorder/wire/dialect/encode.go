package dialect

import (
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/harnessbench/harnessbench/loop/model"
)

// Created is the time of creation in every answer that Encode makes, in Unix
// seconds (2023-11-14T22:13:20Z): what is simulated has no date.
const Created = 1_700_000_000

const (
	typeJSON   = "application/json"
	typeStream = "text/event-stream; charset=utf-8"
)

// Encode says an answer in the shape of the call's API: as one JSON text, or as
// server-sent events where the call asks for a stream. id is the answer's own,
// what previous_response_id names later; it is used as it stands, and the ids of
// items derive from it. The reply is a pure function of the arguments.
//
// Parse(Encode(c, id, r)) is r again but for what an API cannot say:
//
//   - all: Elapsed; empty texts and empty reasoning, which are no items; bytes that
//     are no UTF-8; plans, questions and proposals become texts; calls without an
//     id get one; an empty Finish is what the calls imply; an empty Model is the
//     call's; usage of which a part is unknown is unknown as a whole;
//   - chat: the order is reasoning, text, calls; several texts are joined by
//     newlines, as are several reasonings; provider calls are left out; a stream
//     without include_usage tells no usage;
//   - Responses: Finish is tool_calls if there are calls, else stop, where it is
//     one of these two; others are reasons why the answer is incomplete;
//   - Messages: the arguments of a call are an object. Others travel as the one
//     string in {"INVALID_JSON": ...}, except no arguments, which are {}; white
//     space around an object is lost. Usage must be there: unknown is 0. Finish
//     words of this API's own are read as the ones they mean.
//
// Evidence of a provider call travels as it stands where it is an object with a
// type that the API does not use for something else, and is left out elsewhere.
func Encode(c *Call, id string, r *model.Response) *Reply {
	e := &encoder{call: c, id: id, model: r.Model, usage: r.Usage, finish: r.Finish}
	if e.model == "" {
		e.model = c.Model
	}
	e.tidy(r.Items)
	if e.finish == "" {
		e.finish = model.FinishStop
		if e.calls > 0 {
			e.finish = model.FinishCalls
		}
	}
	switch c.API {
	case Responses:
		e.responses()
	case Messages:
		e.messages()
	default:
		e.chat()
	}
	if c.Stream {
		return &Reply{Status: 200, Header: [][2]string{{"Cache-Control", "no-cache"}}, Type: typeStream, Frames: e.frames}
	}
	return &Reply{Status: 200, Type: typeJSON, Body: e.body}
}

type encoder struct {
	call   *Call
	id     string
	model  string
	finish model.Finish
	usage  model.Usage
	items  []model.Item // of the types text, reasoning, tool_call and provider_call; none empty, all UTF-8
	calls  int          // among items
	seq    int          // of Responses' events
	frames [][]byte
	body   []byte
}

// tidy takes what can be said of an answer's items.
func (e *encoder) tidy(items []model.Item) {
	valid := func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
	for _, it := range items {
		switch it.Type {
		case model.CallItem:
			it.Call = model.ToolCall{ID: valid(it.Call.ID), Name: valid(it.Call.Name), Args: valid(it.Call.Args)}
			if it.Call.ID == "" {
				it.Call.ID = e.itemID(callPrefix[e.call.API], len(e.items))
			}
			e.calls++
		case model.ProviderCall:
			n, bad := parseJSON([]byte(it.Evidence), false)
			if bad != nil || e.call.API == Chat || n.depth() > maxNested || !evident(e.call.API, n.get("type").text()) {
				continue
			}
			it.Evidence = n.canonical()
		case model.Reasoning:
			it.Text = valid(it.Text)
		default:
			it.Type, it.Text = model.Text, valid(it.Text)
		}
		if it.Text != "" || it.Type == model.CallItem || it.Type == model.ProviderCall {
			e.items = append(e.items, it)
		}
	}
}

// evident reports whether an output item or block of the type is one that Parse
// keeps as the evidence of a provider call.
func evident(api API, typ string) bool {
	switch typ {
	case "":
		return false
	case "text", "thinking", "redacted_thinking", "tool_use":
		return api != Messages
	case "message", "reasoning", "function_call":
		return api != Responses
	}
	return api != Responses || !clientCall(typ)
}

// callPrefix begins the ids of calls, as the providers have them.
var callPrefix = map[API]string{Chat: "call", Responses: "call", Messages: "toolu"}

// itemID makes the id of item i from the answer's id and its place.
func (e *encoder) itemID(kind string, i int) string {
	sum := model.SumString(e.id + "/" + kind + "/" + strconv.Itoa(i))
	return kind + "_" + hex.EncodeToString(sum[:12])
}

// signature stands where a provider signs what its model thought. It proves
// nothing; clients only hand it back.
func signature(text string) string {
	sum := model.SumString("harnessbench/thinking/" + text)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// texts joins the items of a type with newlines; there is "" without any.
func (e *encoder) texts(typ model.ItemType) string {
	var all []string
	for i := range e.items {
		if e.items[i].Type == typ {
			all = append(all, e.items[i].Text)
		}
	}
	return strings.Join(all, "\n")
}
