package scenarios

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// withPolicies is a scenario with the given lines at the end of its YAML.
func withPolicies(lines string) []byte {
	return []byte("-- scenario.yaml --\nschema: harnessbench/scenario/v1\nid: x\nsummary: s\n" +
		"tools: [read_file, {name: pay, kind: mock, description: d, effect: external, paths: [file], commands: [run], hosts: [url], responses: [{text: t}]}]\n" +
		"graders: [{type: contains, want: a}]\n" + lines + "\n-- instruction.md --\nDo it.\n")
}

func TestPolicies(t *testing.T) {
	s, err := LoadTxtar("x.txtar", withPolicies(`
approvals:
- {tool: pay, when: {amount: '^[0-9]{4}', to: x}, decide: deny, takes: 30s, reason: too much}
- {tool: pay}
secrets: [correct-horse]
permissions: {read: [docs], write: ["out/**"], deny: ["**/.env"], commands: [make], network: any}
user: {script: [{when: 'which', say: The red one.}, {say: Hello?}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Approval{{Tool: "pay", When: map[string]string{"amount": "^[0-9]{4}", "to": "x"}, Decide: "deny", Takes: 30 * time.Second, Reason: "too much"}, {Tool: "pay"}}
	if !reflect.DeepEqual(s.Approvals, want) || !reflect.DeepEqual(s.Secrets, []string{"correct-horse"}) {
		t.Errorf("%+v %q", s.Approvals, s.Secrets)
	}
	if p := (Permissions{[]string{"docs"}, []string{"out/**"}, []string{"**/.env"}, []string{"make"}, "any"}); !reflect.DeepEqual(s.Permissions, p) {
		t.Errorf("%+v", s.Permissions)
	}
	if u := []Utterance{{"which", "The red one."}, {"", "Hello?"}}; !reflect.DeepEqual(s.User, u) {
		t.Errorf("%+v", s.User)
	}
	if m := s.Tools[1].Mock; !reflect.DeepEqual([][]string{m.Paths, m.Commands, m.Hosts}, [][]string{{"file"}, {"run"}, {"url"}}) {
		t.Errorf("%+v", m)
	}
}

func TestPoliciesRefused(t *testing.T) {
	for lines, want := range map[string]string{
		"approvals: [{tool: other}]":                                                       `6:13: the scenario has no tool "other"; name one of the tools`,
		"approvals: [{tool: pay, decide: maybe}]":                                          `6:13: "maybe" is no decision; use allow, deny or expire`,
		"approvals: [{tool: pay, takes: 3s}]":                                              "6:13: takes and reason belong to a decision; add decide",
		"approvals: [{tool: pay, when: {a: '('}}]":                                         "correct it (RE2 syntax)",
		"approvals: [{decide: deny}]":                                                      "tool",
		"approvals: [{tool: pay, decide: deny, reason: " + strings.Repeat("x", 501) + "}]": "the reason has 501 bytes, the limit is 500",
		"secrets: [long-enough, short]":                                                    "6:24: a declared secret has 5 bytes, it needs 8; take a longer one",
		"seals: [a, ../b]":                                                                 `6:12: seals: "../b" is no glob; write it like tests/**, relative to the workspace`,
		"seals: [a/../b]":                                                                  `6:9: seals: "a/../b" is no glob`,
		"seals: [tests/]":                                                                  `6:9: seals: "tests/" is no glob`,
		"stresses: [stuck, a b]":                                                           `6:19: stresses: "a b" is no name`,
		"controls: [stuck, stuck]":                                                         `6:19: controls: "stuck" is there twice`,
		"user: {script: [{say: hi}, {when: x, say: ' '}]}":                                 "6:43: the user says nothing; write what the user says",
		"cache: cold":                                                                      `6:8: cache: "cold" is not known; use warm or other`,
		"permissions: {network: some}":                                                     `network "some" is not known; use none or any`,
		"user: {script: [{when: '(', say: x}]}":                                            "correct it (RE2 syntax)",
	} {
		if _, err := LoadTxtar("x.txtar", withPolicies(lines)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", lines, err)
		}
	}
}
