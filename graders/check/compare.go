package check

import (
	"fmt"
	"strconv"
	"strings"
)

// at follows an RFC 6901 pointer.
func (v *value) at(pointer string) (*value, error) {
	if pointer == "" {
		return v, nil
	}
	seen := ""
	for _, part := range strings.Split(pointer[1:], "/") {
		seen += "/" + part
		name := unescape(part)
		var next *value
		switch v.kind {
		case mapValue:
			next = v.get(name)
		case listValue:
			if i, err := strconv.Atoi(name); err == nil && strconv.Itoa(i) == name && i >= 0 && i < len(v.list) {
				next = v.list[i]
			}
		}
		if next == nil {
			return nil, fmt.Errorf("there is no value at %s", cut(seen, 120))
		}
		v = next
	}
	return v, nil
}

// Lookup returns the value at an RFC 6901 pointer in a JSON text: the content of
// a string, the canonical JSON of anything else. ok is false when the text is no
// JSON or nothing is there.
func Lookup(text, pointer string) (got string, ok bool) {
	v, err := parseJSON([]byte(text))
	if err != nil || pointerProblem(pointer) != nil {
		return "", false
	}
	if v, err = v.at(pointer); err != nil {
		return "", false
	}
	if v.kind == stringValue {
		return v.text, true
	}
	return string(v.appendCanonical(nil)), true
}

// Pointer returns the RFC 6901 pointer to a member of the root.
func Pointer(name string) string { return "/" + escape(name) }

func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

func unescape(part string) string {
	return strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
}

// diff is the first place, in the order of want, where two values part.
type diff struct {
	pointer   string
	got, want string // cut; empty when absent
}

// say tells a model what is wrong without giving the wanted value away.
func (d *diff) say() string {
	switch {
	case d.got == "":
		return "there is no value at " + cut(orRoot(d.pointer), 120)
	case d.want == "":
		return "the value at " + cut(orRoot(d.pointer), 120) + " should not be there"
	default:
		return "the value at " + cut(orRoot(d.pointer), 120) + " is wrong"
	}
}

// difference compares by value: numbers exactly and whatever their spelling,
// members whatever their order. It returns nil when the values are equal. Depth
// is bounded by parsing.
func difference(got, want *value, pointer string) *diff {
	equal := got.kind == want.kind
	if equal {
		switch got.kind {
		case numberValue:
			equal = parseDecimal(got.text).equal(parseDecimal(want.text))
		case stringValue, boolValue:
			equal = got.text == want.text
		case listValue:
			return listDifference(got, want, pointer)
		case mapValue:
			return mapDifference(got, want, pointer)
		}
	}
	if equal {
		return nil
	}
	return &diff{pointer: pointer, got: show(got), want: show(want)}
}

func listDifference(got, want *value, pointer string) *diff {
	for i, w := range want.list {
		p := pointer + "/" + strconv.Itoa(i)
		if i >= len(got.list) {
			return &diff{pointer: p, want: show(w)}
		}
		if d := difference(got.list[i], w, p); d != nil {
			return d
		}
	}
	if n := len(want.list); len(got.list) > n {
		return &diff{pointer: pointer + "/" + strconv.Itoa(n), got: show(got.list[n])}
	}
	return nil
}

func mapDifference(got, want *value, pointer string) *diff {
	gs, ws := got.sorted(), want.sorted()
	for len(ws) > 0 {
		p := pointer + "/" + escape(ws[0].key)
		switch {
		case len(gs) == 0 || gs[0].key > ws[0].key:
			return &diff{pointer: p, want: show(ws[0].val)}
		case gs[0].key < ws[0].key:
			return &diff{pointer: pointer + "/" + escape(gs[0].key), got: show(gs[0].val)}
		}
		if d := difference(gs[0].val, ws[0].val, p); d != nil {
			return d
		}
		gs, ws = gs[1:], ws[1:]
	}
	if len(gs) > 0 {
		return &diff{pointer: pointer + "/" + escape(gs[0].key), got: show(gs[0].val)}
	}
	return nil
}

// show prints a value for evidence.
func show(v *value) string { return cut(string(v.appendCanonical(nil)), 160) }
