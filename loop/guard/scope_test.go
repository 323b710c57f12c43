package guard

import (
	"path"
	"strings"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
)

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		glob, path    string
		covers, below bool
	}{
		{"reports", "reports", true, true},
		{"reports", "reports/a/b", true, true},
		{"reports", "reportsx", false, false},
		{"reports", "", false, true},
		{"reports/**", "reports", true, true},
		{"reports/**", "reports/a", true, true},
		{"reports/**", "x/reports", false, false},
		{"**", "", true, true},
		{"/workspace", "a", true, true},
		{"/workspace/a", "a", true, true},
		{"./a/", "a/b", true, true},
		{"*.csv", "a.csv", true, true},
		{"*.csv", "d/a.csv", false, false},
		{"**/*.csv", "a.csv", true, true},
		{"**/*.csv", "d/e/a.csv", true, true},
		{"**/*.csv", "d/e", false, true},
		{"a/**/z", "a/z", true, true},
		{"a/**/z", "a/b/c/z/below", true, true},
		{"a/**/z", "a/b", false, true},
		{"a/**/z", "b", false, false},
		{"a/*/c", "a/b", false, true},
		{"a/*/c", "a/b/d", false, false},
		{"a?", "ab", true, true},
		{"a?", "a/b", false, false},
		{"[ab]x", "bx", true, true},
		{"/workspace/a", "a/b", true, true},
		{"/workspace", "a", true, true},
		{"/workspace/", "a", true, true},
		{"./a/", "a/b", true, true},
		{".", "a", true, true},
	} {
		g, err := newGlob(c.glob, false)
		if err != nil {
			t.Fatal(err)
		}
		if covers, below := g.match(c.path); covers != c.covers || below != c.below {
			t.Errorf("%q over %q: %v %v, want %v %v", c.glob, c.path, covers, below, c.covers, c.below)
		}
	}
	for _, bad := range []string{"", "/", "..", "a/../b", "a//b", "a/./b", "[", "a/**b", `a\b`, "a\nb", "/etc/**", "/workspace2/a", strings.Repeat("a/", 64) + "a", strings.Repeat("a", maxGlob+1)} {
		if _, err := newGlob(bad, false); err == nil {
			t.Errorf("%.30q is a glob", bad)
		}
	}
}

// Many ** over a long path cost time in proportion to both.
func TestGlobIsLinear(t *testing.T) {
	g, err := newGlob(strings.Repeat("**/a/", 30)+"b", false)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if covers, _ := g.match(strings.TrimSuffix(strings.Repeat("a/", 2000), "/")); covers || time.Since(start) > 5*time.Second {
		t.Errorf("%v after %s", covers, time.Since(start))
	}
}

// slowMatch says what covers means, without care for time.
func slowMatch(glob, names []string) bool {
	switch {
	case len(glob) == 0:
		return true
	case glob[0] == "**":
		return slowMatch(glob[1:], names) || len(names) > 0 && slowMatch(glob, names[1:])
	case len(names) == 0:
		return false
	}
	ok, _ := path.Match(glob[0], names[0])
	return ok && slowMatch(glob[1:], names[1:])
}

func FuzzGlob(f *testing.F) {
	for _, g := range []string{"**/a/**/b", "*", "a/**", "[a-c]/?", "**"} {
		f.Add(g, "a/b/c")
	}
	f.Fuzz(func(t *testing.T, glob, file string) {
		g, err := newGlob(glob, false)
		if err != nil || len(g.segs) > 8 || strings.Count(file, "/") > 8 || file != "" && path.Clean(file) != file || strings.HasPrefix(file, "/") {
			return
		}
		covers, below := g.match(file)
		var names []string
		if file != "" {
			names = strings.Split(file, "/")
		}
		if want := slowMatch(g.segs, names); covers != want || covers && !below {
			t.Fatalf("%q over %q: %v %v, want %v", glob, file, covers, below, want)
		}
	})
}

