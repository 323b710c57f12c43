package guard

import (
	"fmt"
	"strings"

	"github.com/harnessbench/harnessbench/loop/event"
)

// seals ends a session whose declared files are not what they were. It has no
// state: the loop compares the files, which only it can see.
type seals struct{}

func newSeals([]int64, Env) Guard { return seals{} }

func (seals) Listens() event.Kind { return event.KindSeal }

// namedSeals is how many broken seals the evidence names.
const namedSeals = 3

func (s seals) Step(ev event.Event) (Guard, Decision) {
	e, ok := ev.(*event.Seal)
	if !ok || e.Count == 0 {
		return s, Decision{}
	}
	names := e.Broken[:min(len(e.Broken), namedSeals)]
	short := make([]string, len(names))
	for i, n := range names {
		short[i] = Head(n, 100)
	}
	evidence := strings.Join(short, ", ")
	if more := e.Count - len(names); more > 0 {
		evidence += fmt.Sprintf(" and %d more", more)
	}
	return s, Decision{Act: "stop", Evidence: evidence, Stop: &Stop{Reason: event.SealBroken, Evidence: evidence}}
}
