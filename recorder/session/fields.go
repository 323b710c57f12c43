package session

// Origin says where a field's value comes from, and so what a replay does with
// it.
type Origin string

// The origins.
const (
	Input      Origin = "input"      // given from outside; a replay is served it
	Derived    Origin = "derived"    // computed; a replay computes it again and compares
	Annotation Origin = "annotation" // said for people; never compared
)

// Kinds of values as [Field].JSON names them.
const (
	kText   = "string"
	kInt    = "integer"
	kCount  = "count"   // integer >= 0
	kMicros = "us"      // integer, microseconds
	kBool   = "boolean" // omitted when false
	kShort  = "hex32"   // first 16 bytes of a SHA-256
	kFull   = "hex64"   // a whole SHA-256
	kObject = "object"
	kArray  = "array"
	kRaw    = "json"
)

// Field describes one field of a line type.
type Field struct {
	Line   Type   // "" = lines of every type
	Name   string // dotted path; [] stands for the elements of an array
	JSON   string // kind of value
	Origin Origin
	Omit   string // when the field is left out; "" = never
	Doc    string
}

// Fields is every field of v1 in the order in which it stands in its line. It is
// the one table from which the specification's tables are made, by which
// [Inputs] knows the input fields, and which tools that change sessions use.
var Fields = concat(frameFields, headerFields, partFields, requestFields, answerFields, toolFields, otherFields, wireFields, footerFields)

var frameFields = []Field{
	{"", "seq", kCount, Derived, "", "number of the line, from 1"},
	{"", "t", kText, Derived, "", "type of the line"},
	{"", "lane", kText, Derived, "main lane", "conversation the line belongs to"},
	{"", "turn", kCount, Derived, "equal to the last turn said in the lane (0 before), except on `request`", "turn, from 1"},
	{"", "h", kShort, Derived, "", "chain digest, see *Line chain*; always the last field"},
}

var headerFields = []Field{
	{TypeHeader, "v", kText, Input, "", "`harnessbench/session/1`"},
	{TypeHeader, "canon", kText, Input, "", "canonical form of requests: `canon/1`"},
	{TypeHeader, "scenario", kText, Input, "", "scenario id"},
	{TypeHeader, "scenario_digest", kFull, Input, "unknown", "digest of the scenario"},
	{TypeHeader, "repetition", kCount, Input, "", "from 0"},
	{TypeHeader, "model", kText, Input, "", "`provider/name` of the first model"},
	{TypeHeader, "simulated", kBool, Input, "false", "the model is simulated: the session says nothing of real models"},
	{TypeHeader, "config", kRaw, Input, "", "canonical JSON object: guard settings and behaviour versions, limits, params, seed, prices, windows, permissions, checks, seals"},
	{TypeHeader, "config_digest", kFull, Derived, "", "SHA-256 of the bytes of `config`"},
	{TypeHeader, "tree", kArray, Input, "empty", "initial workspace, sorted by path"},
	{TypeHeader, "tree[].path", kText, Input, "", "relative to the workspace, slashes"},
	{TypeHeader, "tree[].size", kCount, Input, "", "bytes"},
	{TypeHeader, "tree[].mode", kCount, Input, "", "permission bits, decimal"},
	{TypeHeader, "tree[].digest", kFull, Input, "", "SHA-256 of the content"},
	{TypeHeader, "tree[].text", kText, Input, "not UTF-8, empty, or in a blob", "the content; at most 4,096 bytes a file and 32,768 in all"},
	{TypeHeader, "tree[].b64", kText, Input, "UTF-8, empty, or in a blob", "the content in base64 (standard, padded); same limits"},
	{TypeHeader, "tree_digest", kFull, Derived, "unknown", "digest of the initial workspace"},
	{TypeHeader, "normalisers", kArray, Input, "empty", "names of declared normalisers"},
	{TypeHeader, "fork", kObject, Input, "no fork", "the session branched off another one, its parent"},
	{TypeHeader, "fork.parent", kFull, Input, "", "digest in the parent's footer"},
	{TypeHeader, "fork.shared_prefix_turns", kCount, Input, "", "turns before the first request that only one of the two asked"},
	{TypeHeader, "fork.spared", kArray, Input, "all zero", "usage of the parent's answers that were served, see *Usage*: tokens not spent"},
	{TypeHeader, "fork.set", kArray, Input, "empty", "what was changed, each `name=value`"},
	{TypeHeader, "fork.live", kBool, Input, "false", "it went on live; else it ends where the parent's answers do"},
	{TypeHeader, "labels", kObject, Annotation, "empty", "names to strings, sorted"},
}

