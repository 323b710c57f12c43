package tape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/harnessbench/harnessbench/recorder/wire/canon"
)

// maxValue is how many bytes of a value a divergence quotes.
const maxValue = 400

// set compares two JSON values: pointer, values, and a diff where texts are long.
func (d *Divergence) set(base string, recorded, actual []byte) {
	was, now := decoded(recorded), decoded(actual)
	at, a, b := firstUnequal(base, was, now)
	d.Pointer, d.Recorded, d.Actual = at, shorten(a, maxValue), shorten(b, maxValue)
	if len(a) > maxValue || len(b) > maxValue || strings.Contains(a, "\n") || strings.Contains(b, "\n") {
		d.Diff = lineDiff(a, b)
	}
}

// after is the place behind the last part of a request as sent.
func after(r *canon.Request) string {
	for _, p := range slices.Backward(r.Pointers) {
		if i := strings.LastIndexByte(p, '/'); i >= 0 {
			if n, err := strconv.Atoi(p[i+1:]); err == nil {
				return p[:i+1] + strconv.Itoa(n+1)
			}
		}
	}
	return ""
}

func decoded(b []byte) (v any) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return string(b)
	}
	return v
}

// firstUnequal walks two values in the order of names.
func firstUnequal(at string, a, b any) (pointer, was, now string) {
	switch av := a.(type) {
	case map[string]any:
		if bv, ok := b.(map[string]any); ok {
			names := make([]string, 0, len(av)+len(bv))
			for name := range av {
				names = append(names, name)
			}
			for name := range bv {
				if _, both := av[name]; !both {
					names = append(names, name)
				}
			}
			slices.Sort(names)
			for _, name := range names {
				x, inA := av[name]
				y, inB := bv[name]
				p := at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
				switch {
				case !inA:
					return p, "nothing", valueText(y)
				case !inB:
					return p, valueText(x), "nothing"
				}
				if !equalValues(x, y) {
					return firstUnequal(p, x, y)
				}
			}
		}
	case []any:
		if bv, ok := b.([]any); ok {
			for i := range max(len(av), len(bv)) {
				p := at + "/" + strconv.Itoa(i)
				switch {
				case i >= len(av):
					return p, "nothing", valueText(bv[i])
				case i >= len(bv):
					return p, valueText(av[i]), "nothing"
				case !equalValues(av[i], bv[i]):
					return firstUnequal(p, av[i], bv[i])
				}
			}
		}
	}
	return at, valueText(a), valueText(b)
}

func equalValues(a, b any) bool {
	return valueText(a) == valueText(b) && fmt.Sprintf("%T", a) == fmt.Sprintf("%T", b)
}

func valueText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// shorten cuts a text at whole UTF-8 sequences, with a mark.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// lineDiff shows the first lines in which two texts differ, one line of context
// before them.
func lineDiff(recorded, actual string) string {
	a, b := strings.Split(recorded, "\n"), strings.Split(actual, "\n")
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	ea, eb := len(a), len(b)
	for ea > i && eb > i && a[ea-1] == b[eb-1] {
		ea, eb = ea-1, eb-1
	}
	var out strings.Builder
	if i > 0 {
		fmt.Fprintf(&out, "  %s\n", around(a[i-1], a[i-1]))
	}
	const most = 8
	line := func(list []string, k int) string {
		if k < len(list) {
			return list[k]
		}
		return ""
	}
	for k := i; k < min(ea, i+most); k++ {
		fmt.Fprintf(&out, "- %s\n", around(a[k], line(b, k)))
	}
	for k := i; k < min(eb, i+most); k++ {
		fmt.Fprintf(&out, "+ %s\n", around(b[k], line(a, k)))
	}
	if ea-i > most || eb-i > most {
		fmt.Fprintf(&out, "  (%d lines recorded, %d now)\n", ea-i, eb-i)
	}
	return out.String()
}

// around cuts a long line to the place where it differs from the other.
func around(line, other string) string {
	const width = 160
	if len(line) <= width {
		return line
	}
	i := 0
	for i < len(line) && i < len(other) && line[i] == other[i] {
		i++
	}
	start := max(0, min(i-width/4, len(line)-width))
	out := strings.ToValidUTF8(line[start:min(len(line), start+width)], "")
	if start > 0 {
		out = "…" + out
	}
	if start+width < len(line) {
		out += "…"
	}
	return out
}
