package canon

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
)

// shape says where an API keeps its parts.
type shape struct{ system, items string }

var shapes = map[dialect.API]shape{
	dialect.Chat:      {"", "messages"},
	dialect.Messages:  {"system", "messages"},
	dialect.Responses: {"instructions", "input"},
}

// Parse makes the body of a request canonical. Every error is a
// *dialect.BadRequest and names the place: broken JSON, a name twice in an object, a wrong type where parts are
// expected, bounds exceeded, an unknown parent response.
func Parse(api dialect.API, body []byte, o Options) (*Request, error) {
	where, ok := shapes[api]
	if !ok {
		return nil, refuse("", "%q is no API of the endpoint", api)
	}
	root, err := decode(body)
	if err != nil {
		return nil, err
	}
	if root.kind != '{' {
		return nil, refuse("", "the body is no JSON object")
	}
	if o.Redact != nil {
		redactNode(&root, o.Redact)
		maskCredentials(&root)
	}
	p := &parser{req: &Request{API: api, Model: root.str("model")}, o: o, ids: map[string]string{},
		strike: newStriker(o.Normalisers), items: where.items, raw: model.ChainStart, head: true}
	p.req.Chains = append(p.req.Chains, model.ChainStart)
	top, err := p.split(&root, where)
	if err != nil {
		return nil, err
	}
	if err := p.parts(top, where); err != nil {
		return nil, err
	}
	return p.finish(), nil
}

// parser carries a request while its parts are added in order.
type parser struct {
	req    *Request
	o      Options
	ids    map[string]string // as it came -> by first appearance
	strike *striker
	items  string       // the member that holds the conversation
	raw    model.Digest // chain before normalisers
	params model.Digest // of params before normalisers
	head   bool         // no message has come yet: system messages belong to the system
	rooted bool
	asSent *parser // reads the items in the order as sent, where results were sorted
}

// top is what the top level of a body holds beside params.
type top struct{ tools, system, items *node }

// split sorts the members of the body: what is dropped, what makes parts, and
// the params.
func (p *parser) split(root *node, where shape) (top, error) {
	var t top
	params := node{kind: '{'}
	for i := range root.obj {
		m := &root.obj[i]
		keep := false
		var err error
		switch m.name {
		case "user", "safety_identifier", "prompt_cache_key", "stream_options", "cache_control":
		case "stream":
			if m.kind != 't' && m.kind != 'f' && m.kind != 'n' {
				return t, refuse("/stream", "must be true or false")
			}
			p.req.Stream = m.kind == 't'
		case "metadata":
			keep = stripMetadata(&m.node)
		case "tools":
			t.tools, keep, err = listOf(m, false)
		case where.items:
			t.items, keep, err = listOf(m, p.req.API == dialect.Responses)
		case where.system:
			if t.system, keep, err = listOf(m, true); p.req.API == dialect.Responses && m.kind == '[' {
				err = refuse("/instructions", "must be a text")
			}
		case "previous_response_id":
			keep = p.req.API != dialect.Responses
			if !keep && m.kind != '"' && m.kind != 'n' {
				return t, refuse("/previous_response_id", "must be a text")
			}
		default:
			keep = true
		}
		if err != nil {
			return t, err
		}
		if keep {
			params.obj = append(params.obj, *m)
		}
	}
	if t.items == nil && p.req.API != dialect.Responses && root.get("messages") == nil {
		return t, refuse("/messages", "is missing")
	}
	if p.req.API == dialect.Responses {
		p.req.Previous = root.str("previous_response_id")
	}
	p.req.Params = params.append(nil)
	p.params = model.Sum(p.req.Params)
	if p.strike.drop("", &params) {
		p.req.Params = params.append(nil)
	}
	p.req.ParamsDigest = model.Sum(p.req.Params)
	return t, nil
}

// listOf takes a member for parts. Null and the empty list make none: they stay
// among the params, so that they differ from a member that is not there.
func listOf(m *member, orText bool) (n *node, keep bool, err error) {
	switch {
	case m.kind == 'n', m.kind == '[' && len(m.arr) == 0:
		return nil, true, nil
	case m.kind == '[', m.kind == '"' && orText:
		return &m.node, false, nil
	case orText:
		return nil, false, refuse("/"+m.name, "must be a text or a list")
	default:
		return nil, false, refuse("/"+m.name, "must be a list")
	}
}

// parts adds tools, system, inherited items and the request's own, in this order.
func (p *parser) parts(t top, where shape) error {
	if t.tools != nil {
		for i := range t.tools.arr {
			n, ptr := &t.tools.arr[i], "/tools/"+strconv.Itoa(i)
			if n.kind != '{' {
				return refuse(ptr, "must be an object")
			}
			p.add(model.KindTool, "", ptr, n)
		}
	}
	if t.system != nil {
		if err := p.system(t.system, where.system); err != nil {
			return err
		}
	}
	items, err := p.inherit()
	if err != nil {
		return err
	}
	if t.items != nil {
		list := t.items.arr
		if t.items.kind == '"' { // responses: a bare text is one user message
			list = []node{{kind: '{', obj: []member{{"content", text(t.items.text)}, {"role", text("user")}}}}
		}
		for i := range list {
			items = append(items, item{n: &list[i], ptr: "/" + where.items + "/" + strconv.Itoa(i)})
		}
	}
	if items, err = p.order(items); err != nil {
		return err
	}
	for _, it := range items {
		if it.moved != nil {
			p.req.move(len(p.req.Parts), it.moved)
		}
		if err := p.item(it.n, it.ptr); err != nil {
			return err
		}
	}
	return nil
}

