package replayer

import "strings"

// Code names one kind of divergence or verdict: HB1001 and up. A code never gets
// another meaning, and a number that went out of use is not given again.
type Code string

// The codes. [Codes] says what each means.
const (
	CodeSystemPrompt Code = "HB1001"
	CodeToolSpec     Code = "HB1002"
	CodeMessage      Code = "HB1003"
	CodeParams       Code = "HB1004"
	CodeConversation Code = "HB1005"
	CodeAnswer       Code = "HB1006"

	CodeOrder        Code = "HB1011"
	CodeGuardExtra   Code = "HB1012"
	CodeGuardMissing Code = "HB1013"
	CodeGuardOther   Code = "HB1014"
	CodeRetry        Code = "HB1015"
	CodeNote         Code = "HB1016"

	CodeToolOther   Code = "HB1021"
	CodeArguments   Code = "HB1022"
	CodeValidation  Code = "HB1023"
	CodeToolClass   Code = "HB1024"
	CodeToolResult  Code = "HB1025"
	CodeToolRewrite Code = "HB1026"
	CodeObservation Code = "HB1027"
	CodeLiveTool    Code = "HB1028"

	CodeAcceptance Code = "HB1031"
	CodeState      Code = "HB1032"
	CodeEnd        Code = "HB1033"
	CodeSums       Code = "HB1034"
	CodeResult     Code = "HB1035"

	CodeConfig Code = "HB1041"
	CodeInputs Code = "HB1042"
	CodeMisfit Code = "HB1043"

	CodeExhausted    Code = "HB1051"
	CodeUnused       Code = "HB1052"
	CodeNormalised   Code = "HB1053"
	CodeNoop         Code = "HB1061"
	CodeOldBehaviour Code = "HB1062"
	CodeCorrupt      Code = "HB1063"
	CodeTooNew       Code = "HB1064"

	CodeWireRoot       Code = "HB1071"
	CodeWireAPI        Code = "HB1072"
	CodeWireUnreadable Code = "HB1073"
	CodeWireStream     Code = "HB1074"
	CodeWireAgain      Code = "HB1075"
)

// CodeInfo explains a code.
type CodeInfo struct {
	Code   Code     `json:"code"`
	Name   string   `json:"name"`   // short and fixed, for people who do not learn numbers
	Title  string   `json:"title"`  // what happened, one line
	Means  string   `json:"means"`  // what was compared and what that says
	Causes []string `json:"causes"` // the usual ones, the most usual first
	Do     []string `json:"do"`     // what to do, in this order
}

// Codes is every code, sorted.
var Codes = append(append(append([]CodeInfo{}, askedCodes...), decidedCodes...), judgedCodes...)

// Explain finds a code by its number or name, in any case.
func Explain(s string) (CodeInfo, bool) {
	for _, c := range Codes {
		if strings.EqualFold(string(c.Code), s) || strings.EqualFold(c.Name, s) {
			return c, true
		}
	}
	return CodeInfo{}, false
}

// Title is the title of a code, "" for none.
func (c Code) Title() string {
	info, _ := Explain(string(c))
	return info.Title
}

// code is the one that stands for a verdict itself; DIVERGED has that of its
// divergence, EXACT none.
func (v Verdict) code() Code {
	switch v {
	case Normalised:
		return CodeNormalised
	case Exhausted:
		return CodeExhausted
	case Unused:
		return CodeUnused
	case Noop:
		return CodeNoop
	case OldBehaviour:
		return CodeOldBehaviour
	case Corrupt:
		return CodeCorrupt
	case TooNew:
		return CodeTooNew
	}
	return ""
}

const (
	doIntended = "Intended? Record the session again and commit it with the change that caused it."
	doBisect   = "Not intended? The change lies between the commit that recorded the session and this one: git bisect finds it, with this replay as its test."
	doEdited   = "Compare the file with the one that was committed (git diff, git log -p)."
)

