package tape

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/wire/canon"
	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
	"github.com/harnessbench/harnessbench/replayer"
)

// diverge makes the miss of a request that the recording does not have.
func (p *Player) diverge(lane *playLane, known bool, r *canon.Request, k key) *Miss {
	x, l := p.candidate(lane, known, r)
	if x == nil {
		return p.exhausted(lane, r)
	}
	d := &Divergence{Lane: x.Lane, Turn: x.Turn, Show: p.show(x.Turn)}
	var notes []string
	same, other := l.asked(k, r.Stream), l.asked(k, !r.Stream)
	if same > 0 {
		notes = append(notes, fmt.Sprintf("an equal request was recorded %s, and is used up", times(same)))
	}
	d.root = lane != nil && !known && lane.served == 0
	if d.root {
		notes = append(notes, "no recorded conversation begins like this one")
	}
	if x.Request.API != r.API {
		d.Code, d.Recorded, d.Actual = replayer.CodeWireAPI, string(x.Request.API), string(r.API)
		notes = append(notes, "another API was asked")
	} else {
		notes = append(notes, d.compare(x, r)...)
	}
	if d.Code != replayer.CodeWireStream && same+other > 0 {
		d.Code = replayer.CodeWireAgain
		if same == 0 {
			notes = append(notes, fmt.Sprintf("a request equal but for stream was recorded %s, and is used up", times(other)))
		}
	}
	d.Note = strings.Join(notes, "; ")
	return newMiss(replayer.Diverged, d)
}

// asked counts the recorded requests of a lane with this key that asked for a
// stream, or did not.
func (l *playLane) asked(k key, stream bool) (n int) {
	for _, x := range l.list {
		if x.Request.Stream == stream && k == (key{x.Request.API, x.at.chain, x.Request.ParamsDigest}) {
			n++
		}
	}
	return n
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return strconv.Itoa(n) + " times"
}

// candidate is the recorded request that a miss is compared with: of those not
// served yet the one that is equal for the most parts, the first of several; in
// the conversation's own lane, or, where its root is unknown, in any.
func (p *Player) candidate(lane *playLane, known bool, r *canon.Request) (best *Exchange, of *playLane) {
	longest := -1
	look := func(l *playLane) {
		for i, x := range l.list {
			if l.done[i] {
				continue
			}
			n := common(x.at, r)
			if x.Request.API != r.API {
				n = 0
			}
			if n > longest {
				best, of, longest = x, l, n
			}
		}
	}
	if lane != nil {
		if look(lane); known || lane.served > 0 {
			return best, of
		}
	}
	for _, l := range p.lanes {
		if l != lane {
			look(l)
		}
	}
	return best, of
}

// common is how many parts a recorded and a new request have in common.
func common(at *node, r *canon.Request) int {
	for at.depth >= len(r.Chains) {
		at = at.parent
	}
	for at.chain != r.Chains[at.depth] {
		at = at.parent
	}
	return at.depth
}

// compare fills in where two requests part, and returns what else is to be said.
func (d *Divergence) compare(x *Exchange, r *canon.Request) (notes []string) {
	at, recorded := common(x.at, r), x.at.depth
	sameParams := x.Request.ParamsDigest == r.ParamsDigest
	switch {
	case at == recorded && at == len(r.Parts) && sameParams:
		d.Code, d.Pointer, d.Recorded, d.Actual = replayer.CodeWireStream, "/stream", strconv.FormatBool(x.Request.Stream), strconv.FormatBool(r.Stream)
		return nil
	case at == recorded && at == len(r.Parts):
		d.Code = replayer.CodeParams
		d.params(x.Request.Params, r.Params)
		return nil
	}
	if !sameParams {
		var p Divergence
		p.params(x.Request.Params, r.Params)
		notes = append(notes, fmt.Sprintf("params differ too, at %s: recorded %s, now %s", p.Pointer, shorten(p.Recorded, 80), shorten(p.Actual, 80)))
	}
	d.Part = &at
	if recorded != len(r.Parts) {
		notes = append(notes, fmt.Sprintf("%d parts were recorded, now there are %d", recorded, len(r.Parts)))
	}
	var was, now *model.Part
	if at < recorded {
		was = x.at.up(at + 1).part
	}
	if at < len(r.Parts) {
		now = r.Parts[at]
	}
	d.Code = partCode(was, now, d.root)
	sent := func(place string) string { return r.Pointer(at, place) }
	switch {
	case was == nil || now != nil && rank[now.Kind] < rank[was.Kind]:
		d.parts(sent, nil, now) // more than was recorded
	case now == nil || rank[was.Kind] < rank[now.Kind]:
		d.parts(func(place string) string { return gap(r, at, was.Kind) + place }, was, nil) // less
	default:
		if was.Role != now.Role {
			notes = append(notes, fmt.Sprintf("the recorded message is by %s, this one by %s", was.Role, now.Role))
		}
		d.parts(sent, was, now)
	}
	return notes
}

