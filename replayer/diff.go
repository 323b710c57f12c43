package replayer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/workspace"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// longText is how many bytes of a value a divergence quotes.
const longText = 400

// difference is the first unequal field of two lines.
type difference struct {
	pointer          string
	recorded, actual string
}

// difference compares a recorded line with a payload field by field: key order
// does not count, numbers count by their lexemes, annotations do not count.
// Under another configuration the digest of inputs does not count either, since
// the header is one of them.
// What a rung tolerates is taken out before.
func (r *replay) difference(l *session.Line, payload []byte, ev event.Event) (*difference, error) {
	rec, err := splitPayload(l.Payload())
	if err != nil {
		return nil, err
	}
	act, err := splitPayload(payload)
	if err != nil {
		return nil, err
	}
	a, b := map[string]any{}, map[string]any{}
	for name, raw := range rec {
		// What is not known is a field of a later minor version.
		if bytes.Equal(raw, act[name]) || !fieldNames[l.Type][name] || r.ignores(l.Type, name) {
			delete(act, name)
			continue
		}
		if a[name], err = decodeField(raw); err != nil {
			return nil, err
		}
	}
	for name, raw := range act {
		if r.ignores(l.Type, name) {
			continue
		}
		if b[name], err = decodeField(raw); err != nil {
			return nil, err
		}
	}
	r.ladder.apply(l.Type, a, b, ev)
	return firstDifference("", a, b), nil
}

func (r *replay) ignores(t session.Type, name string) bool {
	return annotations[t][name] || r.current && name == "inputs"
}

// splitPayload reads `,"key":value...` as raw values, which lie in p: what is
// equal byte for byte is not decoded.
func splitPayload(p []byte) (map[string][]byte, error) {
	out := map[string][]byte{}
	if len(p) == 0 {
		return out, nil
	}
	b := append(append([]byte{'{'}, p[1:]...), '}')
	dec := jsontext.NewDecoder(bytes.NewBuffer(b), jsontext.AllowDuplicateNames(true)) // the reader has refused them
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		v, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		end := dec.InputOffset()
		out[key] = b[end-int64(len(v)) : end]
	}
	return out, nil
}

// maxDecoded bounds, in bytes, a field that is decoded to find where it differs:
// a decoded list takes up to fifty times the bytes that stand in the line. A
// larger one that differs differs as a whole.
const maxDecoded = 2 << 20

// large is the JSON of a value that is not decoded.
type large string

func decodeField(raw []byte) (any, error) {
	if len(raw) > maxDecoded && raw[0] != '"' {
		return large(raw), nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}

var annotations, fieldNames = fieldTables()

func fieldTables() (ann, all map[session.Type]map[string]bool) {
	ann, all = map[session.Type]map[string]bool{}, map[session.Type]map[string]bool{}
	for t := range known {
		ann[t], all[t] = map[string]bool{}, map[string]bool{}
		for _, f := range session.Fields {
			if f.Line != t && f.Line != "" {
				continue
			}
			name, _, nested := strings.Cut(f.Name, ".")
			name, _, _ = strings.Cut(name, "[")
			all[t][name] = true
			if f.Origin == session.Annotation && !nested && name == f.Name {
				ann[t][name] = true
			}
		}
	}
	return ann, all
}

// firstDifference walks two JSON values in sorted key order.
func firstDifference(at string, a, b any) *difference {
	switch av := a.(type) {
	case map[string]any:
		if bv, ok := b.(map[string]any); ok {
			return mapDifference(at, av, bv)
		}
	case []any:
		if bv, ok := b.([]any); ok {
			return listDifference(at, av, bv)
		}
	default:
		if a == b {
			return nil
		}
	}
	return &difference{at, showValue(a), showValue(b)}
}

func mapDifference(at string, a, b map[string]any) *difference {
	keys := make([]string, 0, len(a)+len(b))
	for k := range a {
		keys = append(keys, k)
	}
	for k := range b {
		if _, both := a[k]; !both {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		p := at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(k)
		av, inA := a[k]
		bv, inB := b[k]
		if !inA || !inB {
			return &difference{p, showMaybe(av, inA), showMaybe(bv, inB)}
		}
		if d := firstDifference(p, av, bv); d != nil {
			return d
		}
	}
	return nil
}

func listDifference(at string, a, b []any) *difference {
	for i := range min(len(a), len(b)) {
		if d := firstDifference(at+"/"+strconv.Itoa(i), a[i], b[i]); d != nil {
			return d
		}
	}
	if len(a) != len(b) {
		i := min(len(a), len(b))
		d := &difference{pointer: at + "/" + strconv.Itoa(i), recorded: "nothing", actual: "nothing"}
		if i < len(a) {
			d.recorded = showValue(a[i])
		} else {
			d.actual = showValue(b[i])
		}
		return d
	}
	return nil
}

func showMaybe(v any, there bool) string {
	if !there {
		return "nothing"
	}
	return showValue(v)
}

func showValue(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case large:
		return string(v)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// shorten cuts a text in the middle of nothing: whole UTF-8 sequences, with a
// mark.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// oneLine is how long two values may be to be shown whole, one above the other.
const oneLine = 120

// valueDiff is the diff of two values, "" where showing both whole says more.
func valueDiff(recorded, actual string) string {
	if len(recorded) <= oneLine && len(actual) <= oneLine && !strings.Contains(recorded, "\n") && !strings.Contains(actual, "\n") {
		return ""
	}
	return lineDiff(recorded, actual)
}

// mostLines is how many lines of each side a diff shows, so that a divergence
// stays on one screen.
const mostLines = 6

// lineDiff shows the first lines in which two texts differ, with the line before
// them, and says how much differs in all.
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
	na, nb := hunk(a[i:ea], b[i:eb])
	var out strings.Builder
	if i > 0 {
		fmt.Fprintf(&out, "  %s\n", around(a[i-1], a[i-1]))
	}
	side := func(mark string, own, other []string) {
		for k, line := range own[:min(len(own), mostLines)] {
			against := ""
			if k < len(other) {
				against = other[k]
			}
			fmt.Fprintf(&out, "%s %s\n", mark, around(line, against))
		}
	}
	side("-", a[i:i+na], b[i:i+nb])
	side("+", b[i:i+nb], a[i:i+na])
	if restA, restB := ea-i-min(na, mostLines), eb-i-min(nb, mostLines); restA+restB > 0 {
		fmt.Fprintf(&out, "  (the difference goes on: %d more lines recorded, %d now)\n", restA, restB)
	}
	return out.String()
}

// hunk is how many lines of each side belong to the first difference: up to the
// nearest line, no blank one, in which the two agree again. It looks at a few
// lines only; beyond them all is one difference.
func hunk(a, b []string) (na, nb int) {
	const reach = 2 * mostLines
	for sum := 1; sum <= 2*reach; sum++ {
		for na := max(0, sum-reach); na <= min(sum, reach); na++ {
			nb := sum - na
			if na < len(a) && nb < len(b) && a[na] == b[nb] && strings.TrimSpace(a[na]) != "" {
				return na, nb
			}
		}
	}
	return len(a), len(b)
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

func shellQuote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./+@:") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func treeDigestOf(entries []workspace.Entry) model.Digest { return workspace.TreeDigest(entries) }
