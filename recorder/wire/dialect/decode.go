package dialect

import (
	"math"
	"strconv"
	"strings"

	"github.com/harnessbench/harnessbench/loop/model"
)

// Decode reads a request into the vocabulary of package model. Unknown keys are
// let pass, wrong types are not; a mistake is a *BadRequest. Parts are as the loop
// makes them:
//
//   - a tool's schema is canonical JSON, its version 1 unless the metadata say
//     otherwise; a tool of another type than function (web search, freeform) is
//     kept under its name, else under its type, with the schema {};
//   - developer messages are by System; a string is one text item, an array one
//     item per text; images, audio and documents become a text that names their
//     type and digest;
//   - an assistant's message has its reasoning, its text if that is not empty, and
//     its calls with their ids, in the order in which the API keeps them;
//   - the results in a user message of Messages are tool messages of their own,
//     before the rest of it;
//   - consecutive output items of Responses are one message by Assistant; what the
//     provider ran itself is a provider call with the item as its evidence.
//
// Where the metadata say nothing, Meta.Seed is the request's seed, else 1, and
// Meta.Turn one more than the assistant's messages here.
func Decode(api API, body []byte) (*Call, error) {
	root, bad := parseJSON(body, true)
	if bad != nil {
		return nil, bad
	}
	if root.kind != '{' {
		return nil, &BadRequest{What: "is " + kindOf(root) + "; want an object"}
	}
	d := &decoder{call: &Call{API: api}, root: root}
	d.head()
	switch api {
	case Chat:
		d.chat()
	case Responses:
		d.responses()
	case Messages:
		d.messages()
	default:
		d.fail("", "the API "+strconv.Quote(string(api))+" is unknown")
	}
	if d.err != nil {
		return nil, d.err
	}
	if d.call.Meta.Turn == 0 {
		d.call.Meta.Turn = 1 + d.answers
	}
	return d.call, nil
}

type decoder struct {
	reader
	call     *Call
	root     *node
	versions map[int]int // of tools, where not 1
	answers  int         // messages by Assistant
}

// head reads what the APIs share.
func (d *decoder) head() {
	c, root := d.call, d.root
	c.Model = d.text(d.need(root, "model", '"'))
	c.Stream = d.bool(root.get("stream"))
	c.Params.Temperature = d.float(root.get("temperature"))
	c.Params.TopP = d.float(root.get("top_p"))
	c.Meta.Seed = 1
	if v, ok := d.int(root.get("seed")); ok {
		c.Params.Seed, c.Meta.Seed = &v, uint64(v)
	}
	d.meta(root.get("metadata"))
	for i, t := range d.objects(root.get("tools")) {
		d.tool(i, t)
	}
}

// limit reads the first given bound of the answer's tokens.
func (d *decoder) limit(names ...string) {
	for _, name := range names {
		n := d.root.get(name)
		v, ok := d.int(n)
		if !ok {
			continue
		}
		if v < 0 || v > math.MaxInt32 {
			d.fail(n.pointer(), "is out of range; want 0 to "+strconv.Itoa(math.MaxInt32))
			return
		}
		d.call.Params.MaxTokens = int(v)
		return
	}
}

// metaPrefix begins the keys of metadata that are our own.
const metaPrefix = "harnessbench_"

func (d *decoder) meta(n *node) {
	if !d.is(n, '{') {
		return
	}
	m := &d.call.Meta
	for i, key := range n.keys {
		name, ours := strings.CutPrefix(key, metaPrefix)
		if !ours {
			continue
		}
		m.Known = true
		v := n.kids[i]
		text := d.text(v)
		number := func() int {
			x, err := strconv.ParseUint(text, 10, 31)
			if err != nil {
				d.fail(v.pointer(), "is no number in decimal")
			}
			return int(x)
		}
		switch name {
		case "seed":
			x, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				d.fail(v.pointer(), "is no number of 64 bits in decimal")
			}
			m.Seed = x
		case "lane":
			m.Lane = text
		case "turn":
			m.Turn = number()
		case "attempt":
			m.Attempt = number()
		case "occurrence":
			m.Occurrence = number()
		case "purpose":
			m.Purpose = model.Purpose(text)
		case "tools":
			d.toolVersions(v, text)
		}
	}
}