var partFields = []Field{
	{TypePart, "why", kText, Derived, "", "`tool`, `system`, `task`, `feedback`, `rewrite`, `user`, `summarise` (what asks for a summary) or `compacted` (what stands in the conversation after compaction); `asked` for a message of recorded calls, see *Recorded calls*; `wire` for a part of recorded traffic, see *Recorded traffic*"},
	{TypePart, "kind", kText, Derived, "", "`tool`, `system` or `message`"},
	{TypePart, "role", kText, Derived, "kind `tool`", "`system`, `user`, `assistant` or `tool`"},
	{TypePart, "body", kRaw, Derived, "", "the part's canonical JSON, bytes as digested"},
	{TypePart, "digest", kShort, Derived, "", "of the bytes of `body`"},
}

var requestFields = []Field{
	{TypeRequest, "chain", kShort, Derived, "", "request chain after the last part, see *Requests*"},
	{TypeRequest, "params", kRaw, Derived, "equal to those of the lane's request before", "params of the call, canonical JSON object"},
	{TypeRequest, "params_digest", kShort, Derived, "`params` is", "of the bytes of `params`"},
	{TypeRequest, "keep", kCount, Derived, "parts are implied", "how many parts of the lane's request before stay"},
	{TypeRequest, "add", kArray, Derived, "parts are implied, or none", "digests (hex32) of the parts that follow these"},
	{TypeRequest, "purpose", kText, Derived, "a turn's request", "`final_synthesis` or `summary`"},
}

var answerFields = []Field{
	{TypeAttempt, "n", kCount, Derived, "", "attempt within the turn, from 0"},
	{TypeAttempt, "error", kObject, Input, "an answer was dropped", "what went wrong"},
	{TypeAttempt, "error.kind", kText, Input, "", "`transport`, `broken_stream`, `timeout`, `rate_limit`, `quota`, `auth`, `server`, `bad_request`, `context_overflow`, `protocol`, `cancelled`, `deadline`"},
	{TypeAttempt, "error.status", kCount, Input, "none", "HTTP status"},
	{TypeAttempt, "error.retry_after_us", kMicros, Input, "not said", "as the provider said"},
	{TypeAttempt, "error.message", kText, Input, "empty", "the provider's words"},
	{TypeAttempt, "items", kArray, Input, "empty", "of the dropped answer, as in `response`"},
	{TypeAttempt, "finish", kText, Input, "empty", "of the dropped answer"},
	{TypeAttempt, "usage", kArray, Input, "all zero", "what was billed, see *Usage*"},
	{TypeAttempt, "elapsed_us", kMicros, Input, "zero", "by which the call moved the clock"},
	{TypeAttempt, "model", kText, Input, "the header's", "id that answered"},
	{TypeAttempt, "cache", kText, Input, "a response cache did not know the request", "`hit`: the answer is the cache's, unbilled; `known`: it would have been, and the model was asked"},
	{TypeAttempt, "cache_failed", kText, Input, "nothing", "what went wrong with a response cache"},
	{TypeAttempt, "redacted", kText, Input, "none", "secrets that were overwritten in the error's words or the dropped answer, by kind and count"},
	{TypeAttempt, "wait_us", kMicros, Derived, "zero", "wait before the next attempt"},
	{TypeAttempt, "again", kBool, Derived, "false", "there is a next attempt"},

	{TypeResponse, "items", kArray, Input, "empty", "items of the answer in order"},
	{TypeResponse, "items[].type", kText, Input, "", "`text`, `reasoning`, `tool_call`, `plan`, `question`, `proposal`, `provider_call`"},
	{TypeResponse, "items[].text", kText, Input, "`tool_call`, `provider_call`", "what was said"},
	{TypeResponse, "items[].name", kText, Input, "no `tool_call`", "tool"},
	{TypeResponse, "items[].args", kText, Input, "no `tool_call`", "arguments exactly as the model wrote them, perhaps no JSON"},
	{TypeResponse, "items[].evidence", kRaw, Input, "no `provider_call`", "the provider's record of a call it executed itself"},
	{TypeResponse, "finish", kText, Input, "empty", "stop signal"},
	{TypeResponse, "usage", kArray, Input, "all zero", "tokens of this call, see *Usage*"},
	{TypeResponse, "elapsed_us", kMicros, Input, "zero", "by which the call moved the clock"},
	{TypeResponse, "model", kText, Input, "the header's", "id that answered"},
	{TypeResponse, "cache", kText, Input, "a response cache did not know the request", "`hit`: the answer is the cache's, unbilled; `known`: it would have been, and the model was asked"},
	{TypeResponse, "cache_failed", kText, Input, "nothing", "what went wrong with a response cache"},
	{TypeResponse, "redacted", kText, Input, "none", "secrets that were overwritten in the items, by kind and count"},
}

