package check_test

import (
	"context"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/ablations/check"
	"github.com/harnessbench/harnessbench/scenarios"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

const sound = `-- scenario.yaml --
schema: harnessbench/scenario/v1
id: sound
summary: find one value
stresses: [acceptance]
controls: [spill]
hurts: [{guard: limits, set: {turns: 1}}, {guard: tool_deadline, set: {per_call: 1ms}, by: fail}]
tools:
- read_file
- write_file
- {name: lookup, kind: mock, description: looks up, takes: 2s, responses: [{text: "port=8472"}]}
acceptance: [{file_exists: answer.txt}]
graders: [{type: file_equals, path: answer.txt, want: "8472"}]
-- instruction.md --
Find the port with lookup and write it to /workspace/answer.txt.
-- oracle.yaml --
facts:
  port: {in: tool, match: 'port=(\d+)'}
  written: {in: tool, from: write_file, match: 'wrote \d+ bytes'}
rules:
- {id: answer, need: [written], do: {say: "It is in answer.txt."}}
- {id: write, need: [port], trap: end_early, do: {tool: write_file, args: {path: /workspace/answer.txt, content: "${port}\n"}}}
- {id: look, max: 1, do: {tool: lookup, args: {}}}
guess:
- {tool: write_file, args: {path: /workspace/answer.txt, content: "80\n"}}
- {say: "It is 80."}
-- workspace/README.txt --
Ports.
`

func TestScenario(t *testing.T) {
	for _, c := range []struct {
		name     string
		from, to string
		wrong    string // check subject: detail of the one finding that is not OK
	}{
		{name: "sound"},
		{"oracle", `content: "${port}\n"`, `content: "${port}0\n"`, "oracle sim/oracle: fail, wanted pass (ended completed: "},
		{"spam", `content: "80\n"`, `content: "8472\n"`, "spam sim/spam: pass, wanted fail"},
		{"stresses", "trap: end_early, ", "", "stresses acceptance: does not fire for sim/trap-acceptance"},
		{"controls", "controls: [spill]", "controls: [empty_response, retry, acceptance]\ntags: [a]", "controls acceptance: fires for sim/weak, sim/trap-acceptance"},
		{"hurts not", "turns: 1}", "turns: 20}", "hurts limits: pass instead of pass (ended completed)"},
		{"hurts tokens", "turns: 1}}", "turns: 20}, by: tokens}", "tokens instead of"},
		{"hurts time", "per_call: 1ms}, by: fail", "per_call: 60s}, by: time", "hurts tool_deadline: 3.721s instead of 3.721s"},
		{"no oracle", "-- oracle.yaml --", "-- workspace/oracle.txt --", "oracle sim/oracle: there is no oracle.yaml"},
		{"harms nobody", "controls: [spill]", "tags: [harms]", "harms acceptance: pass under the profile default, wanted fail"},
	} {
		text := strings.Replace(sound, c.from, c.to, 1)
		if c.from != "" && text == sound {
			t.Fatalf("%s: nothing was changed", c.name)
		}
		if c.name == "controls" {
			text = strings.Replace(text, "stresses: [acceptance]\n", "", 1)
		}
		r := checked(t, text)
		var wrong []string
		for _, f := range r.Findings {
			if !f.OK {
				wrong = append(wrong, f.Check+" "+f.Subject+": "+f.Detail)
			}
		}
		switch {
		case c.wrong == "" && len(wrong) > 0:
			t.Errorf("%s: %q", c.name, wrong)
		case c.wrong != "" && !strings.Contains(strings.Join(wrong, "\n"), c.wrong):
			t.Errorf("%s: %q, want %q", c.name, wrong, c.wrong)
		case c.wrong == "" && (r.Trials < 10 || len(r.Findings) < 10):
			t.Errorf("%s: %d trials, %d findings", c.name, r.Trials, len(r.Findings))
		}
	}
}

// What a scenario names and is not there is an error with its place, before
// anything is run.
func TestWrong(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"stresses: [acceptance]", "stresses: [seals, acceptanc]", `t/scenario.yaml:4:19: there is no guard "acceptanc"; see: harnessbench guards`},
		{"controls: [spill]", "controls: [spil]", `t/scenario.yaml:5:12: there is no guard "spil"; see: harnessbench guards`},
		{"guard: limits", "guard: limit", `t/scenario.yaml:6:17: there is no guard "limit"; see: harnessbench guards`},
		{"turns: 1}", "turn: 1}", `t/scenario.yaml:6:9: hurts: guard limits has no parameter "turn"; it has mode turns calls tokens cost; see: harnessbench guards limits`},
		{"turns: 1}", "turns: -1}", `t/scenario.yaml:6:9: hurts: guard limits, parameter turns: -1 is outside 1..1048576; see: harnessbench guards limits`},
		{"guard: limits", "mode: loud, guard: limits", `t/scenario.yaml:6:9: hurts: guard limits: no mode "loud"; there are enforce, shadow, off; see: harnessbench guards limits`},
		{"guard: limits, set: {turns: 1}", "guard: scope, mode: off", `t/scenario.yaml:6:9: hurts: guard scope stays in force in every arm; it cannot be off; see: harnessbench guards scope`},
		{"turns: 1}", "turns: 1}, model: sim/perfect", `t/scenario.yaml:6:9: hurts: no simulated model "sim/perfect"; see: harnessbench models`},
		{"turns: 1}", "turns: 1}, fallback: [sim/weak]", `t/scenario.yaml:6:52: hurts: fallback is for the guard fallback, not limits; remove it`},
		{"guard: limits, set: {turns: 1}", "guard: fallback, mode: enforce, fallback: [sim/weak, openai/x]",
			`t/scenario.yaml:6:63: hurts: no simulated model "openai/x"; see: harnessbench models`},
		{"- read_file", "- reed_file", `t/scenario.yaml:8:3: no built-in tool "reed_file"; there are read_file, write_file, edit_file, list_dir, grep`},
		{"name: lookup", "name: grep", `t/scenario.yaml:10:3: the mock tool grep has the name of a built-in one; rename it`},
		{"controls: [spill]", "permissions: {deny: [a, ../b]}", `t/scenario.yaml:5:25: permissions, deny: "../b" is no glob over workspace paths: ".." is no name in it`},
		{"controls: [spill]", `permissions: {commands: [" "]}`, `t/scenario.yaml:5:26: permissions, commands: " " is no command; write it like make test or git log *, in at most 1024 bytes`},
		{"need: [written]", "need: [writen]", `t/oracle.yaml:5:3: rule "answer" names the unknown fact "writen"; define it under facts`},
	} {
		text := strings.Replace(sound, c.from, c.to, 1)
		sc, err := scenarios.LoadTxtar("t", []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", c.to, err)
		}
		good, err := scenarios.LoadTxtar("t", []byte(sound))
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err = check.All(context.Background(), []*scenarios.Scenario{good, sc}, check.Options{Temp: t.TempDir()}); err == nil || err.Error() != c.want {
				t.Errorf("%s:\n%v, want\n%s", c.to, err, c.want)
			}
		}
	}
}