// toolVersions reads "index:version,...".
func (d *decoder) toolVersions(n *node, text string) {
	d.versions = map[int]int{}
	for pair := range strings.SplitSeq(text, ",") {
		index, version, ok := strings.Cut(pair, ":")
		i, err := strconv.ParseUint(index, 10, 31)
		v, err2 := strconv.ParseUint(version, 10, 31)
		if !ok || err != nil || err2 != nil {
			d.fail(n.pointer(), `wants "index:version" pairs between commas`)
			return
		}
		d.versions[int(i)] = int(v)
	}
}

// tool takes a tool of any API: what it says of itself stands in a member
// function or custom, or beside its type.
func (d *decoder) tool(i int, n *node) {
	typ := d.text(n.get("type"))
	of := n
	for _, key := range []string{"function", "custom"} {
		if f := n.get(key); f != nil && d.is(f, '{') {
			of = f
		}
	}
	spec := model.ToolSpec{Name: d.text(of.get("name")), Version: 1, Description: d.text(of.get("description")), Schema: "{}"}
	if spec.Name == "" && typ != "function" && typ != "custom" {
		spec.Name = typ
	}
	if spec.Name == "" {
		d.fail(of.pointer()+"/name", "is missing; want a string")
		return
	}
	if typ == "custom" && n.get("input_schema") == nil { // with one it is a function of Messages
		d.call.Freeform = append(d.call.Freeform, spec.Name)
	}
	for _, key := range []string{"parameters", "input_schema"} {
		if s := of.get(key); s != nil && d.is(s, '{') {
			spec.Schema = s.canonical()
		}
	}
	if v, ok := d.versions[i]; ok {
		spec.Version = v
	}
	d.call.Parts = append(d.call.Parts, model.NewToolPart(spec))
}

// say appends a message. One by another than Assistant has one text at least.
func (d *decoder) say(m model.Message) {
	if len(m.Items) == 0 && m.Role != model.Assistant {
		m.Items = []model.Item{{Type: model.Text}}
	}
	if m.Role == model.Assistant {
		d.answers++
	}
	d.call.Parts = append(d.call.Parts, model.NewMessagePart(m))
}

// content reads a string or an array of blocks.
func (d *decoder) content(n *node) []model.Item {
	switch {
	case n == nil:
		return nil
	case n.kind == '"':
		return []model.Item{{Type: model.Text, Text: n.str}}
	case n.kind != '[':
		d.fail(n.pointer(), "is "+kindOf(n)+"; want a string or an array")
		return nil
	}
	var out []model.Item
	for _, b := range d.objects(n) {
		out = append(out, d.block(b))
	}
	return out
}

// block reads one block of content as a text.
func (d *decoder) block(b *node) model.Item {
	switch typ := d.text(d.need(b, "type", '"')); typ {
	case "text", "input_text", "output_text", "summary_text", "reasoning_text":
		return model.Item{Type: model.Text, Text: d.text(d.need(b, "text", '"'))}
	case "refusal":
		return model.Item{Type: model.Text, Text: d.text(d.need(b, "refusal", '"'))}
	default:
		return model.Item{Type: model.Text, Text: placeholder(typ, b)}
	}
}

// placeholder stands for what is no text: two images differ, and the same image
// sent again does not.
func placeholder(typ string, b *node) string {
	digest := model.SumString(b.canonical())
	return "[" + typ + " sha256:" + string(digest.AppendShort(nil)) + "]"
}

// spoken drops empty texts: what an assistant did not say is no item.
func spoken(items []model.Item) []model.Item {
	out := items[:0]
	for _, it := range items {
		if it.Text != "" || it.Type != model.Text && it.Type != model.Reasoning {
			out = append(out, it)
		}
	}
	return out
}

// arguments reads the arguments of a call: a string as it stands, anything else
// in canonical form.
func arguments(n *node) string {
	switch {
	case n == nil:
		return ""
	case n.kind == '"':
		return n.str
	}
	return n.canonical()
}
