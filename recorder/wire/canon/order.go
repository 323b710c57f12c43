package canon

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
)

// resultOrder is the name of the normaliser that sorts the results of parallel
// calls: clients send them as they finish, which is chance.
const resultOrder = "result-order"

// item is one message or input item.
type item struct {
	n     *node
	ptr   string // in the request as sent, "" for an inherited one
	moved []int  // where the blocks of its content were sent; nil = where they are
}

// order sorts the results among items, if that is declared. What it changes is
// read as sent beside, without normalisers: for Raw, and for a Lineage.
func (p *parser) order(items []item) ([]item, error) {
	if p.strike == nil || !p.strike.order {
		return items, nil
	}
	sorted, batches := sortResults(p.req.API, items)
	if batches == 0 {
		return items, nil
	}
	p.strike.count(resultOrder, batches)
	q := *p
	q.req = &Request{API: p.req.API, Chains: []model.Digest{model.ChainStart}}
	q.ids, q.strike, p.asSent = maps.Clone(p.ids), nil, &q
	for i := range items {
		n := items[i].n.clone()
		if err := q.item(&n, items[i].ptr); err != nil {
			return nil, err
		}
	}
	return sorted, nil
}

// sortResults puts the results of each batch of calls into the order of the calls,
// and returns how many batches that changed. It changes no item in place.
func sortResults(api dialect.API, items []item) (sorted []item, batches int) {
	sorted = slices.Clone(items)
	calls := map[string]int{} // of the batch: by id the place among its calls
	for i := 0; i < len(items); i++ {
		n := items[i].n
		switch k := countResults(api, items[i:]); {
		case api == dialect.Messages && n.str("role") == "user":
			if order := sortBlocks(n, calls); order != nil {
				sorted[i].n, sorted[i].moved = moveBlocks(n, order), order
				batches++
			}
			clear(calls)
		case k > 0:
			ids := make([]string, k)
			for j := range ids {
				ids[j] = callID(items[i+j].n, resultID[api])
			}
			if order := byCall(ids, calls); order != nil {
				for to, from := range order {
					sorted[i+to] = items[i+from]
				}
				batches++
			}
			clear(calls)
			i += k - 1
		case !addCalls(api, n, calls):
			clear(calls)
		}
	}
	return sorted, batches
}

// resultID is the member of a result that names its call.
var resultID = map[dialect.API]string{dialect.Chat: "tool_call_id", dialect.Messages: "tool_use_id", dialect.Responses: "call_id"}

// callID returns what stands for the id of a call, "" for none: an empty id is one.
func callID(n *node, name string) string {
	if v := n.get(name); v != nil && v.kind == '"' {
		return "#" + v.text
	}
	return ""
}

// countResults returns how many of the items are results up to one that is none.
// Messages has results in a message and no items of them.
func countResults(api dialect.API, items []item) int {
	k := slices.IndexFunc(items, func(it item) bool {
		switch api {
		case dialect.Chat:
			return it.n.str("role") != string(model.ToolRole)
		case dialect.Responses:
			return !strings.HasSuffix(it.n.str("type"), "_output")
		}
		return true
	})
	if k < 0 {
		return len(items)
	}
	return k
}

// addCalls adds the calls of an item to those of a batch, and reports whether the
// item can belong to one: it is the assistant's.
func addCalls(api dialect.API, n *node, calls map[string]int) bool {
	add := func(n *node, name string) {
		id := callID(n, name)
		if _, again := calls[id]; id != "" && !again {
			calls[id] = len(calls)
		}
	}
	role := n.str("role")
	switch api {
	case dialect.Chat:
		for i := range n.list("tool_calls") {
			add(&n.list("tool_calls")[i], "id")
		}
	case dialect.Messages:
		for i := range n.list("content") {
			if b := &n.list("content")[i]; b.str("type") == "tool_use" {
				add(b, "id")
			}
		}
	case dialect.Responses:
		role = cmp.Or(role, string(roleOfType(n.str("type"))))
		if strings.HasSuffix(n.str("type"), "_call") {
			add(n, "call_id")
		}
	}
	return role == string(model.Assistant)
}

// sortBlocks returns the order of a message's blocks when its results stand in the
// order of their calls, nil when they do; other blocks keep their place.
func sortBlocks(n *node, calls map[string]int) []int {
	const api = dialect.Messages
	var at []int
	var ids []string
	blocks := n.list("content")
	for i := range blocks {
		if blocks[i].str("type") == "tool_result" {
			at, ids = append(at, i), append(ids, callID(&blocks[i], resultID[api]))
		}
	}
	results := byCall(ids, calls)
	if results == nil {
		return nil
	}
	order := make([]int, len(blocks))
	for i := range order {
		order[i] = i
	}
	for to, from := range results {
		order[at[to]] = at[from]
	}
	return order
}

// moveBlocks returns the message with its blocks in another order.
func moveBlocks(n *node, order []int) *node {
	m := n.clone()
	blocks := m.get("content").arr
	for to, from := range order {
		blocks[to] = n.list("content")[from].clone()
	}
	return &m
}

// byCall returns the order of results in which they follow their calls, nil when
// they do. Those of one call stay in their order, those of an unknown call where
// they are.
func byCall(ids []string, calls map[string]int) []int {
	var known, sorted []int
	order := make([]int, len(ids))
	for i, id := range ids {
		order[i] = i
		if _, ok := calls[id]; ok {
			known = append(known, i)
		}
	}
	sorted = slices.Clone(known)
	slices.SortStableFunc(sorted, func(a, b int) int { return calls[ids[a]] - calls[ids[b]] })
	if slices.Equal(known, sorted) {
		return nil
	}
	for i, to := range known {
		order[to] = sorted[i]
	}
	return order
}

// Pointer returns the RFC 6901 pointer, into the body as sent, of a place in part
// i that Diff points to. It is Pointers[i] and the place in most cases, but
// result-order moves blocks within a message.
func (r *Request) Pointer(i int, place string) string {
	rest, ok := strings.CutPrefix(place, "/content/")
	token, _, _ := strings.Cut(rest, "/")
	moved := r.moved[i]
	if k, err := strconv.Atoi(token); ok && err == nil && 0 <= k && k < len(moved) {
		place = "/content/" + strconv.Itoa(moved[k]) + rest[len(token):]
	}
	return r.Pointers[i] + place
}

// move remembers where the blocks of a part were sent.
func (r *Request) move(i int, order []int) {
	if r.moved == nil {
		r.moved = map[int][]int{}
	}
	r.moved[i] = order
}
