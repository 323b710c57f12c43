package dialect

import (
	"github.com/harnessbench/harnessbench/loop/model"
)

// API is one of the wire APIs.
type API string

// The APIs that are spoken.
const (
	Chat      API = "chat"      // POST /v1/chat/completions
	Responses API = "responses" // POST /v1/responses
	Messages  API = "messages"  // POST /v1/messages
)

// Call is a decoded request in the vocabulary of package model, for a model that
// answers here.
type Call struct {
	API         API
	Model       string        // as the client wrote it
	Params      model.Params  // Model is left empty; MaxTokens, Temperature, TopP, Seed where given
	Parts       []*model.Part // tools, system, messages
	Stream      bool
	StreamUsage bool   // chat: stream_options.include_usage
	Previous    string // responses: previous_response_id
	// Freeform are the names of tools whose input is a text of any form, not a
	// JSON object (type custom), in their order. Their calls by Responses are
	// custom_tool_call items.
	Freeform []string
	Meta     Meta
}

// Meta is what a harnessbench client says of a request in its metadata, under
// keys that begin with "harnessbench_". No provider needs it; a simulated model
// behind the endpoint answers by it as it would in process.
type Meta struct {
	Known      bool   // any of the keys was there
	Seed       uint64 // of the repetition
	Lane       string
	Turn       int
	Attempt    int
	Occurrence int
	Purpose    model.Purpose
}

// Reply is an answer in the shape of an API.
type Reply struct {
	Status int
	Header [][2]string // besides Content-Type and Content-Length
	Type   string      // Content-Type
	Body   []byte      // nil when streamed
	Frames [][]byte    // server-sent events, each with its blank line; nil unless streamed
}