// An agent that does nothing must not pass.
func TestNoop(t *testing.T) {
	text := strings.Replace(sound, `{type: file_equals, path: answer.txt, want: "8472"}`, `{type: contains, want: o}`, 1)
	for _, f := range checked(t, text).Findings {
		if f.Check == "noop" && f.OK {
			t.Errorf("noop: %s", f.Detail)
		}
	}
}

func checked(t *testing.T, text string) *check.Report {
	t.Helper()
	sc, err := scenarios.LoadTxtar("t", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r, err := check.Scenario(context.Background(), sc, check.Options{Temp: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Every embedded scenario holds what it says.
func TestBuiltin(t *testing.T) {
	all, err := builtin.All()
	if err != nil {
		t.Fatal(err)
	}
	reports, err := check.All(context.Background(), all, check.Options{Temp: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reports {
		for _, f := range r.Findings {
			if !f.OK {
				t.Errorf("%s: %s %s: %s", r.Scenario.ID, f.Check, f.Subject, f.Detail)
			}
		}
	}
}

// What was cancelled is an error, not a finding.
func TestCancelled(t *testing.T) {
	all, err := builtin.All()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r, err := check.All(ctx, all, check.Options{Temp: t.TempDir()}); err == nil {
		t.Errorf("%d reports", len(r))
	}
}
