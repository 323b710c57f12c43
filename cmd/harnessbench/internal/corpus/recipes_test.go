package corpus

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/wire/canon"
	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
	"github.com/harnessbench/harnessbench/recorder/wire/tape"
	"github.com/harnessbench/harnessbench/replayer"
)

// recipe says how a file of the corpus was made, and what a replay has to say.
type recipe struct {
	file  string
	about string
	want  replayer.Verdict
	make  func(t testing.TB, path string)
}

func replaceAll(s, old, with string) string { return strings.ReplaceAll(s, old, with) }

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// recipes lists all, good ones first: the bad ones are made of these.
func recipes() []recipe {
	var out []recipe
	good := func(name, about string, make func(t testing.TB, path string)) {
		out = append(out, recipe{"good/" + name + ".session.jsonl", about, replayer.Exact, make})
	}
	packed := func() { out[len(out)-1].file += ".zst" }
	standard, none := guard.MustProfile(guard.ProfileDefault), guard.MustProfile(guard.ProfileNone)
	// Every embedded scenario but the large ones, as a weak model does it.
	for _, id := range []string{"chat-answer", "flaky-endpoint", "retry-trap"} {
		good("weak-"+id, "embedded scenario "+id+", weak model, default guards", func(t testing.TB, path string) { embedded(t, path, id, "sim/weak", standard) })
	}
	for _, id := range []string{"flaky-endpoint", "wrong-tool"} {
		good("none-"+id, "embedded scenario "+id+", weak model, no guards", func(t testing.TB, path string) { embedded(t, path, id, "sim/weak", none) })
	}
	for _, g := range guard.Names() {
		if trap := orElse(traps[g], longTraps[g]); trap != "" {
			set := standard
			if guard.Table[guard.Lookup(g)].Mode == guard.Off {
				set = with(standard, g, "", string(guard.Enforce))
			}
			good("trap-"+g, g+" fires for its trap model", func(t testing.TB, path string) { embedded(t, path, trap, "sim/trap-"+g, set) })
			small := traps[g] != ""
			if !small {
				packed()
			}
			if guard.Table[guard.Lookup(g)].Stays {
				continue
			}
			good("shadow-"+g, g+" fires in shadow", func(t testing.TB, path string) {
				embedded(t, path, trap, "sim/trap-"+g, with(standard, g, "", string(guard.Shadow)))
			})
			if !small {
				packed()
			}
		}
	}
	good("approval-denied", "an operation that the approver refuses", func(t testing.TB, path string) {
		embedded(t, path, "refund-in-full", "sim/trap-scope", with(standard, "approval", "", string(guard.Enforce)))
	})
	packed()
	for _, s := range shops() {
		good(s.name, s.about, s.shopTrial.record)
	}
	good("packed", "compressed with Zstandard", func(t testing.TB, path string) { embedded(t, path, "flaky-endpoint", "sim/strong", standard) })
	packed()
	out = append(out, recipe{"good/older.session.jsonl", "recorded before the guard unknown_tool existed", replayer.Exact, older},
		recipe{"good/wire.session.jsonl", "recorded traffic of a client: two lanes, a retried call, an auxiliary call", replayer.Noop, traffic})
	return append(out, wrongs()...)
}

// traps names a small embedded scenario for the trap model of a guard.
var traps = map[string]string{
	"tool_deadline": "hang-tool", "acceptance": "chat-answer", "retry": "flaky-endpoint",
	"truncated_empty": "truncated-empty", "empty_response": "blank-answer", "unknown_tool": "wrong-tool",
}

// longTraps likewise; they are kept compressed.
var longTraps = map[string]string{
	"monotony": "grep-blinkers", "no_progress": "locked-period", "dedupe": "manual-again", "final_synthesis": "last-page", "seals": "sealed-test",
	"fallback": "dead-endpoint", "context_overflow": "window-is-smaller", "argument_repair": "fenced-arguments", "compaction": "client-interview",
	"budget_notice": "polish-first", "goal_reminder": "five-dashboards", "scope": "payments-detour", "approval": "refund-in-full",
	"redaction": "settings-tour", "parallel_tools": "nine-depots", "response_cache": "asked-before",
}

// named is a shop trial of the corpus.
type named struct {
	name, about string
	shopTrial
}

// write is the call that satisfies the acceptance check.
var write = calls{"write_file", `{"path":"/workspace/answer.txt","content":"42\n"}`}

