package replayer

import (
	"fmt"

	"github.com/harnessbench/harnessbench/recorder/session"
)

// describe says in words what a line is, for divergences in which one kind of
// line stands where another was recorded.
func describe(t session.Type, payload []byte) string {
	m, err := splitPayload(payload)
	if err != nil {
		return "a " + string(t) + " line"
	}
	get := func(key string) string {
		if v, err := decodeField(m[key]); m[key] != nil && err == nil {
			return showValue(v)
		}
		return ""
	}
	switch t {
	case session.TypeRequest:
		return "a request to the model"
	case session.TypeResponse:
		return "the model's answer"
	case session.TypeAttempt:
		return "a model call that did not stand: " + shorten(get("error"), longText)
	case session.TypePart:
		return fmt.Sprintf("a %s message: %s", get("why"), shorten(get("body"), longText))
	case session.TypeToolRequest:
		return "a call of " + get("tool")
	case session.TypeToolResult:
		return fmt.Sprintf("the result of call %s: %s", get("id"), get("outcome"))
	case session.TypeGuard:
		return fmt.Sprintf("the guard %s (%s) fires: %s, %s", get("g"), get("mode"), get("act"), get("evidence"))
	case session.TypeApproval:
		return "the approver's decision on call " + get("id") + ": " + get("decision")
	case session.TypeAcceptance:
		if fail := get("fail"); fail != "" {
			return "the checks reject the answer: " + fail
		}
		return "the checks look at the answer"
	case session.TypeState:
		return "the end of the turn"
	case session.TypeNote:
		return "a note: " + get("what")
	case session.TypeFooter:
		return "the end of the session: " + get("reason")
	}
	return "a " + string(t) + " line"
}

// TextDiff shows the first lines in which two texts differ, marked - and +, cut
// to what fits on a screen; "" where both are short enough to be shown whole.
func TextDiff(recorded, actual string) string { return valueDiff(recorded, actual) }

// Hint says in what alone two unequal values differ, where that is something
// that changes by itself from run to run; "" otherwise.
func Hint(recorded, actual string) string { return why(recorded, actual) }
