package replayer

import (
	"strings"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// fieldCodes says which code an unequal field has: of a line type the pointer's
// first member, "" for all others.
var fieldCodes = map[session.Type]map[string]Code{
	session.TypeHeader:   {"": CodeConfig},
	session.TypeRequest:  {"": CodeConversation, "params": CodeParams, "params_digest": CodeParams},
	session.TypeResponse: {"": CodeAnswer},
	session.TypeAttempt:  {"": CodeAnswer, "wait_us": CodeRetry, "again": CodeRetry, "n": CodeRetry},
	session.TypeToolRequest: {"": CodeToolClass, "tool": CodeToolOther, "id": CodeToolOther, "i": CodeToolOther, "args": CodeArguments,
		"problem": CodeValidation, "detail": CodeValidation},
	session.TypeToolResult: {"": CodeToolResult, "id": CodeToolOther, "i": CodeToolOther},
	session.TypeGuard:      {"": CodeGuardOther},
	session.TypeApproval:   {"": CodeGuardOther, "id": CodeToolOther, "op": CodeArguments, "v": CodeState},
	session.TypeAcceptance: {"": CodeAcceptance},
	session.TypeState:      {"": CodeState, "usage": CodeSums, "cost_pico": CodeSums, "inputs": CodeInputs},
	session.TypeNote:       {"": CodeNote},
	session.TypeFooter: {"": CodeSums, "reason": CodeEnd, "evidence": CodeEnd, "backstop": CodeEnd, "unchecked": CodeEnd,
		"answer_digest": CodeResult, "tree_digest": CodeResult, "inputs": CodeInputs, "at_us": CodeState},
}

// fieldCode is the code of a field of a line that came out otherwise.
func fieldCode(l *session.Line, pointer string) Code {
	name, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	if pointer == "" || name == "turn" || name == "lane" || name == "seq" {
		return CodeOrder
	}
	if l.Type == session.TypePart {
		p, err := l.Part()
		if err != nil {
			return CodeMisfit
		}
		return partCode(p.Why, p.Why)
	}
	codes := fieldCodes[l.Type]
	if c, ok := codes[name]; ok {
		return c
	}
	return codes[""]
}

// partCode is the code of unequal parts: of a tool and a system prompt the list
// of tools is told, since it stands first in a request.
func partCode(recorded, actual string) Code {
	for _, c := range []struct {
		why  string
		code Code
	}{{"tool", CodeToolSpec}, {"system", CodeSystemPrompt}, {"rewrite", CodeToolRewrite}} {
		if recorded == c.why || actual == c.why {
			if c.code == CodeToolRewrite && recorded != actual {
				return CodeOrder
			}
			return c.code
		}
	}
	return CodeMessage
}

// orderCode is the code where one kind of line stands in another's place: what
// guards do comes first, since it is the cause of most.
func orderCode(recorded, actual session.Type) Code {
	switch {
	case actual == session.TypeGuard:
		return CodeGuardExtra
	case recorded == session.TypeGuard:
		return CodeGuardMissing
	case actual == session.TypeAttempt || recorded == session.TypeAttempt:
		return CodeRetry
	case actual == session.TypeNote || recorded == session.TypeNote:
		return CodeNote
	}
	return CodeOrder
}

// judge sets verdict, reason and code.
func (rep *Report) judge(v Verdict, reason string) {
	rep.Verdict, rep.Reason, rep.Code = v, reason, v.code()
	if v == Diverged && rep.Divergence != nil {
		rep.Code = rep.Divergence.Code
	}
}

// refine adds what only event and options show: whether a result is one of a call
// executed again, which kind of part differs, and which of the request's parts it
// is.
func (r *replay) refine(d *Divergence, l *session.Line, ev event.Event) {
	if r.again != nil && d.Code == CodeToolResult {
		d.Code = CodeObservation
	}
	p, ok := ev.(*event.Part)
	if !ok || l.Type != session.TypePart {
		return
	}
	was, err := l.Part()
	if err != nil {
		return
	}
	d.Code = partCode(was.Why, p.Why)
	if d.Code != CodeToolRewrite && d.Code != CodeOrder {
		i := r.parts
		d.Part = &i
	}
}

// count follows how many parts the conversation has: a request says it, answers,
// results and parts of our own add one each. A rewritten result stands in the
// place of its raw one.
func (r *replay) count(ev event.Event) {
	switch ev := ev.(type) {
	case *event.Request:
		r.parts = ev.Req.Count
	case *event.Response, *event.ToolResult:
		r.parts++
	case *event.Part:
		if ev.Why != "rewrite" {
			r.parts++
		}
	}
}