// rank is the order of kinds in a request.
var rank = map[model.PartKind]int{model.KindTool: 0, model.KindSystem: 1, model.KindMessage: 2}

// gap is the place in a request as sent where a part of a kind is missing, with
// at parts before it.
func gap(r *canon.Request, at int, kind model.PartKind) string {
	n := 0
	for _, p := range r.Parts[:at] {
		if p.Kind == kind || r.API == dialect.Chat && kind == model.KindMessage && p.Kind == model.KindSystem {
			n++
		}
	}
	list := "messages"
	switch {
	case kind == model.KindTool:
		list = "tools"
	case kind == model.KindSystem && r.API == dialect.Messages:
		list = "system"
	case kind == model.KindSystem && r.API == dialect.Responses:
		return "/instructions"
	case r.API == dialect.Responses:
		list = "input"
		for i, p := range r.Parts[:at] { // those of a parent response are not in this request
			if p.Kind == kind && r.Pointers[i] == "" {
				n--
			}
		}
	}
	return "/" + list + "/" + strconv.Itoa(n)
}

// up is the prefix of this many parts.
func (n *node) up(depth int) *node {
	for n.depth > depth {
		n = n.parent
	}
	return n
}

// exhausted makes the miss of a request for which nothing is left.
func (p *Player) exhausted(lane *playLane, r *canon.Request) *Miss {
	d := &Divergence{Code: replayer.CodeExhausted, Turn: 1, Recorded: "nothing"}
	if lane != nil {
		last := lane.list[len(lane.list)-1]
		d.Lane, d.Turn = lane.name, last.Turn+1
		d.Note = fmt.Sprintf("lane %s has %s, and no more is left", lane.name, count(len(lane.list), "recorded request"))
	} else {
		d.Lane = laneName(len(p.lanes) + 1)
		d.Note = fmt.Sprintf("a new conversation begins; the recording has %s, and no more is left", count(len(p.lanes), "lane"))
	}
	if !p.tape.Complete {
		d.Note += "; it was not recorded to its end"
	}
	if n := len(r.Parts); n > 0 {
		d.Pointer, d.Actual = r.Pointers[n-1], shorten(string(r.Parts[n-1].JSON), maxValue)
	}
	d.Show = p.show(0)
	return newMiss(replayer.Exhausted, d)
}

// where says in one line where a replay ended.
func (d *Divergence) where() string {
	s := fmt.Sprintf("lane %s, turn %d", d.Lane, d.Turn)
	if d.Lane == "" {
		s = "a request that cannot be read"
	}
	if d.Part != nil {
		s += fmt.Sprintf(", part %d", *d.Part)
	}
	if d.Pointer != "" {
		s += ", at " + d.Pointer
	}
	return s
}

func newMiss(v replayer.Verdict, d *Divergence) *Miss {
	var b strings.Builder
	fmt.Fprintf(&b, "harnessbench replay: %s %s: %s", v, d.Code, d.where())
	if d.Note != "" {
		fmt.Fprintf(&b, " (%s)", d.Note)
	}
	if d.Diff != "" {
		b.WriteString("\n" + strings.TrimRight(d.Diff, "\n"))
	} else {
		fmt.Fprintf(&b, "\nrecorded: %s\nnow:      %s", d.Recorded, d.Actual)
	}
	if d.Hint != "" {
		b.WriteString("\nHint: " + d.Hint)
	}
	b.WriteString("\nNothing is served after this. More: " + d.Show)
	return &Miss{Verdict: v, Divergence: d, Message: b.String()}
}

// show is the command that prints the recording.
func (p *Player) show(turn int) string {
	s := "harnessbench show " + shellQuote(p.tape.Path)
	if turn > 0 {
		s += fmt.Sprintf(" --turn %d", turn)
	}
	return s
}

func shellQuote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./+@:") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