// system adds the top-level system prompt: Anthropic's blocks one by one, the
// instructions of Responses as the text they are.
func (p *parser) system(n *node, name string) error {
	if p.req.API == dialect.Responses {
		p.add(model.KindSystem, model.System, "/"+name, n)
		return nil
	}
	list := n.arr
	if n.kind == '"' {
		list = []node{textBlock("text", n.text)}
	}
	for i := range list {
		ptr := "/" + name + "/" + strconv.Itoa(i)
		if list[i].kind != '{' {
			return refuse(ptr, "must be an object")
		}
		p.add(model.KindSystem, model.System, ptr, &list[i])
	}
	return nil
}

// inherit returns the items behind previous_response_id. Tools and instructions of
// the parent are not among them: the API does not inherit these either.
func (p *parser) inherit() (items []item, err error) {
	if p.req.Previous == "" {
		return nil, nil
	}
	var parts []*model.Part
	ok := p.o.Parent != nil
	if ok {
		parts, ok = p.o.Parent(p.req.Previous)
	}
	if !ok {
		return nil, refuse("/previous_response_id", "no response %q has passed this endpoint", p.req.Previous)
	}
	for _, part := range parts {
		if part.Kind == model.KindTool || len(part.JSON) == 0 || part.JSON[0] != '{' {
			continue
		}
		n, err := decode(part.JSON)
		if err != nil {
			return nil, refuse("/previous_response_id", "the items of response %q: %v", p.req.Previous, err)
		}
		if p.o.Redact != nil {
			redactNode(&n, p.o.Redact)
		}
		items = append(items, item{n: &n})
	}
	return items, nil
}

// item adds one message or input item.
func (p *parser) item(n *node, ptr string) error {
	if n.kind != '{' {
		return refuse(ptr, "must be an object")
	}
	role := n.get("role")
	if role != nil && role.kind != '"' || role == nil && p.req.API != dialect.Responses {
		return refuse(ptr+"/role", "must be a text")
	}
	r := model.Role(n.str("role"))
	if role == nil {
		r = roleOfType(n.str("type"))
	}
	kind := model.KindMessage
	if p.head && (r == model.System || r == "developer") {
		kind = model.KindSystem
	} else {
		p.head = false
	}
	p.add(kind, r, ptr, n)
	return nil
}

// roleOfType says who speaks an item of Responses that has no role.
func roleOfType(t string) model.Role {
	switch {
	case strings.HasSuffix(t, "_output"), t == "mcp_approval_response":
		return model.ToolRole
	case t == "message":
		return ""
	case t == "additional_tools", t == "configuration_update": // of the client
		return "developer"
	default: // reasoning, function_call and all other calls, item_reference
		return model.Assistant
	}
}

// add makes a part of a node and goes on with the chain.
func (p *parser) add(kind model.PartKind, role model.Role, ptr string, n *node) {
	dropCacheControl(n)
	if kind != model.KindTool {
		p.blocks(n, role)
	}
	var part *model.Part
	if p.req.API == dialect.Responses && kind != model.KindTool && ptr != "" && n.kind == '{' {
		part = newPart(kind, role, n)
		p.req.sent = append(p.req.sent, part)
	}
	if renamed := kind != model.KindTool && p.rename(n); renamed || part == nil {
		part = newPart(kind, role, n)
	}
	p.raw = model.Chain(p.raw, part)
	dropped := p.strike.drop(cmp.Or(ptr, "/"+p.items+"/*"), n)
	if p.strike != nil && p.strike.node(n) || dropped {
		part = newPart(kind, role, n)
	}
	r := p.req
	r.Parts = append(r.Parts, part)
	r.Pointers = append(r.Pointers, ptr)
	r.Chains = append(r.Chains, model.Chain(r.Chain(), part))
	if !p.rooted && kind == model.KindMessage && role == model.User {
		r.Root, p.rooted = r.Chain(), true
	}
}

func newPart(kind model.PartKind, role model.Role, n *node) *model.Part {
	b := n.append(make([]byte, 0, n.size()))
	return &model.Part{Kind: kind, Role: role, JSON: b, Size: len(b), Digest: model.Sum(b)}
}

func (p *parser) finish() *Request {
	r := p.req
	if !p.rooted {
		r.Root = r.Chain()
	}
	raw := p.raw
	if q := p.asSent; q != nil {
		raw, r.sent = q.raw, q.req.sent
	}
	r.Raw = model.Sum(append(raw[:], p.params[:]...))
	r.Applied = p.strike.counts()
	return r
}
