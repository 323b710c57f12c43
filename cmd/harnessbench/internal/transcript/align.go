package transcript

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/harnessbench/harnessbench/recorder/session"
)

// turnKey is what turns of two sessions are recognised by: what the model said and
// what came of it, never requests, usage or times, which differ in every turn
// after the first that does.
type turnKey struct {
	lane string
	turn int
	line int    // of its first line
	all  uint64 // answer, calls and results
	said uint64 // answer and calls
	how  uint64 // the tools called
}

// keyOf makes the key of a group.
func keyOf(g *group) turnKey {
	k := turnKey{lane: g.lane, turn: g.turn, line: g.entries[0].line}
	var all, said, how []byte
	for i := range g.entries {
		e := &g.entries[i]
		for j := range e.fields {
			f := &e.fields[j]
			switch {
			case e.typ == session.TypeResponse && f.key == "items", e.typ == session.TypeToolRequest && f.key == "args":
				said = append(said, f.sum[:]...)
			case e.typ == session.TypeToolRequest && f.key == "tool":
				said = append(said, f.sum[:]...)
				how = append(how, f.sum[:]...)
			case e.typ == session.TypeToolResult && (f.key == "text" || f.key == "outcome"):
				all = append(all, f.sum[:]...)
			}
		}
	}
	all = append(all, said...)
	k.all, k.said, k.how = short(all), short(said), short(how)
	return k
}

// short cuts a digest; that two turns are taken for equal where they are not
// would only align them.
func short(b []byte) uint64 {
	d := sumOf(b)
	return binary.BigEndian.Uint64(d[:8])
}

// step is one row of a comparison: a turn of A, one of B, or one of both. -1 =
// none.
type step struct{ a, b int }

// alignTurns aligns the turns of two sessions, lane by lane, and returns them in
// the order of A's lines, what only B has after what precedes it there.
func alignTurns(a, b []turnKey) []step {
	inB := map[string][]int{}
	for i := range b {
		inB[b[i].lane] = append(inB[b[i].lane], i)
	}
	inA := map[string][]int{}
	for i := range a {
		inA[a[i].lane] = append(inA[a[i].lane], i)
	}
	partner := make([]int, len(a))
	for i := range partner {
		partner[i] = -1
	}
	for lane, ia := range inA {
		ib := inB[lane]
		pairs(a, b, ia, ib, func(x, y int) { partner[x] = y })
	}
	var out []step
	next := map[string]int{} // into inB, by lane
	before := func(lane string, until int) {
		list := inB[lane]
		for next[lane] < len(list) && (until < 0 || list[next[lane]] < until) {
			out = append(out, step{-1, list[next[lane]]})
			next[lane]++
		}
	}
	left := map[string]int{}
	for i := range a {
		left[a[i].lane]++
	}
	for i := range a {
		lane := a[i].lane
		if y := partner[i]; y >= 0 {
			before(lane, y)
			next[lane]++
			out = append(out, step{i, y})
		} else {
			out = append(out, step{i, -1})
		}
		if left[lane]--; left[lane] == 0 {
			before(lane, -1)
		}
	}
	for i := range b { // lanes that only B has
		if lane := b[i].lane; inA[lane] == nil {
			out = append(out, step{-1, i})
		}
	}
	return out
}

// pairs aligns the turns of one lane: those that are alike in all, between them
// those that say the same, then those that use the same tools; what is left
// between is taken in order, as turns that were changed.
func pairs(a, b []turnKey, ia, ib []int, emit func(x, y int)) {
	levels := []func(*turnKey) uint64{
		func(k *turnKey) uint64 { return k.all },
		func(k *turnKey) uint64 { return k.said },
		func(k *turnKey) uint64 { return k.how },
	}
	// What stands before the first turn is no turn.
	for len(ia) > 0 && len(ib) > 0 && a[ia[0]].turn == 0 && b[ib[0]].turn == 0 {
		emit(ia[0], ib[0])
		ia, ib = ia[1:], ib[1:]
	}
	var within func(ia, ib []int, level int)
	within = func(ia, ib []int, level int) {
		if len(ia) == 0 || len(ib) == 0 {
			return
		}
		if level == len(levels) {
			for i := range min(len(ia), len(ib)) {
				emit(ia[i], ib[i])
			}
			return
		}
		ka, kb := make([]uint64, len(ia)), make([]uint64, len(ib))
		for i, x := range ia {
			ka[i] = levels[level](&a[x])
		}
		for i, y := range ib {
			kb[i] = levels[level](&b[y])
		}
		i, j := 0, 0
		for _, m := range common(ka, kb) {
			within(ia[i:m[0]], ib[j:m[1]], level+1)
			emit(ia[m[0]], ib[m[1]])
			i, j = m[0]+1, m[1]+1
		}
		within(ia[i:], ib[j:], level+1)
	}
	within(ia, ib, 0)
}

