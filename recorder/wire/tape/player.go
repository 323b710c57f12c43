package tape

import (
	"cmp"
	"fmt"
	"sync"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/recorder/wire/canon"
	"github.com/harnessbench/harnessbench/replayer"
)

// Player answers requests from a tape, strictly: only what was asked then is
// answered now. It is safe for concurrent use.
type Player struct {
	mu        sync.Mutex
	tape      *Tape
	lanes     []*playLane            // in the order of their first requests
	talks     map[laneKey]*playLane  // conversations of this replay
	aux       map[auxKey][]*Exchange // equal ones in their order
	auxNext   map[auxKey]int         // of aux: the next to serve
	exchanges int                    // without auxiliary calls
	served    int
	auxServed int
	equalBy   map[string]int // normalisers without which served requests are unequal
	normal    int            // requests equal only after normalisers
	miss      *Miss          // the first; nothing is served after it
}

// playLane is a recorded conversation and how far it was served.
type playLane struct {
	name   string
	root   session.ShortDigest
	list   []*Exchange // in the order in which the requests came
	done   []bool      // of list: served
	open   map[key][]int
	served int
	taken  bool // a conversation of this replay has it
}

// auxKey is what makes two auxiliary calls equal.
type auxKey struct {
	method, path string
	body         session.ShortDigest
}

// Miss says why a request was not answered.
type Miss struct {
	Verdict    replayer.Verdict // DIVERGED or EXHAUSTED
	Divergence *Divergence
	Message    string // for the client: what, where, recorded and actual
}

// Error returns the message.
func (m *Miss) Error() string { return m.Message }

// NewPlayer returns a player at the start of the tape, which it only reads.
func NewPlayer(t *Tape) *Player {
	p := &Player{tape: t, talks: map[laneKey]*playLane{}, aux: map[auxKey][]*Exchange{}, auxNext: map[auxKey]int{}, equalBy: map[string]int{}}
	byName := map[string]*playLane{}
	for _, x := range t.Exchanges {
		if x.Request == nil {
			k := auxKey{x.Method, x.Path, x.ask}
			p.aux[k] = append(p.aux[k], x)
			continue
		}
		l := byName[x.Lane]
		if l == nil {
			l = &playLane{name: x.Lane, root: session.Short(x.Request.Root), open: map[key][]int{}}
			byName[x.Lane] = l
			p.lanes = append(p.lanes, l)
		}
		k := key{x.Request.API, x.at.chain, x.Request.ParamsDigest}
		l.open[k] = append(l.open[k], len(l.list))
		l.list = append(l.list, x)
		l.done = append(l.done, false)
		p.exchanges++
	}
	return p
}

// Ask answers a model request: with the exchange to serve, which is only to be
// read, or with the miss that ends the replay. hint is the value of the header
// that names the agent or its session, "" for none. After the first miss every
// request gets the same one.
func (p *Player) Ask(hint string, r *canon.Request) (*Exchange, *Miss) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.miss != nil {
		return nil, p.miss
	}
	k := keyOf(r)
	lane, known := p.assign(hint, r, k)
	if lane != nil {
		if i := lane.find(k, r.Stream); i >= 0 {
			return p.serve(lane, k, i, r), nil
		}
	}
	p.miss = p.diverge(lane, known, r, k)
	return nil, p.miss
}

// Refuse ends the replay for a request that cannot even be read: what is wrong
// with it stands at the pointer. Like any miss it is the only one.
func (p *Player) Refuse(pointer, what string) *Miss {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.miss == nil {
		p.miss = newMiss(replayer.Diverged, &Divergence{Code: replayer.CodeWireUnreadable, Pointer: pointer, Recorded: "a request that can be read", Actual: what, Show: p.show(0)})
	}
	return p.miss
}