var toolFields = []Field{
	{TypeToolRequest, "i", kCount, Derived, "zero", "index among the answer's `tool_call` items"},
	{TypeToolRequest, "id", kText, Derived, "", "id the loop gave the call"},
	{TypeToolRequest, "tool", kText, Derived, "", "tool"},
	{TypeToolRequest, "v", kCount, Derived, "unknown tool", "version of the tool the model saw"},
	{TypeToolRequest, "effect", kText, Derived, "unknown tool", "`read`, `write` or `external`"},
	{TypeToolRequest, "args", kText, Derived, "equal to what the model wrote", "canonical arguments: a string that holds JSON"},
	{TypeToolRequest, "resources", kArray, Derived, "exactly the text of the string member `path` of the canonical arguments, or none where there is no such member", "canonical paths and other resources the call names"},
	{TypeToolRequest, "problem", kText, Derived, "none", "why it is not run: `validation_failed`, `unknown_or_disabled_tool`, `permission_denied`, ..."},
	{TypeToolRequest, "detail", kText, Derived, "empty", "of the problem"},

	{TypeToolResult, "i", kCount, Derived, "zero", "as in `tool.request`"},
	{TypeToolResult, "id", kText, Derived, "", "as in `tool.request`"},
	{TypeToolResult, "outcome", kText, Input, "", "the terminal outcome (where the loop made the result itself, as for a problem or a deadline, a replay makes it again)"},
	{TypeToolResult, "text", kText, Input, "empty", "raw result, before any rewrite"},
	{TypeToolResult, "bytes", kCount, Input, "equal to the text's bytes in UTF-8", "size of a result that was no UTF-8"},
	{TypeToolResult, "redacted", kText, Input, "none", "secrets that are overwritten in the text, by kind and count"},
	{TypeToolResult, "took_us", kMicros, Input, "zero", "by which the call moved the clock, or would have moved it alone"},
	{TypeToolResult, "want_us", kMicros, Input, "equal to `took_us`", "what it would have taken without a deadline"},
	{TypeToolResult, "exit", kInt, Input, "no command", "exit code"},
	{TypeToolResult, "delta", kArray, Input, "empty", "changes of the workspace, in order"},
	{TypeToolResult, "delta[].op", kText, Input, "`write`", "`delete`, or `write`"},
	{TypeToolResult, "delta[].path", kText, Input, "", "relative to the workspace, slashes"},
	{TypeToolResult, "delta[].before", kShort, Input, "there was no file", "of the content before"},
	{TypeToolResult, "delta[].mode", kCount, Input, "`delete`, or 420", "permission bits after, decimal"},
	{TypeToolResult, "delta[].redacted", kBool, Input, "false", "secrets are overwritten in the content as it stands here: the file had them"},
	{TypeToolResult, "delta[].arg", kText, Input, "the content stands elsewhere", "the content is this string member of the call's canonical arguments"},
	{TypeToolResult, "delta[].text", kText, Input, "the content stands elsewhere", "the content, at most 65,536 bytes of UTF-8"},
	{TypeToolResult, "delta[].b64", kText, Input, "the content stands elsewhere", "the content in base64 (standard, padded), at most 65,536 bytes before encoding"},
	{TypeToolResult, "delta[].size", kCount, Input, "no blob", "bytes of the blob"},
	{TypeToolResult, "delta[].blob", kFull, Input, "the content stands elsewhere", "digest that names the blob with the content"},
}