// maxTable bounds the table of a longest common subsequence, in cells of 4 bytes.
const maxTable = 4 << 20

// common returns the indices of a common subsequence of a and b: a longest one
// where its table is small enough; else as patience finds it, through the keys
// that both have once.
func common(a, b []uint64) (out [][2]int) {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		out = append(out, [2]int{head, head})
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	ma, mb := a[head:len(a)-tail], b[head:len(b)-tail]
	var middle [][2]int
	switch {
	case len(ma) == 0 || len(mb) == 0:
	case len(ma) <= maxTable/len(mb):
		middle = longest(ma, mb)
	default:
		middle = patience(ma, mb)
	}
	for _, m := range middle {
		out = append(out, [2]int{m[0] + head, m[1] + head})
	}
	for i := tail; i > 0; i-- {
		out = append(out, [2]int{len(a) - i, len(b) - i})
	}
	return out
}

// longest is a longest common subsequence by table.
func longest(a, b []uint64) (out [][2]int) {
	w := len(b) + 1
	table := make([]int32, (len(a)+1)*w) // of what follows (i, j)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				table[i*w+j] = table[(i+1)*w+j+1] + 1
			} else {
				table[i*w+j] = max(table[(i+1)*w+j], table[i*w+j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			out = append(out, [2]int{i, j})
			i, j = i+1, j+1
		case table[(i+1)*w+j] >= table[i*w+j+1]:
			i++
		default:
			j++
		}
	}
	return out
}

// patience aligns the keys that stand once in each, in a longest increasing
// order, and what is equal beside them.
func patience(a, b []uint64) (out [][2]int) {
	type once struct{ a, b, na, nb int }
	seen := map[uint64]*once{}
	at := func(k uint64) *once {
		if seen[k] == nil {
			seen[k] = &once{}
		}
		return seen[k]
	}
	for i, k := range a {
		o := at(k)
		o.a, o.na = i, o.na+1
	}
	for j, k := range b {
		o := at(k)
		o.b, o.nb = j, o.nb+1
	}
	var points []once
	for _, o := range seen {
		if o.na == 1 && o.nb == 1 {
			points = append(points, *o)
		}
	}
	slices.SortFunc(points, func(x, y once) int { return cmp.Compare(x.a, y.a) })
	var tops []int // index into points of the smallest end of an increasing run of each length
	back := make([]int, len(points))
	for i, p := range points {
		n, _ := slices.BinarySearchFunc(tops, p.b, func(t, b int) int { return cmp.Compare(points[t].b, b) })
		back[i] = -1
		if n > 0 {
			back[i] = tops[n-1]
		}
		if n == len(tops) {
			tops = append(tops, i)
		} else {
			tops[n] = i
		}
	}
	if len(tops) > 0 {
		for i := tops[len(tops)-1]; i >= 0; i = back[i] {
			out = append(out, [2]int{points[i].a, points[i].b})
		}
	}
	slices.Reverse(out)
	return beside(a, b, out)
}

// beside adds to a common subsequence what is equal next to its pairs.
func beside(a, b []uint64, anchors [][2]int) (out [][2]int) {
	i, j := 0, 0
	for n := 0; n <= len(anchors); n++ {
		end := [2]int{len(a), len(b)}
		if n < len(anchors) {
			end = anchors[n]
		}
		for i < end[0] && j < end[1] && a[i] == b[j] {
			out = append(out, [2]int{i, j})
			i, j = i+1, j+1
		}
		k := 0
		for end[0]-k > i && end[1]-k > j && a[end[0]-k-1] == b[end[1]-k-1] {
			k++
		}
		for ; k > 0; k-- {
			out = append(out, [2]int{end[0] - k, end[1] - k})
		}
		if n < len(anchors) {
			out = append(out, end)
		}
		i, j = end[0]+1, end[1]+1
	}
	return out
}