// askedCodes are about what the model is asked, and what came back.
var askedCodes = []CodeInfo{
	{CodeSystemPrompt, "system-prompt", "the system prompt differs",
		"The loop would send another system prompt than was recorded. Everything after it may differ, so nothing after it was compared.",
		[]string{"the prompt was edited", "the prompt holds a date, a path of a machine, a user name or a version", "a file that the prompt includes changed"},
		[]string{doIntended, "Take what changes by itself out of the prompt, or put it into a message late in the conversation: it also costs the prompt cache.", doBisect}},
	{CodeToolSpec, "tool-spec", "a tool's description differs, or the list of tools",
		"Name, description, schema or order of the tools that the model is told of is not what was recorded.",
		[]string{"a description or schema was edited", "a tool was added, removed or switched off", "tools come out of a map without being sorted"},
		[]string{doIntended, "List tools in a fixed order.", doBisect}},
	{CodeMessage, "message", "a message of ours differs",
		"The task, a guard's feedback or a user's message that the loop adds to the conversation is not what was recorded.",
		[]string{"the wording of a task or feedback was edited", "the text holds a time, an id, a path or a number that is computed otherwise", "a list in it is not sorted"},
		[]string{doIntended, "Look at the diff: a hint says so where only a date, path or id differs.", doBisect}},
	{CodeParams, "params", "the parameters of a model call differ",
		"Model id, temperature, max_tokens, tool choice or another parameter of the request is not what was recorded.",
		[]string{"a default was changed", "another model was configured", "a policy that enlarges max_tokens decides otherwise"},
		[]string{doIntended, doBisect}},
	{CodeConversation, "conversation", "the conversation is put together otherwise",
		"The parts are known, but the request keeps or adds others of them, has another purpose, or its chain digest differs.",
		[]string{"compaction or summarising decides otherwise", "messages are added in another order", "a recorded answer or result was changed in the file and the file sealed again"},
		[]string{"See which parts the request has: harnessbench show SESSION --turn N.", doEdited, doBisect}},
	{CodeAnswer, "answer", "the model's answer is taken otherwise",
		"An answer or failed call is served as recorded, and what the loop writes down of it differs: items, usage, time or model.",
		[]string{"an adapter or the parser of answers changed", "an answer in the file was edited and does not have the form that a recorder writes", "a deadline of calls changed, and the recorded call was cut short by the old one"},
		[]string{doEdited, doBisect}},
}

