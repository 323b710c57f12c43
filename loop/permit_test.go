package loop_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
	"github.com/harnessbench/harnessbench/loop/tool/builtin"
	"github.com/harnessbench/harnessbench/loop/workspace"
)

// counted is a tool that counts how often it was really run.
func counted(name string, effect event.Effect, n *int) fakeTool {
	return newTool(name, effect, func(context.Context, *tool.Op) tool.Result {
		*n++
		return tool.Result{Outcome: event.Success, Text: "ran", Took: time.Second}
	})
}

func scope(t testing.TB, p guard.Permissions) *guard.Scope {
	t.Helper()
	s, err := guard.NewScope(p)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func rules(t testing.TB, list ...guard.ApprovalRule) loop.Rules {
	t.Helper()
	a, err := guard.NewApprovals(list)
	if err != nil {
		t.Fatal(err)
	}
	return loop.Rules{Approvals: a}
}

// fileTrial is a trial with the built-in file tools over a small tree.
func fileTrial(t *testing.T, m *scripted, p guard.Permissions) (*trial, *workspace.Mem) {
	t.Helper()
	ws, err := workspace.NewMem(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{"payments/x": "ledger", "exports/y": "export", "a/b/c": "deep", "a/f": "flat"} {
		if _, err := ws.WriteFile(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	s := scope(t, p)
	tr := newTrial(t, m, builtin.Tools(workspace.Showing(ws, s.Shows)), guard.ProfileNone)
	tr.deps.Rules.Scope = s
	return tr, ws
}

// Every spelling of a path is judged as the path it means.
func TestScopeJudgesTheCanonicalPath(t *testing.T) {
	for _, path := range []string{"payments/x", "./exports/../payments/x", "/workspace/payments/x", "/workspace/./exports//../payments/x", "exports/y/../../payments/x",
		"PAYMENTS/x", "/workspace/Payments/X"} {
		for _, call := range []string{`write_file {"path":"` + path + `","content":"z"}`, `read_file {"path":"` + path + `"}`, `grep {"path":"` + path + `","pattern":"."}`} {
			tr, ws := fileTrial(t, answers(calls(call), say("done")), guard.Permissions{Write: []string{"exports/**"}, Deny: []string{"payments"}})
			end := tr.wantEnd(t, event.Completed)
			r := eventsOf[*event.ToolResult](tr.sink)[0]
			if r.Outcome != event.PermissionDenied || !strings.Contains(r.Raw, "off limits") || end.Calls != 0 {
				t.Errorf("%s: %s %q, %d calls", call, r.Outcome, r.Raw, end.Calls)
			}
			g := eventsOf[*event.Guard](tr.sink)
			if len(g) != 1 || g[0].Name != "scope" || g[0].On != r.Call.ID || !strings.Contains(g[0].Evidence, "deny payments") {
				t.Errorf("%s: %+v", call, g)
			}
			if b, _, _ := ws.ReadFile("payments/x", 0, 100); string(b) != "ledger" {
				t.Errorf("%s: the ledger says %q", call, b)
			}
		}
	}
	tr, _ := fileTrial(t, answers(calls(`write_file {"path":"./payments/../exports/x","content":"z"}`), say("done")), guard.Permissions{Write: []string{"exports/**"}, Deny: []string{"payments/**"}})
	tr.wantEnd(t, event.Completed)
	wantLines(t, tr.sink.only("result"), "result 0 success")
}

// A listing or search above what may not be read shows the rest.
func TestScopeHides(t *testing.T) {
	odd, _ := fileTrial(t, answers(calls(`read_file {"path":"a/f"}`, `grep {"path":"a/f","pattern":"."}`), say("done")), guard.Permissions{Read: []string{"a/*/c"}})
	odd.wantEnd(t, event.Completed)
	wantLines(t, odd.sink.only("result"), "result 0 tool_error", "result 1 tool_error") // by its path it may be a folder that holds a c
	tr, _ := fileTrial(t, answers(calls("list_dir {}", `grep {"pattern":"."}`, `list_dir {"path":"a"}`, `read_file {"path":"exports/y"}`), say("done")),
		guard.Permissions{Read: []string{"payments/x", "a/*/c"}, Deny: []string{"payments"}})
	tr.wantEnd(t, event.Completed)
	var got []string
	for _, r := range eventsOf[*event.ToolResult](tr.sink) {
		got = append(got, string(r.Outcome)+": "+r.Raw)
	}
	wantLines(t, got, "success: a/", "success: /workspace/a/b/c:1:deep", "success: b/",
		"permission_denied: permission denied: you may not read /workspace/exports/y. You may read: payments/x, a/*/c")
}

// What was spilled stays readable under any permissions.
func TestScopeLeavesSpillReadable(t *testing.T) {
	s := scope(t, guard.Permissions{Read: []string{"docs/**"}, Deny: []string{"**"}})
	if why, _ := s.Judge(event.Read, []string{"/workspace/.harness/spill/main-1-0-x.txt"}); why != "" {
		t.Error(why)
	}
	if why, _ := s.Judge(event.Write, []string{"/workspace/.harness/spill/main-1-0-x.txt"}); why == "" {
		t.Error("spilled files may be written")
	}
}

// later is a preparer whose tools were replaced after the model was told of them.
type later struct {
	loop.Preparer
	version int
}

func (l later) Prepare(c model.ToolCall) tool.Prepared {
	p := l.Preparer.Prepare(c)
	p.Version = l.version
	return p
}

// A call counts for the version of the tool that the model saw, and for no other.
func TestOtherVersionIsStale(t *testing.T) {
	ran := 0
	tr := newTrial(t, answers(calls("act"), say("done")), []tool.Tool{counted("act", event.Write, &ran)}, guard.ProfileNone)
	tr.deps.Tools = later{tr.deps.Tools, 2}
	end := tr.wantEnd(t, event.Completed)
	r := eventsOf[*event.ToolResult](tr.sink)
	if ran != 0 || end.Calls != 0 || len(r) != 1 || r[0].Outcome != event.UnknownTool || !strings.Contains(r[0].Raw, "stale call: you were told of version 1 of act") {
		t.Errorf("ran %d, %d calls, %+v", ran, end.Calls, r)
	}
	// One that the model was never told of is none.
	tr = newTrial(t, answers(calls("act"), say("done")), []tool.Tool{counted("act", event.Write, &ran)}, guard.ProfileNone)
	tr.Tools = nil
	tr.wantEnd(t, event.Completed)
	wantLines(t, tr.sink.only("result"), "result 0 unknown_or_disabled_tool")
	if ran != 0 {
		t.Error("it was run")
	}
}

// What is not admitted is not run, not counted, stands before no checkpoint, and
// has one result.
func TestNotAdmittedIsNotStarted(t *testing.T) {
	ran := 0
	tr := newTrial(t, answers(calls("pay", "nope", "pay [", "look"), say("done")), []tool.Tool{counted("pay", event.External, &ran), counted("look", event.Read, new(int))},
		guard.ProfileNone, "approval=enforce")
	tr.deps.Rules = rules(t, guard.ApprovalRule{Tool: "pay", Decide: guard.Deny, Reason: "no"})
	tr.deps.Approve = tr.deps.Rules.Approver()
	end := tr.wantEnd(t, event.Completed)
	wantLines(t, tr.sink.only("result"), "result 0 permission_denied", "result 1 unknown_or_disabled_tool", "result 2 validation_failed", "result 3 success")
	if n := len(tr.sink.only("before tool")); ran != 0 || end.Calls != 1 || n != 1 {
		t.Errorf("ran %d, %d calls, %d checkpoints", ran, end.Calls, n)
	}
}

// Names that no tool has do no harm, wherever they turn up.
func TestOddToolNames(t *testing.T) {
	names := []string{"../../etc/passwd", "rm\x00", "a/b", "..", "pay\n", strings.Repeat("x", 5000), "\xff\xfe", "%s%n", "pay "}
	ran := 0
	tr := newTrial(t, answers(calls(names...), say("done")), []tool.Tool{counted("pay", event.External, &ran)}, guard.ProfileFull)
	var spilled []string
	tr.deps.Spill = func(path, _ string) error { spilled = append(spilled, path); return nil }
	tr.deps.Rules = rules(t, guard.ApprovalRule{Tool: "pay", Decide: guard.Allow})
	tr.deps.Rules.Scope = scope(t, guard.Permissions{Deny: []string{"**"}})
	tr.deps.Approve = tr.deps.Rules.Approver()
	tr.wantEnd(t, event.Completed)
	for _, r := range eventsOf[*event.ToolResult](tr.sink) {
		want := event.UnknownTool
		if r.Call.Name == "pay" {
			want = event.Success // of "pay ", which is pay and no arguments
		}
		if r.Outcome != want || len(r.Raw) > 400 {
			t.Errorf("%.20q: %s %.60q", r.Call.Name, r.Outcome, r.Raw)
		}
	}
	if ran != 1 || spilled != nil {
		t.Errorf("ran %d, spilled %q", ran, spilled)
	}
}

// approved runs one call of pay under an approver and returns its outcome, the
// decision as it was recorded, and whether the tool was run.
func approved(t *testing.T, approve loop.Approver, changes ...string) (event.Outcome, string, bool) {
	t.Helper()
	ran := 0
	tr := newTrial(t, answers(calls(`pay {"a":1}`), say("done")), []tool.Tool{counted("pay", event.External, &ran)}, guard.ProfileNone, append(changes, "approval=enforce")...)
	tr.deps.Rules = rules(t, guard.ApprovalRule{Tool: "pay"})
	tr.deps.Approve = approve
	tr.wantEnd(t, event.Completed)
	decision := ""
	for _, a := range eventsOf[*event.Approval](tr.sink) {
		decision = a.Decision
	}
	return eventsOf[*event.ToolResult](tr.sink)[0].Outcome, decision, ran == 1
}

// An approval authorises the very operation that was asked, by who asked, at the
// state and in the time it was asked in; nothing else does.
func TestStaleApprovalNeverAuthorises(t *testing.T) {
	const min = time.Minute
	for name, c := range map[string]struct {
		change   func(*event.Approval)
		outcome  event.Outcome
		decision string
	}{
		"as asked":          {func(*event.Approval) {}, event.Success, "allow"},
		"just in time":      {func(a *event.Approval) { a.Took = 10 * min }, event.Success, "allow"},
		"too late":          {func(a *event.Approval) { a.Took = 10*min + time.Microsecond }, event.ApprovalRequired, "expire"},
		"another operation": {func(a *event.Approval) { a.Operation = "call_other" }, event.ApprovalRequired, "stale"},
		"other arguments":   {func(a *event.Approval) { a.Digest[0]++ }, event.ApprovalRequired, "stale"},
		"another actor":     {func(a *event.Approval) { a.Actor = "sub" }, event.ApprovalRequired, "stale"},
		"another state":     {func(a *event.Approval) { a.Version-- }, event.ApprovalRequired, "stale"},
		"no decision":       {func(a *event.Approval) { a.Decision = "yes" }, event.ApprovalRequired, "stale"},
		"nothing":           {func(a *event.Approval) { a.Decision = "" }, event.ApprovalRequired, "expire"},
		"denied":            {func(a *event.Approval) { a.Decision = "deny" }, event.PermissionDenied, "deny"},
		"expired":           {func(a *event.Approval) { a.Decision = "expire" }, event.ApprovalRequired, "expire"},
	} {
		outcome, decision, ran := approved(t, func(_ context.Context, ask *loop.Ask) (event.Approval, error) {
			got := ask.Approval
			got.Decision = "allow"
			c.change(&got)
			return got, nil
		})
		if outcome != c.outcome || decision != c.decision || ran != (c.outcome == event.Success) {
			t.Errorf("%s: %s, recorded %q, ran %v", name, outcome, decision, ran)
		}
	}
	if outcome, decision, ran := approved(t, nil); outcome != event.ApprovalRequired || decision != "" || ran {
		t.Errorf("nobody there: %s %q %v", outcome, decision, ran)
	}
	// An answer is kept for the next turn's equal call: it is of another state.
	var kept *event.Approval
	ran := 0
	tr := newTrial(t, answers(calls("pay"), calls("pay"), say("done")), []tool.Tool{counted("pay", event.External, &ran)}, guard.ProfileNone, "approval=enforce")
	tr.deps.Rules = rules(t, guard.ApprovalRule{Tool: "pay"})
	tr.deps.Approve = func(_ context.Context, ask *loop.Ask) (event.Approval, error) {
		if kept == nil {
			got := ask.Approval
			got.Decision = "allow"
			kept = &got
		}
		return *kept, nil
	}
	tr.wantEnd(t, event.Completed)
	if wantLines(t, tr.sink.only("result"), "result 0 success", "result 0 approval_required"); ran != 1 {
		t.Errorf("ran %d", ran)
	}
}

// An approval that has run out while the calls before took their time is none
// when it is the call's turn.
func TestApprovalLapses(t *testing.T) {
	for took, want := range map[time.Duration]string{time.Minute: "result 1 success", time.Minute + time.Microsecond: "result 1 approval_required"} {
		ran := 0
		tr := newTrial(t, answers(calls("long", "pay"), say("done")), []tool.Tool{slow("long", event.Read, took), counted("pay", event.External, &ran)}, guard.ProfileNone,
			"approval=enforce", "approval.expires=1m")
		tr.deps.Rules = rules(t, guard.ApprovalRule{Tool: "pay", Decide: guard.Allow, Takes: 30 * time.Second})
		tr.deps.Approve = tr.deps.Rules.Approver()
		end := tr.wantEnd(t, event.Completed)
		if got := tr.sink.only("result 1"); got[0] != want || ran != strings.Count(want, "success") || end.Calls != 1+ran {
			t.Errorf("after %s: %s, ran %d, %d calls", took, got, ran, end.Calls)
		}
		if stale := tr.sink.only("guard approval enforce stale"); len(stale) != 1-ran {
			t.Errorf("after %s: %s", took, stale)
		}
	}
}

// The order of what an approval leaves in the events, the clock that moves by the
// wait, and that off and shadow ask nobody.
func TestApprovalModes(t *testing.T) {
	for mode, want := range map[string]string{
		"enforce": "response approval ask 0 pay permission_denied guard approval enforce deny result 0 permission_denied",
		"shadow":  "response ask 0 pay guard approval shadow ask result 0 success",
		"off":     "response ask 0 pay result 0 success",
	} {
		tr := newTrial(t, answers(calls(`pay {"amount":2500}`), say("done")), []tool.Tool{counted("pay", event.External, new(int))}, guard.ProfileNone, "approval="+mode)
		tr.deps.Rules = rules(t, guard.ApprovalRule{Tool: "pay", When: map[string]string{"amount": "^[0-9]{4}$"}, Decide: guard.Deny, Takes: 40 * time.Second, Reason: "too much"})
		tr.deps.Approve = tr.deps.Rules.Approver()
		end := tr.wantEnd(t, event.Completed)
		var got []string
		for _, l := range tr.sink.log {
			if strings.HasPrefix(l, "unknown event") {
				l = "approval"
			}
			if l == "round" {
				break
			}
			if l == "response" || got != nil && l != "before tool" {
				got = append(got, l)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s:\n got %s\nwant %s", mode, strings.Join(got, " "), want)
		}
		if at := map[string]time.Duration{"enforce": 42 * time.Second, "shadow": 3 * time.Second, "off": 3 * time.Second}[mode]; end.At != at {
			t.Errorf("%s: ends at %s", mode, end.At)
		}
		if r := eventsOf[*event.ToolResult](tr.sink)[0]; mode == "enforce" && r.Raw != "permission denied: the approver refused this operation: too much" {
			t.Errorf("%q", r.Raw)
		}
	}
}

// An approver that fails is no decision, and ends the session.
func TestApproverFails(t *testing.T) {
	tr := newTrial(t, answers(calls("pay"), say("done")), []tool.Tool{counted("pay", event.External, new(int))}, guard.ProfileNone, "approval=enforce")
	tr.deps.Rules = rules(t, guard.ApprovalRule{Tool: "pay"})
	boom := errors.New("line is dead")
	tr.deps.Approve = func(context.Context, *loop.Ask) (event.Approval, error) { return event.Approval{}, boom }
	if end, err := tr.start(t).Run(t.Context()); !errors.Is(err, boom) || end.Reason != event.InternalError || len(tr.sink.only("result")) != 0 {
		t.Errorf("%v %+v", err, end)
	}
	ctx, cancel := context.WithCancel(t.Context())
	tr = newTrial(t, answers(calls("pay"), say("done")), []tool.Tool{counted("pay", event.External, new(int))}, guard.ProfileNone, "approval=enforce")
	tr.ctx, tr.deps.Rules = ctx, rules(t, guard.ApprovalRule{Tool: "pay"})
	tr.deps.Approve = func(ctx context.Context, _ *loop.Ask) (event.Approval, error) {
		cancel()
		return event.Approval{}, ctx.Err()
	}
	tr.wantEnd(t, event.CancelledRun)
	wantLines(t, tr.sink.only("result"), "result 0 cancelled")
}

// Nobody who is handed something by the loop changes what was frozen.
func TestFrozenConfigStays(t *testing.T) {
	var tr *trial
	var cfg loop.Config
	meddle := func() {
		s := cfg.Settings()
		s.Tools[0].Name, s.Models[0], s.Prices["x"], s.Task = "other", "other", loop.Prices{Output: 1}, "other"
		tr.Settings.Tools[0].Version, tr.Settings.Models[0], tr.Settings.Extra = 9, "other", "[]"
		for _, p := range cfg.Parts() {
			p.JSON = nil
		}
	}
	m := answers(calls("act"), say("done"))
	tr = newTrial(t, m, []tool.Tool{newTool("act", event.Write, func(_ context.Context, op *tool.Op) tool.Result {
		meddle()
		op.Name, op.Args, op.Deadline = "other", "[]", time.Hour
		return tool.Result{Outcome: event.Success, Text: "ok"}
	})}, guard.ProfileDefault)
	tr.sink.hook = func(event.Event) { meddle() }
	cfg, err := loop.Freeze(tr.Settings)
	if err != nil {
		t.Fatal(err)
	}
	before, digest := cfg.JSON(), cfg.Digest()
	l, err := loop.New(cfg, tr.deps)
	if err != nil {
		t.Fatal(err)
	}
	end, err := l.Run(t.Context())
	if err != nil || end.Reason != event.Completed {
		t.Errorf("%v %+v", err, end)
	}
	if cfg.JSON() != before || cfg.Digest() != digest || !cfg.Intact() {
		t.Error("the frozen configuration was changed")
	}
	if r := eventsOf[*event.ToolResult](tr.sink)[0]; r.Call.Name != "act" || r.Args != "{}" {
		t.Errorf("%+v", r)
	}
}
