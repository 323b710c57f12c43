package model

import (
	"context"
	"time"
)

// Role says who speaks a message.
type Role string

// The roles of canon/1.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// ItemType is the type of one item of a message.
type ItemType string

// The item types a response may hold. Text and tool calls are what every
// provider has; the others keep their place even where the loop only records
// them.
const (
	Text         ItemType = "text"
	Reasoning    ItemType = "reasoning"
	CallItem     ItemType = "tool_call"
	Plan         ItemType = "plan"
	Question     ItemType = "question"
	Proposal     ItemType = "proposal"
	ProviderCall ItemType = "provider_call" // executed by the provider; recorded, never run
)

// Item is one typed piece of a message, in the order the model gave it.
type Item struct {
	Type     ItemType
	Text     string   // of text, reasoning, plan, question, proposal
	Call     ToolCall // of tool_call
	Evidence string   // of provider_call: the provider's own record, canonical JSON
}

// ToolCall is a model's request to run a tool.
type ToolCall struct {
	ID   string // assigned by the loop, never taken from the model
	Name string
	Args string // JSON text exactly as the model wrote it, which may be malformed
}

// Message is one message of a conversation.
type Message struct {
	Role   Role
	Items  []Item
	CallID string // of a tool message: the call it answers
}

// TextOf joins the text items of a message with newlines.
func TextOf(items []Item) string {
	n, only := 0, ""
	for i := range items {
		if items[i].Type == Text {
			n, only = n+1, items[i].Text
		}
	}
	if n <= 1 {
		return only
	}
	var b []byte
	first := true
	for i := range items {
		if items[i].Type != Text {
			continue
		}
		if !first {
			b = append(b, '\n')
		}
		first = false
		b = append(b, items[i].Text...)
	}
	return string(b)
}

// ToolSpec is what the model is told of a tool.
type ToolSpec struct {
	Name        string
	Version     int    // raised when behaviour or schema change; the call is bound to the version the model saw
	Description string // one paragraph
	Schema      string // JSON Schema of the arguments, canonical JSON
}

// Finish is the provider's stop signal. It is recorded and never trusted alone.
type Finish string

// The stop signals with a meaning to the loop; others are kept as they came.
const (
	FinishStop   Finish = "stop"
	FinishCalls  Finish = "tool_calls"
	FinishLength Finish = "length"
)

// Usage counts tokens of one or more model calls. All are >= 0.
type Usage struct {
	InputUncached int64
	CacheRead     int64
	CacheWrite    int64
	Output        int64
	Reasoning     int64 // a part of Output, not added to it
	// Unknown says that the provider did not tell, for one call at least: the
	// counts are then a lower bound, and no number at all for a single call.
	Unknown bool
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		InputUncached: u.InputUncached + v.InputUncached,
		CacheRead:     u.CacheRead + v.CacheRead,
		CacheWrite:    u.CacheWrite + v.CacheWrite,
		Output:        u.Output + v.Output,
		Reasoning:     u.Reasoning + v.Reasoning,
		Unknown:       u.Unknown || v.Unknown,
	}
}

// Total returns all tokens, input and output.
func (u Usage) Total() int64 { return u.InputUncached + u.CacheRead + u.CacheWrite + u.Output }

// Response is a model's answer. It is not changed after Generate returned it.
type Response struct {
	Items   []Item
	Finish  Finish
	Usage   Usage
	Model   string        // the id that answered
	Elapsed time.Duration // declared by simulated models and recordings; ignored on a real clock
	// Cache says what a response cache had to do with it, CacheFailed what went
	// wrong with the cache, "" = nothing.
	Cache       CacheUse
	CacheFailed string
	// Redacted says which secrets were overwritten in it, by kind and count; empty =
	// none. The loop sets it, a recording gives it back.
	Redacted string
}

// CacheUse says whether a response cache knew an answer.
type CacheUse string

