package canon

import (
	"slices"
	"strconv"
	"strings"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/redact"
	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
)

// stripMetadata removes what names a user or is our own, and reports whether the
// member stays: an object that became empty by this does not.
func stripMetadata(n *node) bool {
	before := len(n.obj)
	n.obj = slices.DeleteFunc(n.obj, func(m member) bool {
		return m.name == "user_id" || strings.HasPrefix(m.name, "harnessbench_")
	})
	return len(n.obj) == before || len(n.obj) > 0
}

// free are the members in which a user's own data begins: schemas and arguments.
// A property named cache_control in there is no cache mark.
var free = map[string]bool{"arguments": true, "input": true, "input_schema": true, "input_examples": true, "parameters": true, "schema": true}

// dropCacheControl removes cache marks at any depth, but not in a user's own data.
func dropCacheControl(n *node) {
	for i := range n.arr {
		dropCacheControl(&n.arr[i])
	}
	if len(n.obj) == 0 {
		return
	}
	n.obj = slices.DeleteFunc(n.obj, func(m member) bool { return m.name == "cache_control" })
	for i := range n.obj {
		if m := &n.obj[i]; (m.kind == '{' || m.kind == '[') && !free[m.name] {
			dropCacheControl(&m.node)
		}
	}
}

// blocks writes a text that stands for a list of blocks as the one block it means.
func (p *parser) blocks(n *node, role model.Role) {
	content := n.get("content")
	if content == nil {
		return
	}
	kind := "text"
	if p.req.API == dialect.Responses {
		if t := n.str("type"); t != "" && t != "message" {
			return
		}
		kind = "input_text"
		if role == model.Assistant {
			kind = "output_text"
		}
	}
	asBlock(content, kind)
	if p.req.API != dialect.Messages {
		return
	}
	for i := range content.arr {
		b := &content.arr[i]
		asBlock(b.get("content"), "text") // of a tool_result
		if src := b.get("source"); src.str("type") == "content" {
			asBlock(src.get("content"), "text") // of a document
		}
	}
}

func asBlock(n *node, kind string) {
	if n != nil && n.kind == '"' {
		*n = node{kind: '[', arr: []node{textBlock(kind, n.text)}}
	}
}

// rename gives ids names by first appearance, at the places where the API has
// ids, and reports whether there were any.
func (p *parser) rename(n *node) bool {
	seen := false
	name := func(v *node) {
		if v == nil || v.kind != '"' {
			return
		}
		id, ok := p.ids[v.text]
		if !ok {
			id = "#" + strconv.Itoa(len(p.ids)+1)
			p.ids[v.text] = id
		}
		v.text, seen = id, true
	}
	// What a provider keeps is known by its id alone: one that the request does not
	// hold stays, or references to different things would be equal.
	refer := func(v *node) {
		if v != nil && p.ids[v.text] != "" {
			name(v)
		}
	}
	switch p.req.API {
	case dialect.Chat:
		refer(n.get("audio").get("id"))
		for i := range n.list("tool_calls") {
			name(n.list("tool_calls")[i].get("id"))
		}
		name(n.get("tool_call_id"))
	case dialect.Messages:
		for i := range n.list("content") {
			b := &n.list("content")[i]
			if strings.HasSuffix(b.str("type"), "tool_use") {
				name(b.get("id"))
			}
			name(b.get("tool_use_id"))
			name(b.get("caller").get("tool_id"))
		}
	case dialect.Responses:
		if n.str("type") == "item_reference" {
			refer(n.get("id"))
			return seen
		}
		for _, m := range []string{"id", "call_id", "approval_request_id"} {
			name(n.get(m))
		}
		for _, m := range []string{"pending_safety_checks", "acknowledged_safety_checks"} {
			for i := range n.list(m) {
				name(n.list(m)[i].get("id"))
			}
		}
	}
	return seen
}

// redactNode replaces secrets in every text, names included.
func redactNode(n *node, r *redact.Redactor) {
	if n.kind == '"' {
		n.text = r.Text(n.text)
		return
	}
	for i := range n.arr {
		redactNode(&n.arr[i], r)
	}
	changed := false
	for i := range n.obj {
		m := &n.obj[i]
		if name := r.Text(m.name); name != m.name {
			m.name, changed = name, true
		}
		redactNode(&m.node, r)
	}
	if !changed {
		return
	}
	n.sort()
	for i, same := 0, 0; i+1 < len(n.obj); i++ { // keys of one kind and length look alike now
		if same++; n.obj[i+1].name != n.obj[i+1-same].name {
			same = 0
			continue
		}
		n.obj[i+1].name += strings.Repeat("*", same)
	}
}

// maskCredentials overwrites what is a secret by its place: tools on other
// servers carry keys that look like anything.
func maskCredentials(root *node) {
	for _, list := range []string{"tools", "mcp_servers"} {
		for i := range root.list(list) {
			n := &root.list(list)[i]
			for _, name := range []string{"authorization", "authorization_token"} {
				maskText(n.get(name))
			}
			if h := n.get("headers"); h != nil {
				for j := range h.obj {
					maskText(&h.obj[j].node)
				}
			}
		}
	}
}

func maskText(n *node) {
	if n != nil && n.kind == '"' {
		n.text = redact.Mask(n.text)
	}
}
