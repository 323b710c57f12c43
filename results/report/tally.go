package report

import (
	"math"
	"strings"

	"github.com/harnessbench/harnessbench/results"
)

// tally adds up what one model's trials of one arm have in numbers that need no order:
// integers only, so the order of rows cannot matter.
type tally struct {
	trials, errored int
	errors          map[string]int // by class
	input, read     total
	write, output   total
	modelUS, toolUS total
	waitUS          total
	cached          bool                // something was read from a prompt cache
	unwatched       uint64              // compared guards that were neither enforced nor in shadow in some trial
	guards          []guardTally        // by bit
	outcomes        map[int32]*outcomes // by number of the outcome
}

// guardTally counts one guard's firings.
type guardTally struct{ enforced, shadow, firings int }

// outcomes counts trials that ended for one reason.
type outcomes struct{ trials, backstop, passed int }

func newTally(guards int) *tally {
	return &tally{errors: map[string]int{}, guards: make([]guardTally, guards), outcomes: map[int32]*outcomes{}}
}

func (y *tally) add(t *results.Trial, r run, s guardState) {
	y.trials++
	if t.Errored {
		y.errored++
		y.errors[strings.Clone(*t.ErrorClass)]++
	}
	y.input.add(t.InputUncached)
	y.read.add(t.CacheRead)
	y.write.add(t.CacheWrite)
	y.output.add(t.Output)
	y.modelUS.add(t.ModelUS)
	y.toolUS.add(t.ToolUS)
	y.waitUS.add(t.WaitUS)
	y.cached = y.cached || t.CacheRead != nil && *t.CacheRead > 0
	if !t.Errored {
		y.unwatched |= ^s.watched
	}
	for i := range y.guards {
		y.guards[i].enforced += int(s.enforced >> i & 1)
		y.guards[i].shadow += int(s.shadow >> i & 1)
	}
	for _, f := range s.firings {
		y.guards[f.bit].firings += f.n
	}
	o := y.outcomes[r.outcome]
	if o == nil {
		o = &outcomes{}
		y.outcomes[r.outcome] = o
	}
	o.trials++
	o.backstop += count(t.Backstop)
	o.passed += count(r.pass)
}

// total adds up counts that are not negative; it is unknown when one of them is, when
// there is none, or when the sum leaves 64 bits.
type total struct {
	sum     int64
	n       int
	unknown bool
}

func (s *total) add(p *int64) {
	s.n++
	if s.unknown = s.unknown || p == nil || *p > math.MaxInt64-s.sum; !s.unknown {
		s.sum += *p
	}
}

func (s *total) value() *int64 {
	if s.unknown || s.n == 0 {
		return nil
	}
	v := s.sum
	return &v
}
