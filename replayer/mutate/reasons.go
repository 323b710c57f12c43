package mutate

import "strings"

// row says why nothing derived depends on a field. In field * is one step of the
// pointer and … all that follows.
type row struct {
	field  string
	never  bool // on no value of it; else: not on every value
	reason string
}

// rows is the table of inputs that a digest alone may catch. It is checked both
// ways: a field that a digest alone caught and that is not here is unexplained; a
// field that is here with never and was caught elsewhere than at its own place is
// stale.
var rows = []row{
	{"header /scenario_digest", true, "says which scenario it was; the session carries its settings, so the scenario is not read"},
	{"header /simulated", true, "a statement about the model; nothing the loop does asks for it"},
	{"header /normalisers", true, "of recorded traffic; a loop's requests are compared as they are"},
	{"header /normalisers/*", true, "of recorded traffic; a loop's requests are compared as they are"},
	{"header /fork", true, "tells of the parent; a child replays by itself and does not ask for it"},
	{"header /fork/…", true, "tells of the parent; a child replays by itself and does not ask for it"},
	{"header /tree/*/text", false, "an initial file without its text is one whose content stands in a blob of that digest; where that is there, it is the same file"},
	{"header /tree/*/b64", false, "an initial file without its bytes is one whose content stands in a blob of that digest; where that is there, it is the same file"},
	{"header /tree/*/…", false, "an initial file that nothing read and whose digest the end does not hold"},
	{"header /config/extra/acceptance", false, "checks after the first failing one, and those that the final state passes as well, change no verdict"},
	{"header /config/extra/acceptance/…", false, "a check that gives the same verdict on the states at which it was asked"},
	{"header /config/extra/builtin", false, "names tools that canonicalise paths: not asked where no call of such a tool names one"},
	{"header /config/extra/builtin/*", false, "names tools that canonicalise paths: not asked where no call of such a tool names one"},
	{"header /config/extra/paths", false, "names arguments that are paths: not asked where no call has one"},
	{"header /config/extra/paths/…", false, "names arguments that are paths: not asked where no call has one"},
	{"header /config/extra/commands/…", false, "names arguments that are command lines: not asked where no call has one"},
	{"header /config/extra/hosts/…", false, "names arguments that are URLs: not asked where no call has one"},
	{"header /config/extra/permissions", false, "bounds that no call of this session came near"},
	{"header /config/extra/permissions/…", false, "a bound that no call of this session came near"},
	{"header /config/extra/approvals", false, "what waits for an approver: not asked where nothing that is listed was called, or the guard is off"},
	{"header /config/extra/approvals/…", false, "what waits for an approver, and what the scripted one says, which a replay is served"},
	{"header /config/extra/user", false, "lines of a scripted user that no answer called for"},
	{"header /config/extra/user/…", false, "a line of a scripted user that no answer called for, or a pattern that fits the same answers"},
	{"header /config/extra/seals", false, "globs of files that must not change: with them or without, none that they name did"},
	{"header /config/extra/seals/…", false, "globs of files that must not change: with them or without, none that they name did"},
	{"header /config/guards/…", false, "a threshold that nothing in this session came near, or a guard that had nothing to do"},
	{"header /config/limits/…", false, "a limit that this session did not come near"},
	{"header /config/models", false, "models to fall back on: not asked while the first one answers"},
	{"header /config/fallbacks", false, "how models to fall back on are asked: not asked while the first one answers"},
	{"header /config/fallbacks/…", false, "how models to fall back on are asked: not asked while the first one answers"},
	{"header /config/models/*", false, "models to fall back on: not asked while the first one answers"},
	{"header /config/prices/…", false, "a price of tokens of which none, or too few to round up, were used"},
	{"header /config/seed", false, "draws ids of calls and the jitter of waits: not asked where there was neither"},
	{"header /config/tools/*/parallel", false, "whether a call that changes something may run beside others: asked only in a batch whose other calls may"},
	{"header /config/tools/*/effect", false, "whether a call may change something: not asked where the tool was not called"},
	{"header /config/window", false, "the context window: asked by compaction alone"},

	{"attempt /error/message", false, "the provider's words; policies ask for kind, status and Retry-After, and only the last error's words end up in the footer"},
	{"attempt /error/status", false, "policies ask for the kind; only the last error's status ends up in the footer"},
	{"attempt /error/retry_after_us", false, "a Retry-After below the backoff, or above its ceiling, changes no wait"},
	{"attempt /items", false, "a dropped answer is asked for its stop signal, and whether it has text or calls"},
	{"attempt /items/…", false, "a dropped answer is asked for its stop signal, and whether it has text or calls"},
	{"attempt /finish", false, "a dropped answer is asked whether it was cut off"},
	{"response /items", false, "what was said is asked by the next request, by the checks and by the footer's answer: not where the session stops for another reason in this turn"},
	{"response /items/…", false, "what was said is asked by the next request, by the checks and by the footer's answer: not where the session stops for another reason in this turn"},
	{"response /model", false, "which model answered: asked for its price, which none has or all share"},
	{"attempt /model", false, "which model answered: asked for its price, which none has or all share"},
	{"response /cache", false, "that the answer was known: told where the guard response_cache is on, else nobody asks"},
	{"response /finish", false, "calls are taken from the items whatever the stop signal says; only a contradiction is noted"},
	{"tool.result /outcome", false, "a word for people and graders: the model sees the text, and guards tell only failures from successes"},
	{"tool.result /text", false, "a result is asked by the next request: not where the session stops in this turn"},
	{"tool.result /bytes", false, "the size of a result that was no text: asked by guards on large results alone"},
	{"tool.result /delta", false, "a write of what stands there already: with or without it the tree is the same"},
	{"tool.result /want_us", false, "beyond a deadline it does not matter by how much"},
	{"tool.result /exit", true, "the exit code as graders read it; what the model sees of it stands in the text"},
}

// Reasons says why nothing derived depends on a field, or on some of its values;
// never is true where none of its values can be felt. An empty reason: the field
// stands in no table, and a replay is expected to feel every change of it.
func Reasons(field string) (never bool, reason string) {
	for _, r := range rows {
		if matches(r.field, field) {
			return r.never, r.reason
		}
	}
	return false, ""
}

func matches(pattern, field string) bool {
	p, f := strings.Split(pattern, "/"), strings.Split(field, "/")
	for i, t := range p {
		switch {
		case t == "…":
			return len(f) > i
		case i >= len(f) || t != "*" && t != f[i]:
			return false
		}
	}
	return len(p) == len(f)
}
