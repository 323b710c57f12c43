package replayer

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/tool"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// Rung is one named tolerance of a replay: a kind of difference that is counted
// and reported, and is no divergence. There is no rung for what is merely
// similar.
//
//	ignore=TYPE/pointer   a field of the lines of one type (RFC 6901)
//	ignore=/pointer       the same of lines of every type
//	args-json             arguments of calls that are equal as JSON values
//
// What follows from a tolerated difference alone is tolerated with it and not
// counted: after one in the body of a part (or the text of a result) its digest
// and the chain digests of requests, after one in an input field the inputs
// digests. The parts of a request are still compared one by one.
type Rung struct {
	rule string
	typ  session.Type // "" = every
	path []string     // of ignore; nil = args-json
}

// argsJSON is the rule of the rung for arguments.
const argsJSON = "args-json"

// ParseRung reads a rule as --tolerant takes it.
func ParseRung(rule string) (Rung, error) {
	if rule == argsJSON {
		return Rung{rule: rule}, nil
	}
	at, ok := strings.CutPrefix(rule, "ignore=")
	if !ok {
		return Rung{}, fmt.Errorf("no rule %q; there are ignore=/pointer, ignore=TYPE/pointer and %s", rule, argsJSON)
	}
	typ, pointer, ok := strings.Cut(at, "/")
	if !ok || pointer == "" {
		return Rung{}, fmt.Errorf("rule %q: name a field by its RFC 6901 pointer, as in ignore=tool.result/text", rule)
	}
	r := Rung{rule: rule, typ: session.Type(typ)}
	if typ != "" && !known[r.typ] {
		return Rung{}, fmt.Errorf("rule %q: sessions have no lines of type %q", rule, typ)
	}
	for _, key := range strings.Split(pointer, "/") {
		r.path = append(r.path, strings.NewReplacer("~1", "/", "~0", "~").Replace(key))
	}
	if !r.names() {
		return Rung{}, fmt.Errorf("rule %q: no such line has a field %q", rule, r.path[0])
	}
	return r, nil
}

// names reports whether any line has the rung's field. The frame of a line is
// not to be ignored.
func (g *Rung) names() bool {
	for t := range known {
		if (g.typ == "" || g.typ == t) && fieldNames[t][g.path[0]] && !slices.Contains([]string{"seq", "t", "h"}, g.path[0]) {
			return true
		}
	}
	return false
}

// String returns the rule.
func (g Rung) String() string { return g.rule }

// Tolerated says how often a rung was needed in one replay.
type Tolerated struct {
	Rule  string `json:"rule"`
	Count int    `json:"count"` // differences; 0 = it never struck
}

// ladder is the state of a replay's rungs.
type ladder struct {
	rungs  []Rung
	counts []int
	spoken bool // a part came out otherwise: chain digests differ from here on
	inputs bool // an input did
	eased  int  // lines from which something was taken
}

func newLadder(rungs []Rung) ladder { return ladder{rungs: rungs, counts: make([]int, len(rungs))} }

// report says how often each rung was needed, in the order given.
func (d *ladder) report() []Tolerated {
	var out []Tolerated
	for i, g := range d.rungs {
		out = append(out, Tolerated{g.rule, d.counts[i]})
	}
	return out
}

// needed lists the rungs that were, for a verdict's reason.
func (d *ladder) needed() string {
	var out []string
	for i, n := range d.counts {
		if n > 0 {
			out = append(out, fmt.Sprintf("%s %d", d.rungs[i].rule, n))
		}
	}
	return strings.Join(out, ", ")
}

// apply takes the tolerated differences, and what follows from them, out of two
// decoded lines.
func (d *ladder) apply(t session.Type, rec, act map[string]any, ev event.Event) {
	eased := false
	defer func() {
		if eased {
			d.eased++
		}
	}()
	for i := range d.rungs {
		g := &d.rungs[i]
		switch {
		case g.path == nil:
			// Fields that are equal were taken out before.
			if req, ok := ev.(*event.ToolRequest); ok && (has(rec, "args") || has(act, "args")) && equalArgs(rec, req) {
				delete(rec, "args")
				delete(act, "args")
				d.counts[i]++
				eased = true
			}
		case g.typ == "" || g.typ == t:
			if blank(rec, act, g.path) {
				d.counts[i]++
				eased = true
				d.follows(t, g.path[0])
				if g.path[0] == "body" {
					blank(rec, act, []string{"digest"})
				}
			}
		}
	}
	if t == session.TypeRequest && d.spoken {
		eased = blank(rec, act, []string{"chain"}) || eased
		eased = blank(rec, act, []string{"add"}) || eased
	}
	if d.inputs {
		eased = blank(rec, act, []string{"inputs"}) || eased
	}
}

