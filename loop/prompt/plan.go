package prompt

import (
	"slices"

	"github.com/harnessbench/harnessbench/loop/model"
)

// Old results that are larger than ShrinkOver bytes of JSON keep the first
// ShrinkHead bytes of their text.
const (
	ShrinkOver = 1024
	ShrinkHead = 512
)

// Rules say what a plan is to reach.
type Rules struct {
	Target int64 // bytes of the request at which it ends
	Keep   int   // latest rounds that stay whole, if they fit
	// Summary is how many bytes the summary of the rounds that go may have; then
	// all but the latest Keep go. 0 = there will be none: as few go as it takes.
	Summary int64
}

// Cut is what becomes of a part.
type Cut uint8

// What may become of a part.
const (
	Whole  Cut = iota // it stays
	Shrunk            // a result keeps the beginning of its text
	Gone              // a document keeps nothing but a line that says so
	Taken             // it is left out; something else stands for its round
)

// Edit is what becomes of one part.
type Edit struct {
	Cut  Cut
	Head int // of Shrunk: canonical bytes of text that stay at most
}

// Plan says what is taken away from a conversation.
type Plan struct {
	Edits         []Edit // by entry; nil = there is nothing to take away
	Before, After int64  // bytes; After is an upper bound
	Shrunk        int    // results
	Documents     int    // results of which nothing stays
	Rounds        int    // that are left out
	Upto          int    // with Rounds: the first entry behind the last one that is left out
	note          int    // bytes that were allowed for what stands for them
}

// Empty reports whether the plan changes nothing.
func (p *Plan) Empty() bool { return p.Edits == nil }

// planner is a plan in the making.
type planner struct {
	entries []Entry
	rules   Rules
	edits   []Edit
	total   int64
	last    int   // the latest round
	stand   int64 // what a message in place of rounds may have
}

// Plan plans by rules, see [Make].
func (b *Book) Plan(r Rules) Plan { return Make(b.entries, r) }

// Make plans how a conversation gets down to r.Target bytes, in this order and no
// further than needed:
//
//  1. results of all but the latest r.Keep rounds are shrunk, the oldest first;
//  2. of documents among them nothing but a line stays, the oldest first;
//  3. where the latest rounds alone do not fit, their results are shrunk too; those
//     of the last round, which no answer has seen yet, keep as much as fits;
//  4. rounds are left out, the oldest first; with a summary all but the latest
//     r.Keep at once. Where that is not enough, Keep is lowered, to 1 at the least.
//
// What cannot be reached is approached: After tells. A plan that would not make
// the conversation smaller is empty.
func Make(entries []Entry, r Rules) Plan {
	p := &planner{entries: entries, rules: r, edits: make([]Edit, len(entries)), stand: r.Summary}
	if p.stand == 0 {
		p.stand = maxGone
	}
	for i := range entries {
		p.total += int64(entries[i].Bytes)
		p.last = max(p.last, entries[i].Round)
	}
	before := p.total
	if p.total > r.Target {
		p.run()
	}
	return p.plan(before)
}

func (p *planner) done() bool { return p.total <= p.rules.Target }

func (p *planner) run() {
	keep := max(p.rules.Keep, 1)
	p.shrink(0, p.last-p.rules.Keep)
	p.forget(p.last - p.rules.Keep)
	if p.done() {
		return
	}
	if over := p.least(keep) - p.rules.Target; over > 0 {
		p.squeeze(keep, over)
	}
	for ; keep >= 1 && !p.done(); keep-- {
		p.takeTo(p.last - keep)
	}
}

// size is what an entry has as planned so far.
func (p *planner) size(i int) int64 {
	e := &p.entries[i]
	switch p.edits[i].Cut {
	case Shrunk:
		return int64(e.Frame + p.edits[i].Head)
	case Gone:
		return int64(e.Frame)
	case Taken:
		return 0
	}
	return int64(e.Bytes)
}

func (p *planner) set(i int, edit Edit) {
	p.total -= p.size(i)
	p.edits[i] = edit
	p.total += p.size(i)
}

// free reports whether an entry may be touched at all.
func free(e *Entry) bool { return e.Layer > Task && e.Pin == Loose }

// shrink shrinks the results of the rounds after from and up to to.
func (p *planner) shrink(from, to int) {
	for i := range p.entries {
		e := &p.entries[i]
		if p.done() {
			return
		}
		if free(e) && e.Role == model.ToolRole && e.Round > from && e.Round <= to && p.edits[i].Cut == Whole &&
			e.Bytes > ShrinkOver && e.Bytes > e.Frame+ShrinkHead {
			p.set(i, Edit{Shrunk, ShrinkHead})
		}
	}
}

