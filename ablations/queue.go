package ablations

import (
	"sync"

	"github.com/harnessbench/harnessbench/ablations/trial"
)

// queue hands trials to workers: in the plan's order within a provider, and so
// that no provider takes the places that another one has work for. A provider
// that stalls then holds its own share and nothing else.
type queue struct {
	begin func(*block) error // prepares a block before its first trial
	ended func() bool        // no further block is begun
	halt  func() bool        // no further trial is

	mu      sync.Mutex
	moved   *sync.Cond
	lanes   []*lane // in the order in which the plan names them
	places  int     // trials at a time
	running int
	err     error // of begin
}

// lane is what one provider has to do.
type lane struct {
	blocks  []*block
	order   []int // place of each block in the plan
	at      int   // next trial of blocks[0]
	share   int   // places that are its own while it has work
	most    int   // places that it can use; 0 = all
	running int
}

// newQueue sorts blocks by provider. most says how many trials of a provider run
// at a time at most, 0 = no bound.
func newQueue(blocks []*block, places int, most func(provider string) int) *queue {
	q := &queue{places: places}
	q.moved = sync.NewCond(&q.mu)
	byName := map[string]*lane{}
	for i, b := range blocks {
		name := trial.ProviderOf(b.trials[0].Model)
		l := byName[name]
		if l == nil {
			l = &lane{most: most(name)}
			byName[name] = l
			q.lanes = append(q.lanes, l)
		}
		l.blocks, l.order = append(l.blocks, b), append(l.order, i)
	}
	for i, l := range q.lanes {
		n := len(q.lanes)
		l.share = max(1, places*(i+1)/n-places*i/n)
		if l.most > 0 {
			l.share = min(l.share, l.most)
		}
	}
	return q
}

// wake lets workers that wait look again: halt says something else now.
func (q *queue) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.moved.Broadcast()
}

// take waits for the next trial that may run; false: there is none any more.
func (q *queue) take() (job, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		l, left := q.next()
		switch {
		case q.err != nil || !left || q.halt():
			return job{}, false
		case l == nil:
			q.moved.Wait()
			continue
		}
		b := l.blocks[0]
		if l.at == 0 {
			if q.ended() {
				q.cut(l)
				continue
			}
			if q.err = q.begin(b); q.err != nil {
				q.moved.Broadcast()
				continue
			}
		}
		j := job{b: b, at: l.at, lane: l}
		if l.at++; l.at == len(b.trials) {
			l.blocks, l.order, l.at = l.blocks[1:], l.order[1:], 0
		}
		if l.running++; len(l.blocks) == 0 {
			q.moved.Broadcast() // its places are free for others
		}
		q.running++
		return j, true
	}
}

// next chooses the lane whose next trial comes first in the plan among those that
// may start one; nil: none may yet. left: some trial has not been taken.
func (q *queue) next() (first *lane, left bool) {
	for _, l := range q.lanes {
		if len(l.blocks) == 0 {
			continue
		}
		left = true
		if q.mayStart(l) && (first == nil || l.order[0] < first.order[0]) {
			first = l
		}
	}
	return first, left
}

// mayStart reports whether a lane may take a place: one of its own share, or one
// that no other lane has work for.
func (q *queue) mayStart(l *lane) bool {
	if q.running >= q.places || l.most > 0 && l.running >= l.most {
		return false
	}
	kept := 0
	for _, o := range q.lanes {
		if o != l && len(o.blocks) > 0 {
			kept += max(0, o.share-o.running)
		}
	}
	return l.running < l.share || q.running+kept < q.places
}

// done gives a trial's place back.
func (q *queue) done(j job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	j.lane.running--
	q.running--
	q.moved.Broadcast()
}

// cut leaves out the blocks that a lane has not begun.
func (q *queue) cut(l *lane) {
	l.blocks, l.order = nil, nil
	q.moved.Broadcast()
}

// all reports whether every trial was handed out, those aside that were cut.
func (q *queue) all() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, left := q.next()
	return !left && q.err == nil
}
