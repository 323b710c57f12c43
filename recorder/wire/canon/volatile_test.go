package canon

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
)

func TestPathsAsOneName(t *testing.T) {
	list := normalisers(t, Env{Home: "/home/jo", Cwd: "/work/my.app_é😀", Tmp: "/tmp"}, "home", "cwd", "tmp")
	for in, want := range map[string]string{
		"/home/jo/.agent/projects/-work-my-app----/memory/": "<home>/.agent/projects/<cwd>/memory/",
		"/x/-work-my-app----":                               "/x/<cwd>",
		"in /x/-home-jo.":                                   "in /x/<home>.",
		`\/x\/-home-jo\/y C:\x\-home-jo`:                    `\/x\/<home>\/y C:\x\<home>`,
		"%2Fx%2F-home-jo%2Fy":                               "%2Fx%2F<home>%2Fy",
		"rm -home-jo /x-home-jo /x/-home-joe":               "rm -home-jo /x-home-jo /x/-home-joe",
		"/x/-home-jo-lib /x/--home-jo /x/-home-jo.bak":      "/x/-home-jo-lib /x/--home-jo /x/-home-jo.bak",
		"/x/-tmp": "/x/-tmp",
	} {
		if got, _ := apply(list, in); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
	mac := normalisers(t, Env{Cwd: "/private/tmp/w"}, "cwd")
	if got, n := apply(mac, "/x/-private-tmp-w/-tmp-w"); got != "/x/<cwd>/<cwd>" || n != 2 {
		t.Errorf("%d strikes: %s", n, got)
	}
	windows := normalisers(t, Env{Cwd: `C:\work\my app`}, "cwd")
	if got, _ := apply(windows, `C:\x\C--work-my-app\y`); got != `C:\x\<cwd>\y` {
		t.Error(got)
	}
}

func TestHost(t *testing.T) {
	env := Env{Hostname: "box-7.example.test", Release: "6.1.0-18-amd64", Version: "#1 SMP Debian 6.1.76-1 (2024-02-01)", Machine: "x86_64"}
	list := normalisers(t, env, "host", "date")
	for in, want := range map[string]string{
		"Linux box-7 6.1.0-18-amd64 #1 SMP Debian 6.1.76-1 (2024-02-01) x86_64 GNU/Linux": "Linux <host> <host> <host> <host> GNU/Linux",
		"Linux-6.1.0-18-amd64-x86_64-with-glibc2.36":                                      "Linux-<host>-<host>-with-glibc2.36",
		"root@box-7.example.test:~# box-7.":                                               "root@<host>:~# <host>.",
		"x86_64\\nx86_64_v2 ax86_64":                                                      "<host>\\nx86_64_v2 ax86_64",
		"2.6.1.0-18-amd64 6.1.0-18-amd64.1 6.1.0":                                         "2.6.1.0-18-amd64 6.1.0-18-amd64.1 6.1.0",
		"box-7.test éx86_64 x86_64é (x86_64)":                                             "box-7.test éx86_64 x86_64é (<host>)",
		"#1 SMP on 2024-02-01":                                                            "#1 SMP on <date>",
	} {
		if got, _ := apply(list, in); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
	// What is unknown, short, or a plain word is not looked for.
	for _, e := range []Env{{}, {Hostname: "ubuntu", Release: "10", Version: "#1", Machine: "arm"}} {
		const in = "ubuntu 10 #1 arm localhost"
		if got, n := apply(normalisers(t, e, "host"), in); n != 0 {
			t.Errorf("%v: %s", e, got)
		}
	}
}

func TestDrop(t *testing.T) {
	const body = `{"model":"m","client":{"id":"1","x":{"id":"2"},"list":[{"id":"3","k":1},{"id":"4"}],"*":{"a/~b":5}},"include":["a"],
		"tools":[{"type":"function","name":"f","note":"6","parameters":{"note":"7"}}],
		"input":[{"role":"user","content":"hi","note":{"at":8}},{"role":"user","content":[{"type":"input_text","text":"x","note":9}],"note":{"at":10}}]}`
	base := parse(t, dialect.Responses, body, Options{})
	for decl, want := range map[string]struct {
		gone string // what the body is without the member
		n    int
	}{
		"drop=/client/id":               {`"id":"1",`, 1},
		"drop=/client/x/id":             {`"id":"2"`, 1},
		"drop=/client/list/*/id":        {`"id":"3",|"id":"4"`, 2},
		"drop=/client/list/0/id":        {`"id":"3",`, 1},
		"drop=/client/*/a~1~0b":         {`"a/~b":5`, 1},
		"drop=/tools/*/note":            {`"note":"6",`, 1},
		"drop=/tools/0/parameters/note": {`"note":"7"`, 1},
		"drop=/input/*/note":            {`,"note":{"at":8}|,"note":{"at":10}`, 2},
		"drop=/input/1/note":            {`,"note":{"at":10}`, 1},
		"drop=/input/*/content/*/note":  {`,"note":9`, 1},
		"drop=/include/0":               {"", 0},
		"drop=/nothing":                 {"", 0},
		"drop=/*/id":                    {"", 0},
		"drop=/messages/*/note":         {"", 0},
	} {
		without := body
		for piece := range strings.SplitSeq(want.gone, "|") {
			without = strings.Replace(without, piece, "", 1)
		}
		got := parse(t, dialect.Responses, body, Options{Normalisers: normalisers(t, Env{}, decl)})
		plain := parse(t, dialect.Responses, without, Options{})
		if diff := cmp.Diff(render(plain), render(got)); diff != "" || got.Applied[decl] != want.n {
			t.Errorf("%s struck %d times (-without +got):\n%s", decl, got.Applied[decl], diff)
		}
		if got.Raw != base.Raw || want.n > 0 && plain.Raw == base.Raw {
			t.Errorf("%s: Raw is not that of the whole body", decl)
		}
		consistent(t, got)
	}
}

// Items behind previous_response_id lose what those of the request lose.
func TestDropReachesInheritedItems(t *testing.T) {
	o := Options{Normalisers: normalisers(t, Env{}, "drop=/input/*/note")}
	first := parse(t, dialect.Responses, `{"input":[{"role":"user","content":"hi","note":1}]}`, o)
	var l Lineage
	l.Add(first, "application/json", []byte(`{"id":"resp_1","output":[{"type":"message","role":"assistant","content":[],"note":2}]}`))
	o.Parent = l.Parent
	child := parse(t, dialect.Responses, `{"previous_response_id":"resp_1","input":[{"role":"user","content":"go","note":3}]}`, o)
	whole := parse(t, dialect.Responses, `{"input":[{"role":"user","content":"hi"},{"type":"message","role":"assistant","content":[]},{"role":"user","content":"go"}]}`, Options{})
	if child.Chain() != whole.Chain() || child.Applied["drop=/input/*/note"] != 3 {
		t.Errorf("%v:\n%s", child.Applied, cmp.Diff(render(whole), render(child)))
	}
}

func TestPresets(t *testing.T) {
	env := Env{Home: "/home/jo", Cwd: "/work/a"}
	if diff := cmp.Diff([]string{"claude-code", "codex", "default"}, Presets()); diff != "" {
		t.Error(diff)
	}
	all := normalisers(t, env, Presets()...) // all at once, and each again beside
	var decls []string
	for _, n := range all {
		if decls = append(decls, n.String()); presets[n.String()] != nil {
			t.Errorf("%s is not expanded", n)
		}
	}
	again := normalisers(t, env, append(append([]string{"home"}, decls...), Presets()...)...)
	if len(again) != len(all) {
		t.Errorf("%d normalisers, declared again %d", len(all), len(again))
	}
}

func TestNeedles(t *testing.T) {
	for pattern, want := range map[string]string{
		`abc`: "abc", `x?abc[0-9]+`: "abc", `(ab|c)d`: "ab c", `(?:abc|de)f*`: "abc de", `(ab)+|c`: "ab c",
		`(?i)abc`: "", `a*`: "", `[ab]c{0,2}`: "", `(ab){2}`: "ab", `abc|[0-9]`: "", `(?m:^)Chunk ID: ([0-9a-f]{6})$`: "Chunk ID: ", `(`: "",
	} {
		if got := strings.Join(needles(pattern), " "); got != want {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
}

// A text that a pattern matches holds a needle of it.
func FuzzNeedles(f *testing.F) {
	for _, list := range presets {
		for _, decl := range list {
			_, pattern, _ := strings.Cut(decl, "=")
			f.Add(pattern, "Chunk ID: 86d7bf")
		}
	}
	f.Add(`(?i)ab|(c{1,2}d)+`, "xABccd")
	f.Fuzz(func(t *testing.T, pattern, s string) {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return
		}
		s = strings.ToValidUTF8(s, "\uFFFD")
		if must := needles(pattern); must != nil && re.MatchString(s) && !containsAny(s, must) {
			t.Errorf("%q matches %q, which has none of %q", pattern, s, must)
		}
	})
}

// agents are two runs of each agent: requests as these send them, made by hand.
var agents = []struct {
	preset string
	api    dialect.API
	env    [2]Env
	body   [2]string
}{
	{"claude-code", dialect.Messages,
		[2]Env{{Home: "/home/jo", Cwd: "/work/a.b", Release: "6.1.0-18-amd64"}, {Home: "/Users/jo", Cwd: "/Users/jo/c", Release: "24.6.0", Tmp: "/private/tmp"}},
		[2]string{`{"model":"m","max_tokens":9,"stream":true,"metadata":{"user_id":"{\"session_id\":\"1\"}"},"thinking":{"type":"adaptive"},
			"tools":[{"name":"Bash","description":"Runs.","input_schema":{"type":"object"}},{"name":"Late","description":"Later.","input_schema":{"type":"object"},"defer_loading":true}],
			"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1.3.93d; cc_entrypoint=cli;"},{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],
			"messages":[{"role":"user","content":[{"type":"text","text":"Task."}]},
			{"role":"system","content":[{"type":"text","text":"cwd: /work/a.b\nOS Version: Linux 6.1.0-18-amd64\nMemory: /home/jo/.claude/projects/-work-a-b/memory/\nToday's date is 2026-11-30.","cache_control":{"type":"ephemeral"}}]},
			{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}},{"type":"tool_use","id":"toolu_2","name":"Bash","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_2","content":"two"},{"type":"tool_result","tool_use_id":"toolu_1","content":"agentId: a74cc31b0050be8c1 (internal), see /tmp/claude-0/-work-a-b/5b02ca8e-779d-44ba-8493-7a865678437e/tasks/a74cc31b0050be8c1.output <duration_ms>255</duration_ms> <usage>tool_uses: 1\nduration_ms: 4139</usage>"}]}]}`,
			`{"model":"m","max_tokens":9,"thinking":{"type":"adaptive"},
			"tools":[{"name":"Bash","description":"Runs.","input_schema":{"type":"object"}},{"name":"Late","description":"Later.","input_schema":{"type":"object"},"defer_loading":true}],
			"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1.3.0a1; cc_entrypoint=cli;"},{"type":"text","text":"Be brief."}],
			"messages":[{"role":"user","content":[{"type":"text","text":"Task."}]},
			{"role":"system","content":"cwd: /Users/jo/c\nOS Version: Linux 24.6.0\nMemory: /Users/jo/.claude/projects/-Users-jo-c/memory/\nToday's date is 2027-01-02."},
			{"role":"assistant","content":[{"type":"tool_use","id":"toolu_9","name":"Bash","input":{}},{"type":"tool_use","id":"toolu_8","name":"Bash","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_9","content":"agentId: a0123456789abcdef (internal), see /tmp/claude-501/-Users-jo-c/00000000-779d-44ba-8493-7a865678437e/tasks/a0123456789abcdef.output <duration_ms>9</duration_ms> <usage>tool_uses: 1\nduration_ms: 82</usage>"},
				{"type":"tool_result","tool_use_id":"toolu_8","content":"two","cache_control":{"type":"ephemeral"}}]}]}`}},
	{"codex", dialect.Responses,
		[2]Env{{Home: "/home/jo", Cwd: "/work/a"}, {Home: "/home/al", Cwd: "/srv/b"}},
		[2]string{`{"model":"m","stream":true,"store":false,"prompt_cache_key":"1","client_metadata":{"turn_id":"1","x-codex-turn-metadata":"{\"turn_started_at_unix_ms\":1}"},"instructions":"Be brief.",
			"tools":[{"type":"namespace","name":"agents","description":"d","tools":[{"type":"function","name":"spawn","parameters":{}}]},{"type":"web_search","external_web_access":false}],
			"input":[{"type":"additional_tools","id":"at_01a2","role":"developer","tools":[{"type":"namespace","name":"n","tools":[]}]},
			{"type":"message","id":"msg_01a3","role":"developer","content":[{"type":"input_text","text":"Skills: /home/jo/.codex/skills"}]},
			{"type":"message","id":"msg_01a4","role":"user","content":[{"type":"input_text","text":"<cwd>/work/a</cwd>\n<current_date>2026-11-30</current_date>\n<timezone>Etc/UTC</timezone>"}],
				"internal_chat_message_metadata_passthrough":{"turn_id":"1","create_time":1796070813.19}},
			{"type":"function_call","id":"fc_1","call_id":"call_1","name":"spawn","namespace":"agents","arguments":"{}","status":"completed"},
			{"type":"function_call_output","id":"fco_01a5","call_id":"call_1","output":"{\"agent_id\":\"01a22e34-9132-7ea2-8f52-c72056fe98a6\",\"nickname\":\"Ada\"}"},
			{"type":"function_call_output","id":"fco_01a6","call_id":"call_2","output":"Chunk ID: 86d7bf\nWall time: 0.2115 seconds\nOutput:\nx"},
			{"type":"custom_tool_call_output","id":"fco_01a6x","call_id":"call_3","output":[{"type":"input_text","text":"Script completed\nWall time 0.1 seconds\nOutput:\n"},
				{"type":"input_text","text":"{\"chunk_id\":\"c406de\",\"wall_time_seconds\":0.000007705,\"exit_code\":0}"}]},
			{"type":"configuration_update","reasoning":{"effort":"low"}}]}`,
			`{"model":"m","stream":true,"store":false,"prompt_cache_key":"2","instructions":"Be brief.",
			"tools":[{"type":"namespace","name":"agents","description":"d","tools":[{"type":"function","name":"spawn","parameters":{}}]},{"type":"web_search","external_web_access":false}],
			"input":[{"type":"additional_tools","id":"at_77","role":"developer","tools":[{"type":"namespace","name":"n","tools":[]}]},
			{"type":"message","id":"msg_78","role":"developer","content":[{"type":"input_text","text":"Skills: /home/al/.codex/skills"}]},
			{"type":"message","id":"msg_79","role":"user","content":[{"type":"input_text","text":"<cwd>/srv/b</cwd>\n<current_date>2027-01-02</current_date>\n<timezone>Europe/Berlin</timezone>"}],
				"internal_chat_message_metadata_passthrough":{"turn_id":"2","create_time":1896070813.5}},
			{"type":"function_call","id":"fc_1","call_id":"call_1","name":"spawn","namespace":"agents","arguments":"{}","status":"completed"},
			{"type":"function_call_output","id":"fco_80","call_id":"call_1","output":"{\"agent_id\":\"01b22e34-9132-7ea2-8f52-c72056fe98a6\",\"nickname\":\"Bo\"}"},
			{"type":"function_call_output","id":"fco_81","call_id":"call_2","output":"Chunk ID: 0000bf\nWall time: 12.0 seconds\nOutput:\nx"},
			{"type":"custom_tool_call_output","id":"fco_81x","call_id":"call_3","output":[{"type":"input_text","text":"Script completed\nWall time 20.5 seconds\nOutput:\n"},
				{"type":"input_text","text":"{\"chunk_id\":\"416b3c\",\"wall_time_seconds\":3,\"exit_code\":0}"}]},
			{"type":"configuration_update","reasoning":{"effort":"low"}}]}`}},
}

func TestTwoRunsOfAnAgent(t *testing.T) {
	for _, a := range agents {
		x := parse(t, a.api, a.body[0], Options{Normalisers: normalisers(t, a.env[0], a.preset)})
		y := parse(t, a.api, a.body[1], Options{Normalisers: normalisers(t, a.env[1], a.preset)})
		if x.Chain() != y.Chain() || x.ParamsDigest != y.ParamsDigest || x.Raw == y.Raw {
			t.Errorf("%s: two runs are not equal by normalisers (-one +other):\n%s", a.preset, cmp.Diff(render(x), render(y)))
		}
		for _, n := range normalisers(t, a.env[0], a.preset) {
			if name := n.name; x.Applied[name] == 0 && name != "host" && name != "tmp" {
				t.Errorf("%s: %s has nothing to do here", a.preset, n)
			}
		}
	}
}

// What a user edits is seen with every preset at once: each text below stands in
// the system prompt, the task, and a tool's result.
func TestPresetsHideNoEdit(t *testing.T) {
	list := normalisers(t, Env{Home: "/home/jo", Cwd: "/work/a", Hostname: "box-7", Release: "6.1.0-18-amd64", Machine: "x86_64"}, Presets()...)
	body := func(at int, s string) string {
		slots := []string{"", "", ""}
		slots[at] = s
		return `{"system":"` + slots[0] + `","messages":[{"role":"user","content":"` + slots[1] + `"},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"` + slots[2] + `"}]}]}`
	}
	for _, edit := range [][2]string{
		{"due 2026-11-30", "due 2026-12-01"},
		{"id 123e4567-e89b-12d3-a456-426614174000", "id 123e4567-e89b-12d3-a456-426614174001"},
		{`{\"nickname\":\"Ada\"}`, `{\"nickname\":\"Bo\"}`},
		{"took 12 ms", "took 13 ms"},
		{"version=2.1.3.93d", "version=2.1.3.93e"},
		{"cc_version=2.1.3.93d; x", "cc_version=2.1.4.93d; x"},
		{"commit a74cc31b0050be8c1a74cc31b0050be8c1a74cc3", "commit a74cc31b0050be8c1a74cc31b0050be8c1a74cc4"},
		{"see Wall time: 0.2 seconds", "see Wall time: 0.3 seconds"},
		{`{\"chunk_id\":\"c406de\"}`, `{\"chunk_id\":\"c406df\"}`},
		{`{\"wall_time_seconds\":1,\"x\":1}`, `{\"wall_time_seconds\":2,\"x\":1}`},
		{"/home/jo", "/home/al"},
		{"/work/a", "/work/b"},
		{"-work-a", "-work-b"},
		{"x86_64", "aarch64"},
		{"6.1.0-18-amd64", "6.1.0-19-amd64"},
		{"a", "b"},
	} {
		for at := range 3 {
			x := parse(t, dialect.Messages, body(at, edit[0]), Options{Normalisers: list})
			y := parse(t, dialect.Messages, body(at, edit[1]), Options{Normalisers: list})
			if x.Chain() == y.Chain() {
				t.Errorf("place %d: %s and %s look alike", at, edit[0], edit[1])
			}
		}
	}
}
