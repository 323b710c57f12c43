package guard

// Manual is what a reader needs to know of a guard beside its row.
type Manual struct {
	Semantics string // what it does, exactly
	Cost      string // what it costs when it is wrong, or set badly
}

// Manual returns the guard's page of the manual.
func (d *Def) Manual() Manual { return manuals[d.Name] }

// manuals has one entry for each row of Table; a test holds it to that.
var manuals = map[string]Manual{
	"stuck": {
		`A round is the ordered list of (tool, arguments, digest of the raw result) of one turn; call ids and the order of keys do not count. Equal rounds in a row: at "nudge" the model is told once to change its approach or answer, at "abort" the session ends with outcome stuck. A cycle of two to four rounds counts in whole periods, with "cycle_nudge" and "cycle_abort". A poll whose result changes is another round and resets the count.`,
		`A patient model that waits for something whose answer does not change yet (a queue, a build without progress lines) is stopped although it would have succeeded.`,
	},
	"monotony": {
		`Counts rounds whose calls all name the same tool, whatever their arguments; a batch is one round, a round with two tools resets. At "nudge" the model is told once, at "abort" the session ends with outcome stuck.`,
		`Honest work with one tool (reading forty files one by one) looks the same and is stopped.`,
	},
	"no_progress": {
		`Counts failing calls in two ladders. The same failure is tool, argument digest and first line of the error; any failure counts in the other. A success resets both. Calls that ran into their deadline, and polls, do not count. Each ladder nudges once and then ends the session with outcome no_progress.`,
		`A model that needs many tries before the first success (an unstable service, a trial-and-error repair) is stopped too early.`,
	},
	"dedupe": {
		`A successful call that only reads and was made before with the same arguments, with no write since, is answered with a pointer to the earlier result, unless that is smaller than "least". Any call that is not read-only clears what is remembered, also one that failed.`,
		`Where something changes behind the tools' backs (a clock, another process), the pointer hides the new answer. Where the earlier result was compacted away, the model has to ask in another way.`,
	},
	"spill": {
		`A result of more than "over" bytes is written to /workspace/.harness/spill/ whole, and the model sees its first "preview" bytes and a marker with path, size and lines. Reads of spilled files are not spilled again; listings and searches of the workspace's root do not show them; graders do not see them. When the file cannot be written nothing is rewritten.`,
		`One more call is needed to see what would have stood in the result. Set too low it turns every ordinary result into a detour, and a model that does not follow the path works on the preview.`,
	},
	"result_ceiling": {
		`A result of more than "bytes" is cut there, never inside a character, and a marker says how much was cut. It works on what spill left.`,
		`What stands behind the cut is lost to the model: there is no path to it.`,
	},
	"tool_deadline": {
		`A tool call may take "per_call". Then it is ended, with all its processes, and the model gets a timeout result that it can route around. Of a tool that does not only read, the outcome is unknown, and the identical call is refused until it was found out.`,
		`A slow but living tool never gets to answer. Each try costs the whole deadline.`,
	},
	"run_deadline": {
		`Before every model and every tool call the time since the session began is held against "total", and what is left bounds the call. Outcome deadline.`,
		`A long task that progresses is cut off; what it has done so far is graded.`,
	},
	"limits": {
		`Turns, tool calls, tokens and cost, each before the next call. They only tighten the scenario's own limits, which no arm can switch off. Outcomes turn_limit, tool_call_limit, token_budget, cost_budget.`,
		`A task that needs more is cut off.`,
	},
	"final_synthesis": {
		`When turns or time run out, one reserved call, of which the model knows that no tool will run, asks for the best answer so far. It takes at most "timeout", stays within the budgets of tokens and cost, and is billed. The session keeps its outcome; the answer is what is graded. Never after a cancellation.`,
		`It costs one call over the whole conversation, and its answer is a guess where the work is not done: where a wrong answer is worse than none it hurts.`,
	},
	"acceptance": {
		`An answer without a call is a candidate, not an end. The scenario's checks are run on what is there, and the first failing reason goes back to the model as an instruction, "retries" times; then the session ends with outcome unverified.`,
		`The checks are an oracle signal that buys further attempts. A check that is wrong sends a model that was done back to work, until it breaks something or gives up.`,
	},
	"seals": {
		`Digests of the scenario's sealed files are taken before the first turn and again at every candidate, before acceptance. Changed, created or deleted: the session ends with outcome seal_broken, and is never sent back. A pattern that matched nothing both times is no breach.`,
		`A seal over a file that has to change makes the task impossible.`,
	},
	"retry": {
		`Of a model call that fails with a transport error, a broken stream, a timeout, 408, 409, 425, 429 or 5xx, the next of at most "attempts" is made after max(backoff, Retry-After). The backoff is exponential from "base" to "cap" with seeded full jitter, never zero; Retry-After counts up to "retry_after_cap". An exhausted quota and other 4xx are not retried. Every attempt is recorded and billed. The count begins anew with every turn.`,
		`Too many attempts at an endpoint that is down cost time, and money where failed calls are billed; too few end a session that the next attempt would have saved.`,
	},
	"fallback": {
		`When the model asked keeps failing, the next model of the configured list is asked, with a retry budget of its own, at most "models" in one turn and none twice. "after" is how many failed calls of a model are enough to turn to the next although retry would go on; at 0 retry is spent first. The next turn begins with the first model again. Never after a cancellation or the session's deadline. Without a list it never fires.`,
		`A weaker model's answer stands where a little patience would have had the stronger one's, and the rest of the session is built on it.`,
	},
	"truncated_empty": {
		`An answer that was cut by its length before it had any text or call is dropped and asked for again with twice the max_tokens, at most "factor_cap" times the original, "retries" times a turn. An unset max_tokens stays unset. The enlargement is of this turn alone.`,
		`Each dropped answer is paid in full. A model that thinks without end is paid for that twice.`,
	},
	"context_overflow": {
		`When the provider refuses a request for its size, the conversation is shrunk once, as compaction would, and asked again, "retries" times a turn.`,
		`What was shrunk away may be what the task needs. Without it the session ends with model_error.`,
	},
	"empty_response": {
		`A blank answer (no text, no call, after truncated_empty had its turn) is answered with one correction; "corrections" in a row, then the session ends with outcome empty_response.`,
		`A model that says nothing because it has nothing to add is asked again.`,
	},
	"unknown_tool": {
		`The result of a call of an unknown tool names the nearest tool, where one is close, and the list.`,
		`A few tokens. A near name that is the wrong tool leads astray.`,
	},
	"argument_repair": {
		`Arguments that are no JSON are repaired where it is clear what was meant: a code fence, text round the object, a trailing comma, an unclosed bracket; with "strings" at 1 also a string that breaks off, whose lost end stays lost. What is still wrong, or does not satisfy the schema, is answered with validation_failed, the place in the arguments and the schema expected there. The original stays in the session.`,
		`A repair of arguments that were cut short runs an operation that the model had not finished writing.`,
	},
	"compaction": {
		`When the estimate of the next request passes "at" per cent of the context window, old results are shrunk, old excerpts dropped and, if that is not enough and "summary" is 1, the middle is summarised by the model, down to "to" per cent. The latest "keep" rounds stay as they are if they fit; the system prompt, the tools, the task and pinned messages are never touched, and a call is never parted from its result. A summariser that fails is replaced by trimming.`,
		`What a later step needs may be gone: the model asks again, or guesses. The prompt cache of everything behind the cut is lost.`,
	},
	"budget_notice": {
		`Tells the model what is left of turns, calls, tokens, cost and time when the tightest of them passes "first" per cent, and once more at "second".`,
		`A model that is told too early that time is short skips what it would have had time for.`,
	},
	"goal_reminder": {
		`After "turns" turns without new evidence (a result not seen before, a check that passes, a file that changed) the task is presented again with what is unmet and the smallest next step; after as many again, what is missing and what was tried; then calls that brought nothing new are refused; then the session pauses with outcome policy_stopped. New evidence begins it anew.`,
		`A model that thinks long before it acts is interrupted, and at last stopped.`,
	},
	"scope": {
		`The scenario's permissions are held against the canonical resources of every operation: ./exports/../payments/x is payments/x. What lies outside is answered with permission_denied and not run. In force in every arm.`,
		`A permission that is too narrow makes the task impossible; the model can say so.`,
	},
	"approval": {
		`Operations that the scenario lists wait for an approver, who allows, denies, or says nothing until the request expires. An approval is bound to operation, arguments, actor and state; a stale one authorises nothing.`,
		`Every listed operation waits. A short "expires" denies what a slow approver would have allowed.`,
	},
	"redaction": {
		`Declared secrets and known shapes of keys are replaced by as many asterisks before anything is written, hashed or shown to the model. In force in every arm.`,
		`A harmless value that has the shape of a key is replaced too, and a task that needs it cannot be done.`,
	},
	"parallel_tools": {
		`The calls of one batch run at once, "most" at a time, where every one of them only reads or declares that it may. Results are committed in the order of the calls. With "cancel" the calls that still run are cancelled when one fails.`,
		`With cancel one failing lookup takes its siblings with it, and they have to be asked again.`,
	},
	"response_cache": {
		`A request that was answered before (same conversation, same parameters, same repetition) is answered from the cache and not billed; with "across" at 1 other repetitions share it too. Errors, dropped answers and answers of a fallback are never stored; a cache that fails changes nothing and is recorded.`,
		`An answer of yesterday hides that today's model answers otherwise.`,
	},
}