// decidedCodes are about what the loop and its guards do.
var decidedCodes = []CodeInfo{
	{CodeOrder, "order", "something else happens at this place",
		"The loop does one thing where another was recorded: another kind of event, turn or lane. No guard is involved.",
		[]string{"a stage of the loop was moved, added or taken out", "calls that run side by side are committed in the order in which they end", "a line of the file was removed, added or doubled"},
		[]string{"Read recorded and actual: they say in words what each side does.", doBisect}},
	{CodeGuardExtra, "guard-extra", "a guard fires that did not fire",
		"A guard acts, or in shadow would act, where none did when this was recorded.",
		[]string{"the guard was switched on or made stricter", "its behaviour was changed without a new behaviour version", "what it counts is counted otherwise"},
		[]string{doIntended, "Give a changed behaviour a new version: sessions recorded under the old one then say OLD_BEHAVIOUR or run the old code.", doBisect}},
	{CodeGuardMissing, "guard-missing", "a guard does not fire that fired",
		"The recorded session has a firing at this place, and the guard is silent now.",
		[]string{"the guard was switched off or made more patient", "its behaviour was changed without a new behaviour version", "two calls that counted as equal no longer do"},
		[]string{doIntended, "Look at the evidence of the recorded firing, and at the calls before it.", doBisect}},
	{CodeGuardOther, "guard-other", "a guard fires otherwise",
		"The same place has a firing on both sides, but guard, mode, act, evidence or the call it acts on differs.",
		[]string{"a threshold changed, so that the guard warns where it stopped, or the reverse", "the text of the evidence was edited", "guards run in another order"},
		[]string{doIntended, doBisect}},
	{CodeRetry, "retry", "a retry is decided otherwise",
		"After a failed model call the loop waits another time, gives up where it tried again, or tries again where it gave up.",
		[]string{"the retry policy or its backoff changed", "Retry-After is read otherwise", "jitter comes from a random source instead of the seed"},
		[]string{doIntended, doBisect}},
	{CodeNote, "note", "a contradiction in an answer is noted otherwise",
		"The loop notes another contradiction between an answer's stop signal and its items than was recorded.",
		[]string{"the parser of answers changed", "the wording of a note was edited"},
		[]string{doIntended, doBisect}},

	{CodeToolOther, "tool-other", "another tool is called",
		"A recorded answer leads to the call of another tool, or to a call with another id or index.",
		[]string{"names of tools are resolved otherwise", "ids of calls are made otherwise", "calls of one answer are taken in another order"},
		[]string{"See the answer: harnessbench show SESSION --turn N.", doBisect}},
	{CodeArguments, "tool-arguments", "a tool is called with other arguments",
		"The canonical arguments that the loop makes of the recorded answer differ.",
		[]string{"paths or numbers are made canonical otherwise", "defaults are filled in, or no longer", "numbers go through a float64 (25 becomes 25.0, or digits above 2^53 are lost)"},
		[]string{"See the raw arguments: harnessbench show SESSION --turn N.", doBisect}},
	{CodeValidation, "tool-validation", "a call is refused, or taken, otherwise",
		"Validation or authorisation of a call comes to another end: it was run and is refused now, was refused and is run now, or is refused for another reason.",
		[]string{"a tool's schema became stricter or laxer", "permissions changed", "the text of a refusal was edited"},
		[]string{doIntended, doBisect}},
	{CodeToolClass, "tool-class", "a call is classed otherwise",
		"Version, effect class or the resources that a call names differ.",
		[]string{"a tool declares another effect or version", "paths are made canonical otherwise"},
		[]string{doIntended, doBisect}},
	{CodeToolResult, "tool-result", "the result of a call differs",
		"The outcome, text or time of a result that the loop makes or writes down differs: of a refused call, a cancelled one, or one that a deadline cut.",
		[]string{"a deadline changed", "the text for refused or cancelled calls was edited", "a result in the file was edited"},
		[]string{doIntended, doEdited, doBisect}},
	{CodeToolRewrite, "tool-rewrite", "a tool result is shown to the model otherwise",
		"The raw result is as recorded, but what the model gets to see of it, after spilling, cutting and other rewrites, is not.",
		[]string{"the limit of results or the size of excerpts changed", "the note about what was left out was edited"},
		[]string{doIntended, doBisect}},
	{CodeObservation, "observation", "a tool says something else when it is run again",
		"With --tools=live, in front of recorded traffic or in the test of a loop of your own the tool was executed, and its result or the changes that it made are not those recorded.",
		[]string{"the tool was changed", "its result holds a time, a path, an id or a process number", "it reads what is not in the workspace: network, environment, clock, locale", "names of a folder are not sorted"},
		[]string{"Compare with --tools=recorded: if that is EXACT, only the tool differs.", "Let tools sort what they list, and leave out what changes by itself."}},
	{CodeLiveTool, "live-tool", "the tools cannot be run again",
		"With --tools=live the session's tools cannot be had here, so nothing was executed. The verdict is NOOP.",
		[]string{"what a mock tool answers stands in the scenario, and the suite has no such scenario, or a later version of it", "a built-in tool is not in this version any more"},
		[]string{"Name the suite with the scenario that was recorded: --suite.", "Replay with --tools=recorded."}},

	{CodeAcceptance, "acceptance", "the checks judge an answer otherwise",
		"The scenario's checks accept what was rejected, reject what was accepted, or give another reason.",
		[]string{"a check of the scenario was edited", "a check reads files that the recorded changes do not reach", "the text of a reason was edited"},
		[]string{doIntended, doBisect}},
	{CodeState, "state", "the state at the end of a turn differs",
		"Version, number of calls or the trial's clock after a turn differ.",
		[]string{"calls are counted otherwise", "waits or durations move the clock otherwise"},
		[]string{doBisect}},
	{CodeEnd, "end", "the session ends for another reason",
		"Stop reason, evidence, backstop or unchecked of the end differ.",
		[]string{"exit conditions are looked at in another order", "a limit changed", "the text of the evidence was edited"},
		[]string{doIntended, doBisect}},
	{CodeSums, "sums", "counts, usage or cost add up otherwise",
		"The sum of turns, calls, attempts, tokens or money is not the recorded one, though every part of it came out as recorded.",
		[]string{"dropped answers or failed calls are counted otherwise", "prices are applied otherwise", "a sum in the file was edited"},
		[]string{doEdited, doBisect}},
	{CodeResult, "result", "the answer or the final workspace differs",
		"The digest of the final answer, or of the tree that the session left, is not the recorded one.",
		[]string{"the answer is put together from its items otherwise", "a change of a file, or a spilled result, is applied otherwise", "a digest in the file was edited"},
		[]string{doEdited, doBisect}},
}