// follows notes what comes of a tolerated difference.
func (d *ladder) follows(t session.Type, field string) {
	if t == session.TypePart && field == "body" || t == session.TypeToolResult && field == "text" {
		d.spoken = true
	}
	for _, f := range session.Fields {
		if f.Line == t && f.Name == field && f.Origin == session.Input {
			d.inputs = true
		}
	}
}

// serve puts the recorded observation in the place of one that a call executed
// again gave otherwise, where a rung ignores that field as a whole: the
// conversation goes on as it was.
func (d *ladder) serve(rec, now *tool.Result) {
	for i := range d.rungs {
		g := &d.rungs[i]
		if len(g.path) != 1 || g.typ != "" && g.typ != session.TypeToolResult {
			continue
		}
		switch differ := false; g.path[0] {
		case "text":
			if differ = rec.Text != now.Text; differ {
				now.Text = rec.Text
			}
			d.count(i, differ)
		case "outcome":
			if differ = rec.Outcome != now.Outcome; differ {
				now.Outcome = rec.Outcome
			}
			d.count(i, differ)
		case "exit":
			if differ = !reflect.DeepEqual(rec.Exit, now.Exit); differ {
				now.Exit = rec.Exit
			}
			d.count(i, differ)
		}
	}
}

func (d *ladder) count(i int, differ bool) {
	if differ {
		d.counts[i]++
	}
}

// blank makes two values equal at a path where they differ, and reports whether
// they did. What only one has is taken away; elements of arrays stay, as null.
func blank(rec, act map[string]any, path []string) bool {
	var a, b any = rec, act
	for _, key := range path[:len(path)-1] {
		a, b = member(a, key), member(b, key)
	}
	last := path[len(path)-1]
	if reflect.DeepEqual(member(a, last), member(b, last)) && has(a, last) == has(b, last) {
		return false
	}
	drop(a, last)
	drop(b, last)
	return true
}

func member(v any, key string) any {
	switch v := v.(type) {
	case map[string]any:
		return v[key]
	case []any:
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(v) {
			return v[i]
		}
	}
	return nil
}

func has(v any, key string) bool {
	switch v := v.(type) {
	case map[string]any:
		_, ok := v[key]
		return ok
	case []any:
		i, err := strconv.Atoi(key)
		return err == nil && i >= 0 && i < len(v)
	}
	return false
}

func drop(v any, key string) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, key)
	case []any:
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(v) {
			v[i] = nil
		}
	}
}

// equalArgs reports whether a call's canonical arguments differ from the recorded
// ones as texts and are equal as JSON values. A line without args has those that
// the model wrote.
func equalArgs(rec map[string]any, now *event.ToolRequest) bool {
	was, ok := rec["args"].(string)
	if !ok {
		if _, there := rec["args"]; there {
			return false
		}
		was = now.Call.Args
	}
	if was == now.Args {
		return false
	}
	a, okA := decodeValue(was)
	b, okB := decodeValue(now.Args)
	return okA && okB && equalValues(a, b)
}

func decodeValue(text string) (v any, ok bool) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	return v, dec.Decode(&v) == nil && !dec.More()
}

// equalValues compares JSON values: key order does not count, numbers count by
// their value, exactly.
func equalValues(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			if w, ok := b[k]; !ok || !equalValues(v, w) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equalValues)
	case json.Number:
		b, ok := b.(json.Number)
		return ok && numberKey(string(a)) == numberKey(string(b))
	}
	return a == b
}

// numberKey writes a JSON number so that equal values have equal texts: sign,
// digits without zeros at either end, exponent of the last digit. No arithmetic
// on the number itself: its exponent may be anything.
func numberKey(lexeme string) string {
	mant, exp, _ := strings.Cut(strings.ToLower(lexeme), "e")
	neg := strings.HasPrefix(mant, "-")
	whole, frac, _ := strings.Cut(strings.TrimPrefix(mant, "-"), ".")
	digits := strings.TrimLeft(whole+frac, "0")
	if digits == "" {
		return "0"
	}
	e, err := strconv.ParseInt(exp, 10, 64)
	if exp != "" && (err != nil || e > 1<<60 || e < -1<<60) {
		return lexeme // equal as text or not at all
	}
	e -= int64(len(frac))
	short := strings.TrimRight(digits, "0")
	e += int64(len(digits) - len(short))
	if neg {
		short = "-" + short
	}
	return short + "e" + strconv.FormatInt(e, 10)
}