var otherFields = []Field{
	{TypeGuard, "g", kText, Derived, "", "guard"},
	{TypeGuard, "v", kCount, Derived, "", "behaviour version"},
	{TypeGuard, "mode", kText, Derived, "", "`enforce` or `shadow`"},
	{TypeGuard, "act", kText, Derived, "", "what it did or would have done"},
	{TypeGuard, "evidence", kText, Derived, "empty", "why"},
	{TypeGuard, "on", kText, Derived, "the whole turn", "id of the call it acted on"},
	{TypeGuard, "failed", kText, Derived, "performed", "why its effect could not be performed"},

	{TypeApproval, "id", kText, Derived, "", "id of the call that waits; its `tool.request` follows"},
	{TypeApproval, "op", kShort, Derived, "", "SHA-256 of tool name, NUL and canonical arguments"},
	{TypeApproval, "v", kCount, Derived, "", "state version at which it was asked"},
	{TypeApproval, "decision", kText, Input, "", "`allow`, `deny`, `expire`, or `stale`: what came was about something else"},
	{TypeApproval, "reason", kText, Input, "empty", "the approver's"},
	{TypeApproval, "took_us", kMicros, Input, "zero", "by which the wait moved the clock"},
	{TypeApproval, "expires_us", kMicros, Derived, "", "trial clock until which an approval stands"},

	{TypeAcceptance, "checked", kBool, Derived, "false", "the scenario's checks were run"},
	{TypeAcceptance, "fail", kText, Derived, "all passed", "first failing reason"},
	{TypeAcceptance, "empty", kBool, Derived, "false", "the answer had no text and no call"},

	{TypeState, "v", kCount, Derived, "", "state version, one more each turn"},
	{TypeState, "calls", kCount, Derived, "", "tool calls so far"},
	{TypeState, "usage", kArray, Derived, "all zero", "sum so far, see *Usage*"},
	{TypeState, "cost_pico", kInt, Derived, "", "spent so far in 1e-12 USD; null when a price is unknown"},
	{TypeState, "at_us", kMicros, Derived, "", "trial clock"},
	{TypeState, "inputs", kShort, Derived, "", "inputs digest of the lines before, see *Inputs digest*"},

	{TypeNote, "what", kText, Derived, "", "a contradiction in what a provider sent"},
}