func TestScope(t *testing.T) {
	s, err := NewScope(Permissions{Read: []string{"docs/**", "data/*.csv"}, Write: []string{"out"}, Deny: []string{"out/Locked/**", "**/.env"},
		Commands: []string{"go test *", "make"}})
	if err != nil {
		t.Fatal(err)
	}
	abs := func(p string) string { return strings.TrimSuffix("/workspace/"+p, "/") }
	for _, c := range []struct {
		effect event.Effect
		res    string
		rule   string // "" = allowed
	}{
		{event.Read, abs("docs/a"), ""},
		{event.Read, abs(""), ""}, // a listing may show what lies below
		{event.Read, abs("data"), ""},
		{event.Read, abs("data/a.csv"), ""},
		{event.Read, abs("data/a.txt"), "read docs/**, data/*.csv"},
		{event.Read, abs("docs/.env"), "deny **/.env"},
		{event.Read, abs("docs/.ENV"), "deny **/.env"},
		{event.Read, abs(".harness/spill/x"), ""},
		{event.External, abs("src/x"), "read docs/**, data/*.csv"},
		{event.Write, abs("out/a"), ""},
		{event.Write, abs("docs/a"), "write out"},
		{event.Write, abs(""), "write out"},
		{event.Write, abs("out/locked/a"), "deny out/Locked/**"},
		{event.Write, abs("out/locked"), "deny out/Locked/**"},
		{event.External, "/workspacex/y", ""}, // no path of ours
		{event.External, "db:orders", ""},
		{event.External, event.CommandResource("go  test ./..."), ""},
		{event.External, event.CommandResource("make"), ""},
		{event.External, event.CommandResource("make clean"), "commands go test *, make"},
		{event.External, event.CommandResource("go test ./... && rm -rf ."), "commands go test *, make"},
		{event.External, event.CommandResource("go test ./...\nrm x"), "commands go test *, make"},
		{event.External, event.CommandResource("go test $(rm x)"), "commands go test *, make"},
		{event.External, event.HostResource("https://u:p@Example.com:8080/x?y@z"), "network none"},
	} {
		why, rule := s.Judge(c.effect, []string{abs("docs/ok"), c.res}[boolInt(c.effect == event.Write):])
		if rule != c.rule || (why == "") != (rule == "") {
			t.Errorf("%s %s: %q (%s), want %q", c.effect, c.res, rule, why, c.rule)
		}
	}
	if why, _ := (*Scope)(nil).Judge(event.Write, []string{abs("x")}); why != "" || !(*Scope)(nil).Shows("x", false) {
		t.Error("no scope forbids something")
	}
	free, err := NewScope(Permissions{Network: true})
	if err != nil {
		t.Fatal(err)
	}
	if why, _ := free.Judge(event.External, []string{event.HostResource("a.b"), event.CommandResource("rm -rf /"), abs("x")}); why != "" {
		t.Error(why)
	}
	for p, want := range map[string]bool{"docs/x": true, "docs/.env": false, "src/x": false, "out/x": false, ".harness/x": true} {
		if s.Shows(p, false) != want {
			t.Errorf("%s: shown %v", p, !want)
		}
	}
	if !s.Shows("data", true) || s.Shows("src", true) || s.Shows("data", false) {
		t.Error("folders")
	}
	if event.HostResource("https://u:p@Example.com:8080/x?y@z") != "host:example.com:8080" {
		t.Error(event.HostResource("https://u:p@Example.com:8080/x?y@z"))
	}
	for _, p := range []Permissions{{Read: []string{"["}}, {Write: []string{""}}, {Deny: []string{"../x"}}, {Commands: []string{" "}}} {
		if _, err := NewScope(p); err == nil || !strings.HasPrefix(err.Error(), "permissions, ") {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestApprovals(t *testing.T) {
	a, err := NewApprovals([]ApprovalRule{
		{Tool: "pay", When: map[string]string{"amount": "^[0-9]{4,}$", "to": "^x"}, Decide: Deny},
		{Tool: "pay", When: map[string]string{"note": `^a"b$`}},
		{Tool: "drop"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool, args string
		rule       int // from 1; 0 = none
	}{
		{"pay", `{"amount":1000,"to":"x1"}`, 1},
		{"pay", `{"amount":"1000","to":"x1"}`, 1},
		{"pay", `{"amount":999,"to":"x1"}`, 0},
		{"pay", `{"amount":1000}`, 0},
		{"pay", `{"note":"a\"b"}`, 2},
		{"pay", `{bad`, 0},
		{"drop", ``, 3},
		{"other", `{}`, 0},
	} {
		got := 0
		if r := a.Match(c.tool, c.args); r != nil {
			for i := range a.rules {
				if r == &a.rules[i].ApprovalRule {
					got = i + 1
				}
			}
		}
		if got != c.rule {
			t.Errorf("%s %s: rule %d, want %d", c.tool, c.args, got, c.rule)
		}
	}
	if a.Scripted() != true || (*Approvals)(nil).Scripted() || (*Approvals)(nil).Match("pay", "{}") != nil {
		t.Error("scripted")
	}
	if none, err := NewApprovals(nil); none != nil || err != nil {
		t.Error(none, err)
	}
	for _, bad := range []ApprovalRule{{Tool: "t", Decide: "maybe"}, {Tool: "t", When: map[string]string{"a": "("}}} {
		if _, err := NewApprovals([]ApprovalRule{bad}); err == nil || !strings.Contains(err.Error(), "approvals, rule 1") {
			t.Error(err)
		}
	}
	ask := event.Approval{Operation: "call_1", Digest: model.SumString("x"), Actor: "main", Version: 3}
	got := (&ApprovalRule{Decide: Allow, Takes: time.Minute, Reason: "ok"}).Answer(ask)
	if Settle(&ask, &got, time.Minute, time.Minute) != Allow || Settle(&ask, &got, time.Minute+1, time.Minute) != Expire {
		t.Error("the bound of the wait")
	}
}
