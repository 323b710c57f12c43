package canon

import (
	"strconv"

	"github.com/harnessbench/harnessbench/loop/model"
)

// Diff returns the first place where two parts differ: an RFC 6901 pointer
// relative to the part, and the canonical JSON of both sides there, "" for a side
// that has nothing. A nil part has nothing at all. Parts that say the same in
// another kind or role differ at "". See DiffJSON for the order.
func Diff(recorded, actual *model.Part) (pointer, recordedValue, actualValue string) {
	var a, b []byte
	if recorded != nil {
		a = recorded.JSON
	}
	if actual != nil {
		b = actual.JSON
	}
	pointer, recordedValue, actualValue, equal := DiffJSON(a, b)
	if equal && recorded != nil && actual != nil && (recorded.Kind != actual.Kind || recorded.Role != actual.Role) {
		say := func(p *model.Part) string {
			return string(model.AppendString(nil, string(p.Kind)+" "+string(p.Role)))
		}
		return "", say(recorded), say(actual)
	}
	return pointer, recordedValue, actualValue
}

// DiffJSON returns the first place where two JSON values differ, as Diff does;
// equal says that there is none. Lists are compared in order; members by name,
// in the order of names, as canonical JSON has them. A missing member or element is
// the place itself. Text that is no JSON is compared as it stands, at "".
func DiffJSON(a, b []byte) (pointer, av, bv string, equal bool) {
	if string(a) == string(b) {
		return "", "", "", true
	}
	x, errA := decode(a)
	y, errB := decode(b)
	if errA != nil || errB != nil {
		return "", string(a), string(b), false
	}
	d := differ{}
	if !d.nodes(&x, &y) {
		return "", "", "", true
	}
	return string(d.pointer), show(d.a), show(d.b), false
}

// Text returns the text of a JSON string, as Diff shows values, and false for
// any other value.
func Text(value string) (string, bool) {
	n, err := decode([]byte(value))
	return n.text, err == nil && n.kind == '"'
}

func show(n *node) string {
	if n == nil {
		return ""
	}
	return string(n.append(nil))
}

type differ struct {
	pointer []byte
	a, b    *node
}

// nodes walks to the first difference and reports whether there is one.
func (d *differ) nodes(a, b *node) bool {
	switch {
	case a == nil || b == nil || a.kind != b.kind || a.text != b.text:
		d.a, d.b = a, b
		return true
	case a.kind == '[':
		for i := range max(len(a.arr), len(b.arr)) {
			if d.step(strconv.Itoa(i), element(a, i), element(b, i)) {
				return true
			}
		}
	case a.kind == '{':
		for i, j := 0, 0; i < len(a.obj) || j < len(b.obj); {
			var x, y *member
			if i < len(a.obj) {
				x = &a.obj[i]
			}
			if j < len(b.obj) {
				y = &b.obj[j]
			}
			if x != nil && y != nil {
				if c := compareNames(x.name, y.name); c < 0 {
					y = nil
				} else if c > 0 {
					x = nil
				}
			}
			switch {
			case y == nil:
				return d.step(escape(x.name), &x.node, nil)
			case x == nil:
				return d.step(escape(y.name), nil, &y.node)
			}
			if i, j = i+1, j+1; d.step(escape(x.name), &x.node, &y.node) {
				return true
			}
		}
	}
	return false
}

func (d *differ) step(token string, a, b *node) bool {
	n := len(d.pointer)
	d.pointer = append(append(d.pointer, '/'), token...)
	if d.nodes(a, b) {
		return true
	}
	d.pointer = d.pointer[:n]
	return false
}

func element(n *node, i int) *node {
	if i < len(n.arr) {
		return &n.arr[i]
	}
	return nil
}
