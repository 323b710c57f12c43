package tape

import (
	"bytes"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/replayer"
)

// verdictCodes are the codes of verdicts that name no place.
var verdictCodes = map[replayer.Verdict]replayer.Code{
	replayer.Noop: replayer.CodeNoop, replayer.Unused: replayer.CodeUnused, replayer.Normalised: replayer.CodeNormalised,
}

// partCode is the code of two unequal parts at one place, of which one may be
// missing. root says that the request begins a conversation that was not
// recorded.
func partCode(was, now *model.Part, root bool) replayer.Code {
	is := func(fn func(*model.Part) bool) bool { return was != nil && fn(was) || now != nil && fn(now) }
	switch {
	case is(func(p *model.Part) bool { return p.Kind == model.KindTool }):
		return replayer.CodeToolSpec
	case is(func(p *model.Part) bool { return p.Kind == model.KindSystem }):
		return replayer.CodeSystemPrompt
	case was == nil || now == nil || was.Role != now.Role:
		return replayer.CodeConversation
	case was.Role == model.Assistant:
		return replayer.CodeAnswer
	case saysResult(was) && saysResult(now):
		return replayer.CodeObservation
	case root:
		return replayer.CodeWireRoot
	}
	return replayer.CodeMessage
}

// saysResult reports whether a message brings the result of a tool: some APIs
// have a role for it, others a block within a user's message.
func saysResult(p *model.Part) bool {
	return p.Role == model.ToolRole || bytes.Contains(p.JSON, []byte(`"type":"tool_result"`)) || bytes.Contains(p.JSON, []byte(`"type":"function_call_output"`))
}