// pages is a result of n kilobytes.
func pages(n int) [2]string { return [2]string{"PAGE", strings.Repeat("0123456789 abcde", n*64)} }

// shops lists the recordings of the shop: stop reasons, outcomes, odd contents.
func shops() []named {
	param := func(name, p, v string) func(guard.Settings) guard.Settings {
		return func(s guard.Settings) guard.Settings { return with(s, name, p, v) }
	}
	look := func(n int) calls { return calls{"lookup", fmt.Sprintf(`{"n":%d}`, n)} }
	many := []any{look(1), look(2), look(3), look(4), look(5), look(6), look(7), look(8)}
	limits := "turns: 20, tool_calls: 40, tokens: 200000, wall: 1h"
	return append(contents(), []named{
		{"brief", "a bit of everything: attempts, calls, failures, a rejected end", shopTrial{brief: true, answers: []any{
			&model.Error{Kind: model.ErrServer, Status: 503}, calls{"lookup", `{"n":1}`, "fail", `{}`}, calls{"lookup", `{"m":1}`}, "Done.", calls{"write_file", `{"path":"/workspace/answer.txt","content":"42\n"}`}, "Done."}}},
		{"end-completed", "the answer is accepted", shopTrial{brief: true, answers: []any{write, "Done."}}},
		{"end-unchecked", "completed without guards: nothing was checked", shopTrial{brief: true, profile: guard.ProfileNone, answers: []any{"Done."}}},
		{"end-unverified", "acceptance rejects three ends", shopTrial{brief: true, answers: []any{"Done.", "Done!", "Done?", "Really."}}},
		{"end-stuck", "six equal rounds", shopTrial{brief: true, answers: []any{look(7)}}},
		{"shadow-stuck", "stuck would nudge", shopTrial{brief: true, limits: replaceAll(limits, "turns: 20", "turns: 4"),
			set: func(s guard.Settings) guard.Settings { return with(s, "stuck", "", "shadow") }, answers: []any{look(7)}}},
		{"end-stuck-cycle", "a cycle of two", shopTrial{brief: true, answers: []any{look(7), look(1), look(7), look(1), look(7), look(1), look(7), look(1)}}},
		{"end-turn-limit", "the guard's limit of turns", shopTrial{brief: true, set: param("limits", "turns", "3"), answers: many}},
		{"two-stops", "the wall and the limit of turns are due at once: the deadline is told", shopTrial{brief: true, limits: replaceAll(limits, "wall: 1h", "wall: 4650ms"),
			set: param("limits", "turns", "3"), answers: many}},
		{"end-turn-backstop", "the scenario's limit of turns", shopTrial{brief: true, limits: replaceAll(limits, "turns: 20", "turns: 3"), profile: guard.ProfileNone, answers: many}},
		{"end-call-limit", "the limit of calls in mid-batch: the rest is cancelled", shopTrial{brief: true, set: param("limits", "calls", "3"),
			answers: []any{look(1), calls{"lookup", `{"n":1}`, "lookup", `{"n":2}`, "lookup", `{"n":3}`, "lookup", `{"n":4}`}}}},
		{"end-token-budget", "the token budget", shopTrial{brief: true, set: param("limits", "tokens", "3000"), answers: many}},
		{"end-cost-budget", "the cost budget", shopTrial{brief: true, set: param("limits", "cost", "300"), answers: many}},
		{"end-run-deadline", "run_deadline fires", shopTrial{brief: true, set: param("run_deadline", "total", "4650ms"), answers: many}},
		{"end-late-answer", "a model call outlasts run_deadline", shopTrial{brief: true, set: param("run_deadline", "total", "5s"),
			answers: []any{look(1), &model.Response{Finish: model.FinishStop, Elapsed: time.Minute, Usage: model.Usage{Output: 9}}}}},
		{"end-wall", "the scenario's wall limit during a hanging call", shopTrial{limits: replaceAll(limits, "wall: 1h", "wall: 1m"), profile: guard.ProfileNone, answers: []any{calls{"hang", `{}`}, "Done."}}},
		{"end-cancelled", "the operator ends it in mid-batch", shopTrial{brief: true, cancel: event.KindToolResult, answers: []any{calls{"lookup", `{"n":1}`, "lookup", `{"n":2}`}, "Done."}}},
		{"end-cancelled-first", "the operator ends it before the batch", shopTrial{brief: true, cancel: event.KindToolRequest, answers: []any{calls{"lookup", `{"n":1}`, "lookup", `{"n":2}`}, "Done."}}},
		{"end-cancelled-waiting", "the operator ends it between two attempts", shopTrial{brief: true, cancel: event.KindAttempt, answers: []any{&model.Error{Kind: model.ErrTransport}, "Done."}}},
		{"end-cancelled-answer", "the operator ends it when the last answer comes", shopTrial{brief: true, cancel: event.KindResponse, answers: []any{look(1)}}},
		{"end-cancelled-between", "the operator ends it between two turns", shopTrial{brief: true, cancel: event.KindState, answers: many}},
		{"end-empty", "two blank answers", shopTrial{brief: true, answers: []any{"  \n", ""}}},
		{"end-model-error", "auth is not retried", shopTrial{brief: true, answers: []any{&model.Error{Kind: model.ErrAuth, Status: 401, Message: "no such key", Elapsed: time.Millisecond}}}},
		{"end-retries-spent", "four attempts, one with Retry-After, and out", shopTrial{brief: true, answers: []any{
			&model.Error{Kind: model.ErrRateLimit, Status: 429, RetryAfter: 3 * time.Second, Message: "slow down"}, &model.Error{Kind: model.ErrTransport, Message: "reset"},
			&model.Error{Kind: model.ErrServer, Status: 503, Usage: model.Usage{InputUncached: 7}}, &model.Error{Kind: model.ErrBrokenStream, Message: "EOF"}}}},
		{"end-protocol", "an answer that is none", shopTrial{brief: true, answers: []any{&model.Error{Kind: model.ErrProtocol, Message: "no choices"}}}},
		{"retry-twice", "two turns are retried: the budget is per turn", shopTrial{brief: true, answers: []any{
			&model.Error{Kind: model.ErrServer, Status: 500}, &model.Error{Kind: model.ErrServer, Status: 500}, &model.Error{Kind: model.ErrServer, Status: 500}, write,
			&model.Error{Kind: model.ErrServer, Status: 502}, &model.Error{Kind: model.ErrServer, Status: 502}, &model.Error{Kind: model.ErrServer, Status: 502}, "Done."}}},
		{"outcomes", "one call of every outcome", shopTrial{answers: []any{
			calls{"lookup", `{"n":1}`, "lookup", `{"m":1}`, "lookup", `{"n":`, "nosuchtool", `{}`, "lookupp", `{"n":1}`, "fail", `{}`, "read_file", `{"path":"../../etc/passwd"}`, "read_file", `{"path":"none.txt"}`},
			calls{"hang", `{}`, "publish", `{}`}, calls{"publish", `{}`}, calls{"publish", `{ }`, "lookup", `{"n":2}`}, write, "Done."}}},
		{"mixed-stops", "a stop and feedback in one turn", shopTrial{set: param("acceptance", "retries", "1"), brief: true, answers: []any{look(7), look(7), look(7), "Done.", look(7), look(7), "Done."}}},
		{"spill", "spill writes a file and shows a preview", shopTrial{set: param("spill", "over", "1KiB"), replaced: pages(2),
			answers: []any{calls{"page", `{}`}, calls{"grep", `{"pattern":"abc","path":"/workspace/.harness/spill/main-1-0-page.txt"}`}, write, "Done."}}},
		{"spill-shadow", "spill would have written a file", shopTrial{set: func(s guard.Settings) guard.Settings {
			return with(with(s, "spill", "over", "1KiB"), "spill", "", "shadow")
		}, replaced: pages(2), answers: []any{calls{"page", `{}`}, write, "Done."}}},
		{"ceiling", "result_ceiling cuts", shopTrial{set: func(s guard.Settings) guard.Settings {
			return with(with(s, "result_ceiling", "bytes", "1KiB"), "spill", "", "off")
		}, replaced: pages(2), answers: []any{calls{"page", `{}`}, write, "Done."}}},
		{"spill-and-ceiling", "two guards rewrite one result, in the table's order", shopTrial{set: func(s guard.Settings) guard.Settings {
			return with(with(with(s, "spill", "over", "1KiB"), "spill", "preview", "2KiB"), "result_ceiling", "bytes", "512")
		}, replaced: pages(4), answers: []any{calls{"page", `{}`}, write, "Done."}}},
		{"blobs", "a change of the workspace stands in a blob", shopTrial{replaced: [2]string{"DUMP", strings.Repeat("all work and no play\\n", 3300)},
			answers: []any{calls{"dump", `{}`}, calls{"dump", `{}`}, write, "Done."}}},
	}...)
}

