package canon

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"slices"
	"sync"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
)

// Output returns what an answer of /v1/responses, JSON or a stream, adds to the
// conversation of those that name it as previous_response_id: its id, and its
// output items in order, verbatim but canonical, with their ids as they came. A
// request that is to be continued by them is made by a Lineage. Answers of other
// APIs, and error answers, are an error: nobody can name them.
func Output(api dialect.API, contentType string, body []byte) (id string, parts []*model.Part, err error) {
	if api != dialect.Responses {
		return "", nil, fmt.Errorf("answers of the %s API have no children", api)
	}
	mediaType, _, _ := mime.ParseMediaType(contentType)
	var response node
	var items []node
	if mediaType == "text/event-stream" {
		response, items, err = streamed(body)
	} else if response, err = decode(body); err == nil {
		items = response.list("output")
	}
	if err != nil {
		return "", nil, fmt.Errorf("answer of the responses API: %w", err)
	}
	if id = response.str("id"); id == "" {
		return "", nil, errors.New("answer of the responses API: it has no id")
	}
	for i := range items {
		n := &items[i]
		if n.kind != '{' {
			return "", nil, fmt.Errorf("answer of the responses API: /output/%d is no object", i)
		}
		role := model.Role(n.str("role"))
		if role == "" {
			role = roleOfType(n.str("type"))
		}
		parts = append(parts, newPart(model.KindMessage, role, n))
	}
	return id, parts, nil
}

// streamed finds the response that a stream ended with. Some servers leave its
// output empty: then it is what the stream said item by item.
func streamed(body []byte) (response node, items []node, err error) {
	var done []node
	for _, e := range dialect.Events(body) {
		if !bytes.HasPrefix(bytes.TrimSpace(e.Data), []byte("{")) {
			continue // [DONE]
		}
		n, err := decode(e.Data)
		if err != nil {
			return node{}, nil, err
		}
		switch n.str("type") {
		case "response.output_item.done":
			if item := n.get("item"); item != nil {
				done = append(done, *item)
			}
		case "response.completed", "response.incomplete", "response.failed":
			if r := n.get("response"); r != nil {
				response = *r
			}
		}
	}
	if response.kind != '{' {
		return node{}, nil, errors.New("the stream does not end with response.completed")
	}
	if items = response.list("output"); len(items) == 0 {
		items = done
	}
	return response, items, nil
}

// Lineage remembers the answers of /v1/responses that passed, so that a request
// can name one of them as its parent. It is safe for concurrent use. Memory grows
// with what each request and answer added, not with whole conversations.
type Lineage struct {
	mu    sync.Mutex
	heirs map[string]*heir
}

// heir is what one response left to its children: what its own request and it
// added to what its parent left.
type heir struct {
	parent *heir
	parts  []*model.Part
}

// Add remembers the answer to r, if it is one that can be named: requests of
// other APIs, and answers without an id, are passed over. An id that comes again
// counts as its last answer.
func (l *Lineage) Add(r *Request, contentType string, body []byte) {
	if r.API != dialect.Responses {
		return
	}
	id, out, err := Output(r.API, contentType, body)
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	h := &heir{parts: slices.Concat(r.sent, out)}
	if r.Previous != "" {
		if h.parent = l.heirs[r.Previous]; h.parent == nil {
			return // its parent is unknown, so it would be told without its beginning
		}
	}
	if l.heirs == nil {
		l.heirs = map[string]*heir{}
	}
	l.heirs[id] = h
}

// Parent returns the items behind a response in order, for Options.Parent.
func (l *Lineage) Parent(id string) ([]*model.Part, bool) {
	l.mu.Lock()
	h, ok := l.heirs[id]
	l.mu.Unlock()
	n := 0
	for at := h; at != nil; at = at.parent {
		n += len(at.parts)
	}
	parts := make([]*model.Part, n)
	for at := h; at != nil; at = at.parent {
		n -= len(at.parts)
		copy(parts[n:], at.parts)
	}
	return parts, ok
}