// judgedCodes are about the recording, and about verdicts that name no place.
var judgedCodes = []CodeInfo{
	{CodeConfig, "config", "the header does not come out again",
		"Configuration, model, scenario or initial tree rebuilt from the header is not what the header says.",
		[]string{"a setting got a new default or another form", "the header was edited"},
		[]string{doEdited, doBisect}},
	{CodeInputs, "inputs", "what was served was changed after the recording",
		"An answer, usage, time, tool result or change of a file differs from what was recorded, in a way that nothing the loop computes depends on. Only the running digest of all inputs shows it.",
		[]string{"the file was edited and its chain sealed again"},
		[]string{doEdited, "The change lies in the lines between the state line before and this one."}},
	{CodeMisfit, "misfit", "a line contradicts itself",
		"The chain is sound, but a line does not hold what its type asks for, or says two things that exclude each other: a body and another digest, a change of a file that is not there.",
		[]string{"the file was written or edited by another program"},
		[]string{doEdited, "Check the program that wrote it against docs/session-format.md."}},

	{CodeExhausted, "exhausted", "more is asked than was recorded",
		"Everything recorded came out again, and the loop goes on.",
		[]string{"the recording is unfinished: its process was killed", "a limit or a guard that stopped the recorded session is more patient now", "a client makes a call more"},
		[]string{"The reason says whether the recording has a footer. Without one it is unfinished: harnessbench run --resume finishes it.", doIntended, doBisect}},
	{CodeUnused, "unused", "less is asked than was recorded",
		"Everything up to the end came out as recorded, and recorded model answers are left over.",
		[]string{"a limit or a guard stops earlier", "acceptance takes an answer that it did not take", "a client gives up earlier, or crashed"},
		[]string{doIntended, doBisect}},
	{CodeNormalised, "normalised", "equal in meaning, not in bytes",
		"Every line means what was recorded, but some were written otherwise (order of keys, white space), or were made equal by a rule that was asked for (--tolerant, a declared normaliser). This is a success.",
		[]string{"the file was written by another program, or reformatted", "a rule that you gave struck; it is counted"},
		[]string{"Nothing. Record again if the bytes are to be equal too."}},
	{CodeNoop, "noop", "there is nothing to replay",
		"The session has no model call that the loop could be served, so that replaying it proves nothing.",
		[]string{"an imported session has no requests", "recorded traffic of another program needs replay --serve", "with --config=current the suite has no such scenario or arm"},
		[]string{"The reason says which. Leave the file out of what you replay, or replay it as it says."}},
	{CodeOldBehaviour, "old-behaviour", "recorded under a behaviour that this version no longer has",
		"A guard's behaviour version in the header is not in the code any more, so the session cannot be judged.",
		[]string{"the session is older than the oldest behaviour that is kept", "the session was recorded by a newer version"},
		[]string{"Record it again, or replay it with the version that recorded it."}},
	{CodeCorrupt, "corrupt", "the file is damaged, or no session",
		"The chain of digests breaks, a line cannot be read, or a blob beside the file is missing. Line and byte are named.",
		[]string{"an edit by hand", "line ends were changed to CRLF by git (set *.session.jsonl -text in .gitattributes)", "a merge conflict, or an incomplete copy", "blobs were not committed"},
		[]string{"Restore the file: git checkout -- SESSION.", "Commit the blobs folder beside sessions that have one."}},
	{CodeTooNew, "too-new", "a newer format than this version reads",
		"The header names a format that this version does not know.",
		[]string{"the session was recorded by a newer version"},
		[]string{"Replay it with that version or a later one."}},

	{CodeWireRoot, "wire-root", "a conversation begins that was not recorded",
		"Recorded traffic only: the client's first request of a conversation is like no recorded one.",
		[]string{"another task, prompt or order of agents than when recording", "the prompt holds a date, a path or an id: declare a normaliser for it"},
		[]string{"Look at the diff with the nearest recorded request.", "Give the client the same task, arguments and environment as when recording."}},
	{CodeWireAPI, "wire-api", "another API is asked",
		"Recorded traffic only: the client speaks another wire format than was recorded.",
		[]string{"the client or its SDK was updated or configured otherwise"},
		[]string{"Record again with the client as it is now."}},
	{CodeWireUnreadable, "wire-unreadable", "a request cannot be read",
		"Recorded traffic only: the client sent what is no request of the API that it asked.",
		[]string{"invalid JSON, duplicate keys or a body over the limit", "an API or a form of request that is not supported"},
		[]string{"The message names the place in the request."}},
	{CodeWireStream, "wire-stream", "the client asks for a stream where it did not, or the reverse",
		"Recorded traffic only: the request is equal but for stream.",
		[]string{"the client was configured otherwise"},
		[]string{"Record again with the client as it is now."}},
	{CodeWireAgain, "wire-again", "an equal request was recorded, but not so often",
		"Recorded traffic only: equal requests are served in order, each once, and all of them are used up.",
		[]string{"the client retries where it did not", "the client asks again instead of going on"},
		[]string{"Look at the client's log for the error before the repeated request."}},
}