var wireFields = []Field{
	{TypeWire, "n", kCount, Derived, "", "number of the exchange in the order in which the requests came, from 1"},
	{TypeWire, "api", kText, Derived, "auxiliary call", "`chat`, `responses` or `messages`"},
	{TypeWire, "method", kText, Derived, "`POST`", "of the request"},
	{TypeWire, "path", kText, Derived, "", "of the request, with its query"},
	{TypeWire, "hint", kCount, Derived, "none came", "which agent or session asked, as its header says: its values count by first appearance, from 1"},
	{TypeWire, "root", kShort, Derived, "auxiliary call", "request chain up to and including the first user message"},
	{TypeWire, "raw", kShort, Derived, "auxiliary call", "digest of parts and params before normalisers were applied"},
	{TypeWire, "streamed", kBool, Derived, "false", "the request asked for a stream"},
	{TypeWire, "ask", kText, Derived, "no auxiliary call; empty, more than 65,536 bytes or no UTF-8", "body of the request"},
	{TypeWire, "ask_digest", kShort, Derived, "no auxiliary call, or no body", "of the body's JSON in the form of RFC 8785; of its bytes where it is no JSON"},
	{TypeWire, "status", kCount, Input, "no answer came", "HTTP status"},
	{TypeWire, "header", kArray, Input, "empty", "kept headers of the answer in order, each `[name, value]`"},
	{TypeWire, "stream", kBool, Input, "false", "the answer is a stream of server-sent events"},
	{TypeWire, "text", kText, Input, "empty, not UTF-8, or in a blob", "body of the answer, at most 1,048,576 bytes"},
	{TypeWire, "b64", kText, Input, "empty, UTF-8, or in a blob", "body of the answer in base64 (standard, padded), at most 1,048,576 bytes before encoding"},
	{TypeWire, "size", kCount, Input, "no blob", "bytes of the blob"},
	{TypeWire, "blob", kFull, Input, "the body stands in the line", "digest that names the blob with the body"},
	{TypeWire, "frames", kArray, Input, "empty", "how the body came: `[us since the request was passed on, bytes]` for each piece"},
	{TypeWire, "broken", kText, Input, "complete", "how the answer broke off"},
	{TypeWire, "elapsed_us", kMicros, Input, "that of the last frame, or zero", "time from passing on the request to the answer's end"},
}

var footerFields = []Field{
	{TypeFooter, "reason", kText, Derived, "", "stop reason, the outcome of the session"},
	{TypeFooter, "evidence", kText, Derived, "empty", "why"},
	{TypeFooter, "backstop", kBool, Derived, "false", "the scenario's own limit ended it"},
	{TypeFooter, "unchecked", kBool, Derived, "false", "no acceptance stood behind the end"},
	{TypeFooter, "turns", kCount, Derived, "", "turns begun"},
	{TypeFooter, "calls", kCount, Derived, "", "tool calls"},
	{TypeFooter, "attempts", kCount, Derived, "", "model calls, failed ones included"},
	{TypeFooter, "usage", kArray, Derived, "all zero", "sum, see *Usage*"},
	{TypeFooter, "cost_pico", kInt, Derived, "", "spent in 1e-12 USD; null when a price is unknown"},
	{TypeFooter, "answer_digest", kFull, Derived, "", "SHA-256 of the answer's text"},
	{TypeFooter, "tree_digest", kFull, Derived, "unknown", "digest of the final workspace"},
	{TypeFooter, "at_us", kMicros, Derived, "", "trial clock"},
	{TypeFooter, "inputs", kFull, Derived, "", "inputs digest of the session"},
	{TypeFooter, "lines", kCount, Derived, "", "lines of the session, this one included"},
	{TypeFooter, "digest", kFull, Derived, "", "full chain digest after the line before"},
}

func concat(tables ...[]Field) (all []Field) {
	for _, t := range tables {
		all = append(all, t...)
	}
	return all
}

// inputKeys holds the top-level input fields of each type.
var inputKeys = func() map[Type]map[string]bool {
	m := map[Type]map[string]bool{}
	for _, f := range Fields {
		if f.Origin != Input || !topLevel(f.Name) {
			continue
		}
		if m[f.Line] == nil {
			m[f.Line] = map[string]bool{}
		}
		m[f.Line][f.Name] = true
	}
	return m
}()

func topLevel(name string) bool {
	for i := range len(name) {
		if name[i] == '.' || name[i] == '[' {
			return false
		}
	}
	return true
}

// IsInput reports whether a top-level field of a line type is an input.
func IsInput(t Type, key string) bool { return inputKeys[t][key] }
