package guard

import (
	"crypto/sha256"
	"fmt"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/internal/mutant"
)

// maxPeriod is the longest cycle that stuck sees.
const maxPeriod = 4

// fingerprint of a round: half a SHA-256 over the ordered (tool, arguments, raw
// result) of its calls. Call ids and key order never reach it.
type fingerprint [16]byte

// stuck folds rounds. A round equals another when all its calls and all their
// raw results do; a poll whose result changes is therefore progress.
type stuck struct {
	nudge, abort           int64
	cycleNudge, cycleAbort int64

	cur   fingerprint            // of the round being collected
	calls int                    // in it
	last  [maxPeriod]fingerprint // the rounds before, most recent first
	seen  int64                  // rounds so far
	run   int64                  // consecutive equal rounds, the last one included
	match [maxPeriod + 1]int64   // match[p]: consecutive rounds equal to the one p before
}

func newStuck(v []int64, _ Env) Guard {
	return &stuck{nudge: v[0], abort: v[1], cycleNudge: v[2], cycleAbort: v[3]}
}

func (*stuck) Listens() event.Kind { return event.KindToolResult | event.KindRound }

func (s *stuck) Step(ev event.Event) (Guard, Decision) {
	switch ev := ev.(type) {
	case *event.ToolResult:
		var buf [16 + 32 + 32]byte
		b := append(buf[:0], s.cur[:]...)
		b = append(b, ev.ReqDigest[:]...)
		b = append(b, ev.RawDigest[:]...)
		sum := sha256.Sum256(b)
		next := *s
		copy(next.cur[:], sum[:])
		next.calls++
		return &next, Decision{}
	case *event.Round:
		if s.calls == 0 {
			return s, Decision{}
		}
		next := s.close()
		return &next, next.judge()
	}
	return s, Decision{}
}

// close takes the collected round into the history.
func (s stuck) close() stuck {
	if s.seen > 0 && s.last[0] == s.cur {
		s.run++
	} else {
		s.run = 1
	}
	for p := 2; p <= maxPeriod; p++ {
		if s.seen >= int64(p) && s.last[p-1] == s.cur {
			s.match[p]++
		} else {
			s.match[p] = 0
		}
	}
	copy(s.last[1:], s.last[:maxPeriod-1])
	s.last[0] = s.cur
	s.seen++
	s.cur, s.calls = fingerprint{}, 0
	return s
}

func (s *stuck) judge() Decision {
	if s.run >= s.abort {
		return stuckStop(fmt.Sprintf("%d equal rounds", s.run))
	}
	for p := int64(2); p <= maxPeriod; p++ {
		if !s.own(p) {
			continue
		}
		periods := (s.match[p] + p) / p
		if s.match[p] > 0 && s.match[p]%p == 0 && periods >= s.cycleAbort {
			return stuckStop(fmt.Sprintf("%d periods of a cycle of %d rounds", periods, p))
		}
	}
	late := int64(0)
	if mutant.Is("stuck") {
		late = 1
	}
	if s.run == s.nudge+late {
		return stuckNudge(fmt.Sprintf("%d equal rounds", s.run),
			fmt.Sprintf("You have made the same call %d times and got the same result each time.", s.run))
	}
	for p := int64(2); p <= maxPeriod; p++ {
		if s.own(p) && s.match[p] == (s.cycleNudge-1)*p+late {
			return stuckNudge(fmt.Sprintf("%d periods of a cycle of %d rounds", s.cycleNudge, p),
				fmt.Sprintf("You are going in a circle: the same call sequence of %d steps has come back %d times with the same results.", p, s.cycleNudge))
		}
	}
	return Decision{}
}

// own reports whether p can be the period of the last rounds and is no multiple
// of a shorter one: one repeated round is no cycle, and a cycle of two that goes
// on is no cycle of four as well.
func (s *stuck) own(p int64) bool {
	return s.run < p && (p != 4 || s.match[2] < 4)
}

func stuckNudge(evidence, what string) Decision {
	return Decision{Act: "nudge", Evidence: evidence,
		Feedback: what + " Doing it again will not help. Inspect what you already have, change your approach, or give your answer now."}
}

func stuckStop(evidence string) Decision {
	return Decision{Act: "stop", Evidence: evidence, Stop: &Stop{Reason: event.Stuck, Evidence: evidence}}
}
