package sim_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/loop/model/sim"
)

func TestScriptErrors(t *testing.T) {
	rule := func(s string) string { return "facts: {a: {match: a}}\nrules:\n- " + s + "\n" }
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", `o.yaml:1:1: the script is empty; write at least the rules`},
		{"no rules", "facts: {}", `o.yaml:1:1: the key "rules" is missing`},
		{"empty rules", "rules: []", `o.yaml:1:1: a script has 1 to 64 rules, not 0`},
		{"unknown key", rule("{id: x, when: a, do: {say: y}}"), `o.yaml:3:11: unknown key "when"`},
		{"no do", rule("{id: x}"), `o.yaml:3:3: the key "do" is missing`},
		{"empty do", rule("{id: x, do: {}}"), `o.yaml:3:15: an action that does nothing; add say, tool or calls`},
		{"args alone", rule("{id: x, do: {args: {}}}"), `args without a tool`},
		{"tool and calls", rule("{id: x, do: {tool: a, calls: [{tool: b}]}}"), `an action has tool or calls, not both`},
		{"args list", rule("{id: x, do: {tool: a, args: [1]}}"), `o.yaml:3:31: args must be a mapping`},
		{"args number", rule("{id: x, do: {tool: a, args: {n: 0x10}}}"), `o.yaml:3:35: 0x10 is no JSON number`},
		{"unknown fact", rule("{id: x, need: [b], do: {say: y}}"), `rule "x" names the unknown fact "b"`},
		{"unknown value", rule(`{id: x, do: {say: "${b}"}}`), `${b} names no fact; define it under facts`},
		{"best", rule("{id: x, do: {say: y}}") + "best: \"it is ${b}\"", `o.yaml:4:7: ${b} names no fact; define it under facts`},
		{"unclosed value", rule(`{id: x, do: {say: "${a"}}`), `${a} names no fact`},
		{"twice", rule("{id: x, do: {say: y}}\n- {id: x, do: {say: y}}"), `o.yaml:4:3: rule "x" is there already`},
		{"trap", rule("{id: x, trap: greed, do: {say: y}}"), `trap "greed" is not known; use repeat`},
		{"wrong without habit", rule("{id: x, trap: wrong, do: {say: y}}"), `a trap of kind wrong needs a habit`},
		{"unknown tool without call", rule("{id: x, trap: unknown_tool, do: {say: y}}"), `a trap of kind unknown_tool needs a call`},
		{"habit without trap", rule("{id: x, do: {say: y}, habit: {say: z}}"), `heed and habit belong to a trap`},
		{"heed in", rule("{id: x, trap: repeat, heed: {in: system, match: a}, do: {say: y}}"), `heed cannot look in "system"`},
		{"heed pattern", rule("{id: x, trap: repeat, heed: '(', do: {say: y}}"), `o.yaml:3:31: error parsing regexp`},
		{"chance", rule("{id: x, chance: luck, do: {say: y}}"), `chance "luck" is no rate`},
		{"broken without trap", rule("{id: x, broken: fence, do: {tool: a}}"), `broken: "fence" says nothing here; use close, comma`},
		{"broken how", rule("{id: x, trap: malformed, broken: badly, do: {tool: a}}"), `broken: "badly" says nothing here`},
		{"fault without trap", rule("{id: x, trap: repeat, fault: auth, do: {tool: a}}"), `fault: "auth" says nothing here`},
		{"fault that is none", rule("{id: x, trap: down, fault: slow, do: {tool: a}}"), `fault: "slow" says nothing here`},
		{"down with habit", rule("{id: x, trap: down, do: {tool: a}, habit: {say: z}}"), `a trap of kind down has no habit`},
		{"max", rule("{id: x, max: -1, do: {say: y}}"), `max and think must be 0 or more`},
		{"fact pattern", "facts: {a: {match: '['}}\nrules: [{id: x, do: {say: y}}]", `o.yaml:1:20: error parsing regexp`},
		{"fact long", "facts: {a: {match: '" + strings.Repeat("a", 600) + "'}}\nrules: [{id: x, do: {say: y}}]", `the pattern has 600 bytes, the limit is 512`},
		{"fact name", "facts: {A-1: {match: a}}\nrules: [{id: x, do: {say: y}}]", `"A-1" is no name of a fact`},
		{"fact in", "facts: {a: {in: assistant, match: a}}\nrules: [{id: x, do: {say: y}}]", `a fact cannot be looked for in "assistant"`},
		{"fact from", "facts: {a: {from: grep, match: a}}\nrules: [{id: x, do: {say: y}}]", `from: grep needs tool results; add in: tool`},
		{"fact empty", "facts: {a: }\nrules: [{id: x, do: {say: y}}]", `fact "a" is empty`},
		{"no mapping", "- a", `o.yaml:1:1: this must be a mapping, not a list`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := sim.ParseScript("o.yaml", []byte(c.in))
			if err == nil {
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %s\nwant %s", err, c.want)
			}
			if !regexp.MustCompile(`^o\.yaml:\d+:\d+: .+; .+$`).MatchString(err.Error()) {
				t.Errorf("not file:line:column: what; what to do: %q", err)
			}
		})
	}
}

// FuzzParseScript: a text gives a script that a model can follow, or one error.
func FuzzParseScript(f *testing.F) {
	seeds, _ := filepath.Glob("../../../scenarios/builtin/*.txtar")
	for _, p := range seeds {
		if b, err := os.ReadFile(p); err == nil {
			if _, rest, ok := strings.Cut(string(b), "-- oracle.yaml --\n"); ok {
				oracle, _, _ := strings.Cut(rest, "\n-- ")
				f.Add(oracle)
			}
		}
	}
	f.Add("rules: [{id: x, do: {say: y}}]")
	f.Fuzz(func(t *testing.T, in string) {
		s, err := sim.ParseScript("o", []byte(in))
		if err != nil {
			if s != nil || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%v %q", s, err)
			}
			return
		}
		p, _ := sim.Lookup("sim/weak")
		m := sim.New(p, sim.Options{Script: s})
		ch := newChat(t)
		for range 4 {
			if ch.next(m, "wrote 3 bytes to x") == "" {
				ch.say("Attention: your last answer was empty.")
			}
		}
	})
}
