package canon

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
)

func normalisers(t testing.TB, env Env, names ...string) []Normaliser {
	t.Helper()
	list, err := Normalisers(names, env)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// apply gives a text as it stands after normalisers, and how often one struck.
func apply(list []Normaliser, s string) (string, int) {
	st := newStriker(list)
	out, n := st.text(s), 0
	for _, k := range st.applied {
		n += k
	}
	return out, n
}

func TestPaths(t *testing.T) {
	list := normalisers(t, Env{Home: "/home/u/", Cwd: "/data", Tmp: "/home/u/tmp"}, "home", "cwd", "tmp")
	for in, want := range map[string]string{
		"/home/u":                           "<home>",
		"/home/u/":                          "<home>/",
		"cd /home/u && ls":                  "cd <home> && ls",
		"/home/u2 /home/u-b /home/u.bak":    "/home/u2 /home/u-b /home/u.bak",
		"/home/u. /home/u, (/home/u)":       "<home>. <home>, (<home>)",
		"/home/user/home/u":                 "/home/user/home/u",
		"/mnt/home/u/x":                     "/mnt/home/u/x",
		"./data ../data ~/data $X/data":     "./data ../data ~/data $X/data",
		"${X}/data $(pwd)/data */data":      "${X}/data $(pwd)/data */data",
		"big/data /database /data":          "big/data /database <cwd>",
		"/data/x:/data/y=/data":             "<cwd>/x:<cwd>/y=<cwd>",
		"C:/data D:/data x:/data":           "C:/data D:/data x:<cwd>",
		"-I/data/include a-/data -/data":    "-I<cwd>/include a-/data -<cwd>",
		"+/data\n-/data":                    "+<cwd>\n-<cwd>",
		"<path>/data/f</path>":              "<path><cwd>/f</path>",
		"file:///home/u/x file:///data":     "file://<home>/x file://<cwd>",
		"http://host/data":                  "http://host/data",
		"{\"p\":\"\\/home\\/u\\/x\"}":       "{\"p\":\"<home>\\/x\"}",
		"x\\/data":                          "x\\/data",
		"ls\\n/home/u\\t/data \\u000a/data": "ls\\n<home>\\t<cwd> \\u000a<cwd>",
		"p=%2Fhome%2Fu%2Fx&q=%2fhome%2fu":   "p=<home>%2Fx&q=<home>",
		"dir%2Fhome%2Fu %2Fhome%2Fu%20x":    "dir%2Fhome%2Fu %2Fhome%2Fu%20x",
		"%22/home/u%22 %22%2Fhome%2Fu%22":   "%22<home>%22 %22<home>%22",
		"é/data 目/data →/data":              "é/data 目/data →<cwd>",
		"/home/ué /home/u。":                 "/home/ué <home>。",
		"/home/u/tmp/x /home/u/tmpx":        "<tmp>/x <home>/tmpx",
		"data:/home/u":                      "data:/home/u",
	} {
		if got, _ := apply(list, in); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
	if got, n := apply(list, "/home/u /data /home/u/tmp/tmpab12cd3e/x"); n != 3 {
		t.Errorf("%d strikes: %s", n, got)
	}
}

func TestTemporaryNames(t *testing.T) {
	list := normalisers(t, Env{}, "tmp")
	for in, want := range map[string]string{
		"/tmp/notes.md":                                    "<tmp>/notes.md",
		"/private/tmp/notes.md":                            "<tmp>/notes.md",
		"/tmp/tmpk3_9x2ab/out.txt":                         "<tmp>/tmp<random>/out.txt",
		"/tmp/tmpabcdefgh":                                 "<tmp>/tmp<random>",
		"/tmp/tmp.X8sQ1mPz0K/a":                            "<tmp>/tmp.<random>/a",
		"/tmp/agent-aB3dE9/a":                              "<tmp>/agent-<random>/a",
		"/tmp/weekly-report":                               "<tmp>/weekly-report",
		"/tmp/TestX3141592653/001":                         "<tmp>/TestX<random>/001",
		"/tmp/go-build271828182.":                          "<tmp>/go-build<random>.",
		"/tmp/out_2718281828.txt":                          "<tmp>/out_<random>.txt",
		"/tmp/" + "123e4567-e89b-12d3-a456-426614174000/x": "<tmp>/<random>/x",
		"/tmp/a/tmpabcdefgh":                               "<tmp>/a/tmpabcdefgh",
		`\/tmp\/tmpabcdefgh\/x`:                            `<tmp>\/tmp<random>\/x`,
		"%2Ftmp%2Ftmpabcdefgh%2Fx":                         "<tmp>%2Ftmp<random>%2Fx",
		"/var/tmp/x":                                       "/var/tmp/x",
		"/tmp/2026 /tmp/abc":                               "<tmp>/2026 <tmp>/abc",
	} {
		if got, _ := apply(list, in); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestWindowsPaths(t *testing.T) {
	list := normalisers(t, Env{Home: `C:\Users\U V`}, "home")
	for in, want := range map[string]string{
		`C:\Users\U V\x`:                `<home>\x`,
		`{"p":"C:\\Users\\U V\\x"}`:     `{"p":"<home>\\x"}`,
		`C:/Users/U V/x`:                `<home>/x`,
		`file:///C:/Users/U%20V/x`:      `file:///<home>/x`,
		`C:\Users\U Vx`:                 `C:\Users\U Vx`,
		`"\"C:\\\\Users\\\\U V\\\\x\""`: `"\"<home>\\\\x\""`,
	} {
		if got, _ := apply(list, in); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestDatesAndUUIDs(t *testing.T) {
	list := normalisers(t, Env{}, "uuid", "date")
	id := "123e4567-e89b-12d3-A456-426614174000"
	for in, want := range map[string]string{
		"2026-11-30":                                    "<date>",
		"on 2026-11-30T20:29:38Z.":                      "on <date>.",
		"2026-11-30 20:29:38.123456+02:00 x":            "<date> x",
		"2026-11-30 20:29:38,123 INFO":                  "<date> INFO",
		"20261130T202938Z":                              "<date>",
		"2026-13-30 2026-11-32 12026-11-30 2026-11-30x": "2026-13-30 2026-11-32 12026-11-30 2026-11-30x",
		"gpt-4o-2024-08-06":                             "gpt-4o-<date>",
		"Mon, 30 Nov 2026 20:29:38 GMT":                 "<date>",
		"Monday, 30-Nov-26 20:29:38 GMT":                "<date>",
		"Mon Nov 30 2026":                               "<date>",
		"Mon Nov 30 2026 20:29:38 GMT+0000 (Coordinated Universal Time)": "<date>",
		"Mon Nov 30 20:29:38 UTC 2026":                                   "<date>",
		"Sun Nov  1 20:29:38 2026":                                       "<date>",
		"Monday, November 30, 2026 at 8:29 PM":                           "<date>",
		"November 30, 2026":                                              "<date>",
		"Nov 30th 2026, 30 November 2026":                                "<date>, <date>",
		"in May 2026 Marching 30 2026, Mon":                              "in May 2026 Marching 30 2026, Mon",
		`{"d":"\n2026-11-30"}`:                                           `{"d":"\n<date>"}`,
		"1.2026-11":                                                      "1.2026-11",
		id + " " + strings.ToLower(id):                                   "<uuid> <uuid>",
		"x" + id + " " + id + "0 " + id[1:]:                              "x" + id + " " + id + "0 " + id[1:],
		"session-" + id + "/" + id + ":":                                 "session-<uuid>/<uuid>:",
		`\n` + id:                                                        `\n<uuid>`,
	} {
		if got, _ := apply(list, in); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestOwnPatterns(t *testing.T) {
	list := normalisers(t, Env{Home: "/home/u"}, "home", "port=127\\.0\\.0\\.1:([0-9]+)", "pid=pid [0-9]+")
	got, n := apply(list, "127.0.0.1:4711 and pid 12 in /home/u, 127.0.0.1:x")
	if want := "127.0.0.1:<port> and <pid> in <home>, 127.0.0.1:x"; got != want || n != 3 {
		t.Errorf("%d strikes: %s, want %s", n, got, want)
	}
}

func TestDeclarations(t *testing.T) {
	env := Env{Home: "/home/u", Cwd: "/w"}
	names := []string{"uuid", "z=[0-9]+", "cwd", "drop=/b", "home", "date", "a=x+", "host", "drop=/a/*/~0~1", "result-order", "tmp"}
	list := normalisers(t, env, names...)
	var back []string
	for _, n := range list {
		back = append(back, n.String())
	}
	slices.Reverse(names)
	if diff := cmp.Diff(fmt.Sprint(list), fmt.Sprint(normalisers(t, env, names...))); diff != "" {
		t.Errorf("the order of declarations matters:\n%s", diff)
	}
	if diff := cmp.Diff(fmt.Sprint(list), fmt.Sprint(normalisers(t, env, back...))); diff != "" {
		t.Errorf("what is written to a header reads differently:\n%s", diff)
	}
	for decl, want := range map[string]string{
		"hom":                                "unknown; use home",
		"":                                   "unknown",
		"X=a":                                "lower-case",
		"home=a":                             "meaning",
		"host=a":                             "meaning",
		"codex=a":                            "meaning",
		"result-order=a":                     "meaning",
		"drop":                               "unknown",
		"drop=":                              "RFC 6901",
		"drop=/":                             "RFC 6901",
		"drop=a":                             "RFC 6901",
		"drop=/a~2":                          "~0",
		"drop=/tools":                        "none is dropped whole",
		"drop=/input/3":                      "none is dropped whole",
		"drop=/a" + strings.Repeat("/a", 16): "16 tokens",
		"a=(":                                "missing closing",
		"a=x*":                               "empty text",
		"a=":                                 "empty text",
	} {
		if _, err := Normalisers([]string{decl}, env); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", decl, err, want)
		}
	}
	for _, e := range []Env{{}, {Home: "/"}, {Home: "//"}, {Home: `C:\`}, {Home: "relative/path"}} {
		if _, err := Normalisers([]string{"home"}, e); err == nil {
			t.Errorf("home %q is taken", e.Home)
		}
	}
	if _, err := Normalisers([]string{"n=a", "n=b"}, env); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Error(err)
	}
	if list := normalisers(t, env, "home", "home"); len(list) != 1 {
		t.Error("declared again, home is two")
	}
}

// Normalisers reach texts of parts, and no id, type or key, no params, and
// nothing only a provider can read.
func TestWhereNormalisersReach(t *testing.T) {
	list := normalisers(t, Env{Home: "/home/u"}, "home", "any=zz+")
	const body = `{"model":"zz","tools":[{"name":"t","description":"zz","input_schema":{"type":"zz","zz":1}}],"system":"in /home/u",
		"messages":[{"role":"user","content":"zz /home/u/zz"},
		{"role":"assistant","content":[{"type":"thinking","signature":"zz","thinking":"zz"},{"type":"redacted_thinking","data":"zz"},
		{"type":"tool_use","id":"zz","name":"t","input":{"data":"/home/u","id":"zz"}}]}]}`
	r := parse(t, dialect.Messages, body, Options{Normalisers: list})
	want := `model zz stream false
params {"model":"zz"}
tool  /tools/0 {"description":"<any>","input_schema":{"type":"<any>","zz":1},"name":"t"}
system system /system/0 {"text":"in <home>","type":"text"}
message user /messages/0 {"content":[{"text":"<any> <home>/<any>","type":"text"}],"role":"user"}
message assistant /messages/1 {"content":[{"signature":"zz","thinking":"<any>","type":"thinking"},{"data":"zz","type":"redacted_thinking"},{"id":"#1","input":{"data":"<home>","id":"<any>"},"name":"t","type":"tool_use"}],"role":"assistant"}
`
	var got strings.Builder
	for line := range strings.Lines(render(r)) {
		if !strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "root") {
			got.WriteString(line)
		}
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
	if !maps.Equal(r.Applied, map[string]int{"home": 3, "any": 6}) {
		t.Errorf("applied %v", r.Applied)
	}
	other := parse(t, dialect.Messages, strings.ReplaceAll(body, "/home/u", "/Users/u"), Options{Normalisers: normalisers(t, Env{Home: "/Users/u"}, "home", "any=zz+")})
	if other.Chain() != r.Chain() || other.Raw == r.Raw {
		t.Error("two homes: the chain must be equal, Raw must not")
	}
	if plain := parse(t, dialect.Messages, body, Options{}); plain.Raw != r.Raw {
		t.Error("Raw depends on normalisers")
	}
}

func FuzzNormalisers(f *testing.F) {
	f.Add("/home/u/tmp/tmpabcdefgh 2026-11-30T10:00:00Z 123e4567-e89b-12d3-a456-426614174000 Mon, 30 Nov 2026 20:29:38 GMT 127")
	f.Add(`\/home\/u\n%2Fhome%2Fu C:\\Users\\u /-home-u/C--Users-u`)
	f.Add("Linux box-7 6.1.0-18-amd64 #1 SMP 6.1.0-18-amd64 x86_64")
	env := Env{Home: "/home/u", Cwd: `C:\Users\u`, Hostname: "box-7.lan", Release: "6.1.0-18-amd64", Version: "#1 SMP 6.1.0-18-amd64", Machine: "x86_64"}
	list := normalisers(f, env, "home", "cwd", "tmp", "host", "date", "uuid", "n=([0-9]{3})x?")
	f.Fuzz(func(t *testing.T, s string) {
		for _, find := range newStriker(list).steps {
			end := 0
			for _, k := range find(s) {
				if k.from < end || k.to <= k.from || k.to > len(s) {
					t.Fatalf("%q: strike %v after %d", s, k, end)
				}
				end = k.to
			}
		}
		apply(list, s)
	})
}
