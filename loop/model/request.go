package model

// NewRequest makes a request of what a loop of your own holds: the tools that the
// model is told of and the conversation so far, its system prompt first. It is
// made anew for every call; messages are not kept. A loop that asks often builds a
// [Transcript] instead, which is not hashed again from its beginning.
func NewRequest(p Params, tools []ToolSpec, messages []Message) *Request {
	t := NewTranscript()
	for i := range tools {
		t.Append(NewToolPart(tools[i]))
	}
	for i := range messages {
		t.Append(NewMessagePart(messages[i]))
	}
	parts, chains := t.View()
	return &Request{Params: p, ParamsDigest: p.Digest(), Parts: parts, Chains: chains, Count: len(parts)}
}
