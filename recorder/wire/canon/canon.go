package canon

import (
	"fmt"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/redact"
	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
)

// Request is the canonical form of one request on the wire.
type Request struct {
	API          dialect.API
	Params       []byte       // canonical JSON of everything that is no part: model, temperature, tool_choice, ...
	ParamsDigest model.Digest // of Params
	// Parts are tools, system and messages in this order: the API's own JSON,
	// canonical. Message and Tool are nil. Items that previous_response_id brings
	// stand before the request's own.
	Parts []*model.Part
	// Pointers are RFC 6901, of each part in the body as sent; "" for what a parent
	// response brought. A bare string where a list of blocks could stand has the
	// pointer of the one block it means (/system/0). See Pointer for places in a part.
	Pointers []string
	Chains   []model.Digest // Chains[i] is the chain digest after i parts
	// Root is the chain digest up to and including the first user message: what
	// tells one conversation from another. Without a user message it is the whole
	// chain.
	Root model.Digest
	// Raw is SHA-256(chain || params digest) before normalisers were applied, in the order as sent, after
	// redaction, renaming and what canon/1 itself drops: two equal requests with equal
	// Raw are equal without a normaliser's help.
	Raw      model.Digest
	Applied  map[string]int // how often each declared normaliser struck, by its name, drop=/POINTER as a whole; nil when none did
	Stream   bool
	Model    string // as the client wrote it
	Previous string // responses: previous_response_id

	sent  []*model.Part // responses: the input items that the request itself brought, as they came, see Lineage
	moved map[int][]int // by part: where the blocks of its content were sent, see Pointer
}

// Chain returns the chain digest over all parts.
func (r *Request) Chain() model.Digest { return r.Chains[len(r.Chains)-1] }

// Options say how requests are made canonical. The zero Options apply canon/1
// alone.
type Options struct {
	Normalisers []Normaliser
	Redact      *redact.Redactor // nil: nothing is redacted
	// Parent gives the items before the response of an id, as a Lineage does: with
	// ids as they came, neither renamed nor normalised. Tools and instructions among
	// them are passed over: a request says its own. nil knows none.
	Parent func(id string) ([]*model.Part, bool)
}

func refuse(pointer, format string, args ...any) error {
	return &dialect.BadRequest{Pointer: pointer, What: fmt.Sprintf(format, args...)}
}