// What a cache may have to do with an answer.
const (
	CacheUnused CacheUse = ""      // none was asked, or it did not know the request
	CacheHit    CacheUse = "hit"   // the answer is the cache's: no model was asked and nothing is billed
	CacheKnown  CacheUse = "known" // the cache knew an answer, and the model was asked all the same
)

// Calls returns the tool calls among the items, in order.
func (r *Response) Calls() []ToolCall {
	var out []ToolCall
	for i := range r.Items {
		if r.Items[i].Type == CallItem {
			out = append(out, r.Items[i].Call)
		}
	}
	return out
}

// ErrorKind classes what went wrong with a model call.
type ErrorKind string

// Kinds of model errors. Which of them are retried is the retry policy's
// decision, from Kind and Status.
const (
	ErrTransport       ErrorKind = "transport"        // no answer: connection refused, reset, DNS
	ErrBrokenStream    ErrorKind = "broken_stream"    // the answer broke off
	ErrTimeout         ErrorKind = "timeout"          // the call's own time ran out
	ErrRateLimit       ErrorKind = "rate_limit"       // 429 that passes with time
	ErrQuota           ErrorKind = "quota"            // 429 that does not
	ErrAuth            ErrorKind = "auth"             // 401, 403
	ErrServer          ErrorKind = "server"           // 5xx, 529 included
	ErrBadRequest      ErrorKind = "bad_request"      // other 4xx
	ErrContextOverflow ErrorKind = "context_overflow" // the provider refuses the size
	ErrProtocol        ErrorKind = "protocol"         // an answer that is none
	ErrCancelled       ErrorKind = "cancelled"        // the caller gave up
	ErrDeadline        ErrorKind = "deadline"         // the session's own time ran out during the call
)

// Error is a model call that gave no answer.
type Error struct {
	Kind       ErrorKind
	Status     int           // HTTP status, 0 where there was none
	RetryAfter time.Duration // as the provider said, 0 = it did not
	Message    string
	Usage      Usage         // what was billed all the same
	Elapsed    time.Duration // like Response.Elapsed
	// CacheFailed says what went wrong with a response cache before the model was
	// asked, "" = nothing.
	CacheFailed string
	Redacted    string // like Response.Redacted
}

func (e *Error) Error() string {
	if e.Message == "" {
		return "model: " + string(e.Kind)
	}
	return "model: " + string(e.Kind) + ": " + e.Message
}

// Purpose says what a request is for. The empty Purpose is a turn of the loop.
type Purpose string

// Requests that are no turn.
const (
	ForFinalSynthesis Purpose = "final_synthesis"
	ForSummary        Purpose = "summary"
)

// Request is one question to a model. Parts and Chains are views of a
// Transcript: read them, never write them.
type Request struct {
	Params       Params
	ParamsDigest Digest
	Parts        []*Part
	Chains       []Digest // Chains[i] is the chain digest after i parts; len(Parts)+1
	Count        int      // of parts; len(Parts), or more where a replay keeps none
	Purpose      Purpose
	Lane         string
	Turn         int           // from 1
	Occurrence   int           // how often this (chain, params) was asked before in this lane, every attempt counted
	Attempt      int           // from 0 within the turn; keys injected faults
	Timeout      time.Duration // what this call may take; 0 = unbounded
}

// Chain returns the chain digest over all parts.
func (r *Request) Chain() Digest { return r.Chains[len(r.Chains)-1] }

// Delta is a piece of a streamed answer.
type Delta struct {
	Index int // of the item it belongs to
	Type  ItemType
	Text  string
}

// Model answers requests. Implementations are safe for concurrent use unless
// they say otherwise, keep no reference to the request after returning, count
// nothing (Occurrence and Attempt come with the request) and return either a
// complete Response or an error: an *Error, or the context's error.
type Model interface {
	// ID is provider/name, as in suites and sessions.
	ID() string
	// Generate asks once. onDelta may be nil; it is called in order, from the
	// calling goroutine, before Generate returns.
	Generate(ctx context.Context, req *Request, onDelta func(Delta)) (*Response, error)
}