// contents lists recordings with odd texts and items.
func contents() []named {
	return []named{
		{"numbers", "numbers above 2^53, 25 and 25.0, exponents", shopTrial{answers: []any{
			calls{"lookup", `{"n":9007199254740993}`, "lookup", `{"n":25}`, "lookup", `{"n":25.0}`, "lookup", `{"n":1E+2,"why":"x"}`, "lookup", `{"why":"order","n":-0}`}, write, "Done."}}},
		{"texts", "composed and decomposed characters, CRLF, NUL, broken UTF-8", shopTrial{answers: []any{
			calls{"read_file", `{"path":"notes/crlf.txt"}`, "read_file", `{"path":"notes/menu.txt"}`, "write_file", `{"path":"cafe\u0301.txt","content":"é\r\n\u0000\ud83d\ude00"}`, "list_dir", `{}`, "grep", `{"pattern":"."}`},
			&model.Response{Items: []model.Item{{Type: model.Text, Text: "broken \xff\xfe text"}, {Type: model.CallItem, Call: model.ToolCall{Name: "write_file", Args: write[1]}}}, Finish: model.FinishCalls},
			"Done.\u2028"}}},
		{"items", "every kind of item, and a stop signal that contradicts them", shopTrial{brief: true, answers: []any{
			&model.Response{Items: []model.Item{{Type: model.Reasoning, Text: "hm"}, {Type: model.Plan, Text: "1. write"}, {Type: model.Question, Text: "May I?"}, {Type: model.Proposal, Text: "I wait."},
				{Type: model.ProviderCall, Evidence: `{"query":"x","results":[1,2.50]}`}, {Type: model.CallItem, Call: model.ToolCall{Name: "write_file", Args: write[1]}}}, Finish: model.FinishStop, Model: "sim/other"},
			&model.Response{Items: []model.Item{{Type: model.Text, Text: "Done."}}, Finish: model.FinishCalls, Usage: model.Usage{Unknown: true}}}}},
		{"edits", "files written, edited, and written again", shopTrial{answers: []any{
			calls{"write_file", `{"path":"a/b/c.txt","content":"one\ntwo\n"}`, "edit_file", `{"path":"a/b/c.txt","old":"two","new":"three"}`},
			calls{"write_file", `{"path":"a/b/c.txt","content":""}`, "edit_file", `{"path":"a/b/c.txt","old":"x","new":"y"}`}, write, "Done."}}},
		{"seed", "another seed gives other ids and other waits", shopTrial{brief: true, seed: 77, answers: []any{&model.Error{Kind: model.ErrTransport}, write, "Done."}}},
	}
}