// assign finds the recorded lane of a conversation. One seen before keeps its
// own. A new one takes, of the lanes that nobody has, the first with its root in
// which this very request stands; else the first with its root; else the first.
// known tells whether the root was. nil = all lanes are taken.
func (p *Player) assign(hint string, r *canon.Request, k key) (lane *playLane, known bool) {
	talk := laneKey{hint, r.Root}
	if lane = p.talks[talk]; lane != nil {
		return lane, lane.root.Of(r.Root)
	}
	var free, rooted, exact *playLane
	for _, l := range p.lanes {
		if l.taken {
			continue
		}
		if free == nil {
			free = l
		}
		if !l.root.Of(r.Root) {
			continue
		}
		if rooted == nil {
			rooted = l
		}
		if l.find(k, r.Stream) >= 0 {
			exact = l
			break
		}
	}
	if lane = cmp.Or(exact, rooted, free); lane != nil {
		lane.taken = true
		p.talks[talk] = lane
	}
	return lane, rooted != nil
}

// find returns the first recorded request that is equal and not served yet, -1
// for none. A client that asks for a stream can do nothing with an answer that is
// none, nor the other way round.
func (l *playLane) find(k key, stream bool) int {
	for _, i := range l.open[k] {
		if l.list[i].Request.Stream == stream {
			return i
		}
	}
	return -1
}

// serve marks an exchange as served and returns it.
func (p *Player) serve(l *playLane, k key, i int, r *canon.Request) *Exchange {
	x := l.list[i]
	l.done[i] = true
	left := l.open[k]
	for j := range left {
		if left[j] == i {
			l.open[k] = append(left[:j:j], left[j+1:]...)
			break
		}
	}
	l.served++
	p.served++
	if raw := session.Short(x.Request.Raw); !raw.IsZero() && !raw.Of(r.Raw) {
		p.normal++
		for name, n := range r.Applied {
			p.equalBy[name] += n
		}
	}
	return x
}

// Aux answers an auxiliary call by method, path with query, and canonical body:
// equal ones in their order, the last again and again. That one is not in the
// recording, or was never asked for, changes no verdict.
func (p *Player) Aux(method, path string, body []byte) (*Exchange, bool) {
	k := auxKey{method, path, askDigest(body)}
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.aux[k]
	if len(list) == 0 {
		return nil, false
	}
	i := p.auxNext[k]
	if i+1 < len(list) {
		p.auxNext[k] = i + 1
	}
	p.auxServed++
	return list[i], true
}

// Report says how the replay stands. Warnings are those of the tape.
func (p *Player) Report() *Report {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := &Report{Schema: ReportSchema, Path: p.tape.Path, Exchanges: p.exchanges, Served: p.served, Unused: p.exchanges - p.served,
		Auxiliary: p.auxServed, Lanes: []LaneReport{}, Warnings: p.tape.Warnings}
	for _, l := range p.lanes {
		r.Lanes = append(r.Lanes, LaneReport{l.name, len(l.list), l.served, len(l.list) - l.served})
	}
	switch {
	case p.miss != nil:
		d := *p.miss.Divergence
		r.Verdict, r.Divergence, r.Reason = p.miss.Verdict, &d, d.where()
	case p.served == 0:
		r.Verdict, r.Reason = replayer.Noop, "no model request came: nothing was replayed. Does the command use the base URL it was given?"
	case r.Unused > 0:
		r.Verdict = replayer.Unused
		r.Missing = p.missing()
		r.Reason = fmt.Sprintf("%d of %s never came", r.Unused, count(r.Exchanges, "recorded model request"))
	case p.normal > 0:
		r.Verdict, r.Normalised = replayer.Normalised, map[string]int{}
		for name, n := range p.equalBy {
			r.Normalised[name] = n
		}
		r.Reason = fmt.Sprintf("equal only after declared normalisers: %s", count(p.normal, "request"))
	default:
		r.Verdict = replayer.Exact
	}
	if r.Code = verdictCodes[r.Verdict]; r.Divergence != nil {
		r.Code = r.Divergence.Code
	}
	return r
}

// missing lists the first recorded requests that were never made.
func (p *Player) missing() (out []Unasked) {
	for _, l := range p.lanes {
		for i, x := range l.list {
			if l.done[i] {
				continue
			}
			if len(out) == maxMissing {
				return out
			}
			out = append(out, Unasked{x.Lane, x.Turn, lastWords(x.at.part)})
		}
	}
	return out
}

// lastWords is an excerpt of the part that a request ends with.
func lastWords(p *model.Part) string {
	if p == nil {
		return "a request without parts"
	}
	return string(p.Kind) + " " + shorten(string(p.JSON), 160)
}