// forget drops the documents of the rounds up to to.
func (p *planner) forget(to int) {
	for i := range p.entries {
		e := &p.entries[i]
		if p.done() {
			return
		}
		if free(e) && e.Layer == Documents && e.Round <= to && p.size(i) > int64(e.Frame) {
			p.set(i, Edit{Cut: Gone})
		}
	}
}

// stays reports whether an entry stays when all rounds up to to are taken away.
func (p *planner) stays(i, to int) bool {
	e := &p.entries[i]
	return !free(e) || e.Round > to || e.Told && p.rules.Summary == 0
}

// least is what would be left, as planned so far, without all but the latest keep
// rounds.
func (p *planner) least(keep int) int64 {
	sum, takes := int64(0), false
	for i := range p.entries {
		if p.stays(i, p.last-keep) {
			sum += p.size(i)
		} else {
			takes = true
		}
	}
	if takes {
		sum += p.stand
	}
	return sum
}

// squeeze shrinks the results of the latest keep rounds by over bytes: those
// before the last one to their heads, then those of the last one as far as
// needed.
func (p *planner) squeeze(keep int, over int64) {
	was := p.total
	for i := range p.entries {
		e := &p.entries[i]
		if was-p.total >= over {
			return
		}
		if free(e) && e.Role == model.ToolRole && e.Round > p.last-keep && e.Round < p.last &&
			e.Bytes > ShrinkOver && e.Bytes > e.Frame+ShrinkHead {
			p.set(i, Edit{Shrunk, ShrinkHead})
		}
	}
	p.squeezeLast(over - (was - p.total))
}

// squeezeLast takes over bytes from the results of the last round: the large ones
// come down to one size, small ones stay.
func (p *planner) squeezeLast(over int64) {
	var large []int
	for i := range p.entries {
		e := &p.entries[i]
		if free(e) && e.Role == model.ToolRole && e.Round == p.last && p.edits[i].Cut == Whole && e.Bytes > ShrinkOver {
			large = append(large, i)
		}
	}
	slices.SortStableFunc(large, func(a, b int) int { return p.entries[a].Bytes - p.entries[b].Bytes })
	room := -over
	for _, i := range large {
		room += int64(p.entries[i].Bytes)
	}
	for n, i := range large {
		share := max(room/int64(len(large)-n), 0)
		e := &p.entries[i]
		if head := max(share-int64(e.Frame), ShrinkHead); int64(e.Bytes) > share && int64(e.Bytes) > int64(e.Frame)+head {
			p.set(i, Edit{Shrunk, int(head)})
		}
		room -= p.size(i)
	}
}

// takeTo leaves out rounds up to to: all of them where a summary will stand for
// them, else the oldest, as few as it takes.
func (p *planner) takeTo(to int) {
	if to < 0 {
		return
	}
	gains := make([]int64, to+1) // by round
	taken := false
	for i := range p.entries {
		taken = taken || p.edits[i].Cut == Taken
		if !p.stays(i, to) {
			gains[p.entries[i].Round] += p.size(i)
		}
	}
	cost := p.stand
	if taken {
		cost = 0 // what stands for them is counted already
	}
	gained := int64(0)
	for cut, g := range gains {
		gained += g
		enough := p.rules.Summary == 0 && p.total-gained+cost <= p.rules.Target
		if gained > cost && (enough || cut == to) {
			p.take(cut, cost)
			return
		}
	}
}

// take leaves out the rounds up to cut, at the cost of what will stand for them.
func (p *planner) take(cut int, cost int64) {
	for i := range p.entries {
		if !p.stays(i, cut) {
			p.set(i, Edit{Cut: Taken})
		}
	}
	p.total += cost
}

// plan counts what was planned.
func (p *planner) plan(before int64) Plan {
	out := Plan{Before: before, After: before}
	if p.total >= before {
		return out
	}
	out.Edits, out.After = p.edits, p.total
	for i := range p.edits {
		e := &p.entries[i]
		switch p.edits[i].Cut {
		case Shrunk:
			out.Shrunk++
		case Gone:
			out.Documents++
		case Taken:
			out.Upto, out.note = i+1, int(p.stand)
			if e.Role == model.Assistant {
				out.Rounds++
			}
		}
	}
	return out
}