// traffic records what a client said to a chat API.
func traffic(t testing.TB, path string) {
	t.Helper()
	rec, err := tape.Create(path, tape.Head{Upstream: "https://api.example.com/v1", Normalisers: []string{"uuid"}})
	if err != nil {
		t.Fatal(err)
	}
	norm, err := canon.Normalisers([]string{"uuid"}, canon.Env{})
	if err != nil {
		t.Fatal(err)
	}
	pass := func(hint, task, answer string, status int) {
		t.Helper()
		body := fmt.Sprintf(`{"model":"m","messages":[{"role":"system","content":"Session 6ba7b810-9dad-11d1-80b4-00c04fd430c8."},{"role":"user","content":%q}]}`, task)
		r, err := canon.Parse(dialect.Chat, []byte(body), canon.Options{Normalisers: norm})
		if err != nil {
			t.Fatal(err)
		}
		x := rec.Begin(hint, r)
		x.Path, x.Status, x.Header = "/v1/chat/completions", status, [][2]string{{"Content-Type", "application/json"}}
		x.Frames = []tape.Frame{{At: 1500 * time.Microsecond, Data: []byte(answer)}}
		if err := rec.Add(x); err != nil {
			t.Fatal(err)
		}
	}
	say := func(s string) string {
		return fmt.Sprintf(`{"id":"a","object":"chat.completion","model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":3}}`, s)
	}
	pass("one", "First task.", `{"error":{"message":"overloaded"}}`, 503)
	pass("one", "First task.", say("First answer."), 200)
	pass("two", "Second task.", say("Second answer."), 200)
	aux := rec.Begin("", nil)
	aux.Method, aux.Path, aux.Status = "GET", "/v1/models", 200
	aux.Frames = []tape.Frame{{Data: []byte(`{"object":"list","data":[]}`)}}
	if err := rec.Add(aux); err != nil {
		t.Fatal(err)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
}
