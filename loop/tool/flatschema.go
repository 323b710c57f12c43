package tool

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool/internal/rawjson"
)

// flatSchema decides the common case without decoding anything: an object of
// strings, numbers and booleans. It only ever says "accepted" or "ask the full
// validator"; a fuzz target holds the first answer against the second.
type flatSchema struct {
	props    []flatProp
	required uint64 // bits of props
	open     bool   // additional properties are allowed
}

type flatProp struct {
	name           string
	typ            string // string, integer, number, boolean
	enum           []string
	minLen, maxLen int   // bytes that surely satisfy are what is checked
	min, max       int64 // of numbers
}

// newFlatSchema returns nil for schemas that say more than it understands.
func newFlatSchema(doc any) *flatSchema {
	root, ok := doc.(map[string]any)
	if !ok || root["type"] != "object" || !only(root, "type", "properties", "required", "additionalProperties", "title", "description") {
		return nil
	}
	f := &flatSchema{open: true}
	if v, ok := root["additionalProperties"]; ok {
		if f.open, ok = v.(bool); !ok {
			return nil
		}
	}
	props, ok := root["properties"].(map[string]any)
	if !ok && root["properties"] != nil || len(props) > 64 {
		return nil
	}
	for name, v := range props {
		p, ok := newFlatProp(name, v)
		if !ok {
			return nil
		}
		f.props = append(f.props, p)
	}
	required, ok := root["required"].([]any)
	if !ok && root["required"] != nil {
		return nil
	}
	for _, v := range required {
		name, _ := v.(string)
		i := f.index(name)
		if i < 0 {
			return nil
		}
		f.required |= 1 << i
	}
	return f
}

func newFlatProp(name string, v any) (flatProp, bool) {
	p := flatProp{name: name, maxLen: MaxArgs, min: minInt, max: maxInt}
	m, ok := v.(map[string]any)
	if !ok || string(model.AppendString(nil, name)) != `"`+name+`"` ||
		!only(m, "type", "title", "description", "default", "examples", "enum", "minLength", "maxLength", "minimum", "maximum") {
		return p, false
	}
	p.typ, _ = m["type"].(string)
	switch p.typ {
	case "string", "integer", "number", "boolean":
	default:
		return p, false
	}
	if v, ok := m["enum"]; ok {
		list, _ := v.([]any)
		for _, v := range list {
			s, ok := v.(string)
			if !ok {
				return p, false
			}
			p.enum = append(p.enum, string(model.AppendString(nil, s)))
		}
		if p.enum == nil {
			return p, false
		}
	}
	lo, ok1 := bound(m, "minimum", p.min)
	hi, ok2 := bound(m, "maximum", p.max)
	minLen, ok3 := bound(m, "minLength", 0)
	maxLen, ok4 := bound(m, "maxLength", MaxArgs)
	p.min, p.max, p.minLen, p.maxLen = lo, hi, int(minLen), int(min(maxLen, MaxArgs))
	return p, ok1 && ok2 && ok3 && ok4
}

const (
	maxInt = 1<<62 - 1
	minInt = -maxInt
)

// bound reads an integer keyword; ok is false when it is there and is none.
func bound(m map[string]any, key string, unset int64) (n int64, ok bool) {
	v, there := m[key]
	if !there {
		return unset, true
	}
	num, _ := v.(json.Number)
	n, err := strconv.ParseInt(string(num), 10, 64)
	return n, err == nil && n >= minInt && n <= maxInt
}

func only(m map[string]any, keys ...string) bool {
	n := 0
	for _, k := range keys {
		if _, ok := m[k]; ok {
			n++
		}
	}
	return n == len(m)
}

func (f *flatSchema) index(name string) int {
	for i := range f.props {
		if f.props[i].name == name {
			return i
		}
	}
	return -1
}

// accepts reports that canonical arguments surely satisfy the schema.
func (f *flatSchema) accepts(args string) bool {
	if args == "" || args[0] != '{' {
		return false
	}
	ok, seen := true, uint64(0)
	rawjson.Each(args, func(name, value string) bool {
		i := f.index(name)
		if i < 0 {
			// An escaped name may stand for a known one.
			ok = f.open && strings.IndexByte(name, '\\') < 0
			return ok
		}
		seen |= 1 << i
		ok = f.props[i].accepts(value)
		return ok
	})
	return ok && seen&f.required == f.required
}

func (p *flatProp) accepts(value string) bool {
	if value == "" {
		return false
	}
	switch c := value[0]; p.typ {
	case "string":
		return c == '"' && p.acceptsLen(value) && p.acceptsEnum(value)
	case "boolean":
		return (value == "true" || value == "false") && p.enum == nil
	default: // integer, number
		if flatNumber(value) != len(value) {
			return false
		}
		n, err := strconv.ParseInt(value, 10, 64)
		return err == nil && n >= p.min && n <= p.max && p.enum == nil
	}
}

// acceptsLen: a string of n bytes between its quotes has at least n/6 characters
// (escapes take up to 6 bytes, UTF-8 up to 4) and at most n.
func (p *flatProp) acceptsLen(value string) bool {
	n := len(value) - 2
	return n <= p.maxLen && (p.minLen == 0 || (n+5)/6 >= p.minLen)
}

func (p *flatProp) acceptsEnum(value string) bool {
	if p.enum == nil {
		return true
	}
	for _, e := range p.enum {
		if e == value {
			return true
		}
	}
	return false
}
