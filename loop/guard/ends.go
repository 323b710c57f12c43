package guard

import (
	"fmt"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/internal/mutant"
)

// maxReason bounds what a checker can put into the conversation, in bytes.
const maxReason = 2000

// acceptance sends a rejected end back, a bounded number of times.
type acceptance struct{ retries, used int64 }

func newAcceptance(v []int64, _ Env) Guard { return &acceptance{retries: v[0]} }

func (*acceptance) Listens() event.Kind { return event.KindCandidate }

func (a *acceptance) Step(ev event.Event) (Guard, Decision) {
	c, ok := ev.(*event.Candidate)
	if !ok || !c.Checked || c.Fail == "" {
		return a, Decision{}
	}
	evidence := Head(c.Fail, 200)
	if a.used >= a.retries && !(mutant.Is("acceptance") && a.used == a.retries) {
		return a, Decision{Act: "stop", Evidence: evidence, Stop: &Stop{Reason: event.Unverified, Evidence: evidence}}
	}
	next := *a
	next.used++
	return &next, Decision{Act: "send_back", Evidence: evidence, Continue: true,
		Feedback: fmt.Sprintf("The task is not done yet: %s\nDo that now with the tools, then answer again.", Head(c.Fail, maxReason))}
}

// emptyResponse corrects blank answers.
type emptyResponse struct{ corrections, used int64 }

func newEmptyResponse(v []int64, _ Env) Guard { return &emptyResponse{corrections: v[0]} }

func (*emptyResponse) Listens() event.Kind { return event.KindCandidate | event.KindRound }

func (e *emptyResponse) Step(ev event.Event) (Guard, Decision) {
	if c, ok := ev.(*event.Candidate); ok && c.Empty {
		if e.used >= e.corrections && !(mutant.Is("empty_response") && e.used == e.corrections) {
			why := fmt.Sprintf("%d blank answers in a row", e.used+1)
			return e, Decision{Act: "stop", Evidence: why, Stop: &Stop{Reason: event.EmptyResponse, Evidence: why}}
		}
		next := *e
		next.used++
		return &next, Decision{Act: "correct", Evidence: "no text and no call", Continue: true,
			Feedback: "Attention: your last answer was empty. Go on with the task: call a tool, or answer in text if it is done."}
	}
	if e.used == 0 {
		return e, Decision{}
	}
	// Anything but a blank answer ends the streak.
	return &emptyResponse{corrections: e.corrections}, Decision{}
}
