package canon

import (
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
)

// Request is the canonical form of one request on the wire.
type Request struct {
	API          dialect.API
	Params       []byte       // canonical JSON of everything that is no part: model, temperature, tool_choice, ...
	ParamsDigest model.Digest // of Params
	// Parts are tools, system and messages in wire order: the API's own JSON,
	// canonical. Message and Tool are nil. Parts of a parent response come first.
	Parts    []*model.Part
	Pointers []string       // RFC 6901 of each part in the body as sent; "" for what a parent response brought
	Chains   []model.Digest // Chains[i] is the chain digest after i parts
	// Root is the chain digest up to and including the first user message: what
	// tells one conversation from another.
	Root     model.Digest
	Raw      model.Digest   // chain digest over the parts and params before normalisers were applied
	Applied  map[string]int // how often each declared normaliser struck
	Stream   bool
	Model    string // as the client wrote it
	Previous string // responses: previous_response_id
}
