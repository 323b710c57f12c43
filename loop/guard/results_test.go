package guard

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/loop/event"
)

func TestHead(t *testing.T) {
	for _, tt := range []struct {
		s    string
		n    int
		want string
	}{
		{"", 0, ""}, {"abc", 0, ""}, {"abc", 2, "ab"}, {"abc", 3, "abc"}, {"abc", 9, "abc"},
		{"a\u00e9b", 1, "a"}, {"a\u00e9b", 2, "a"}, {"a\u00e9b", 3, "a\u00e9"},
		{"\U0001F600x", 1, ""}, {"\U0001F600x", 3, ""}, {"\U0001F600x", 4, "\U0001F600"},
		{"\x80\x80\x80\x80", 3, ""}, // no UTF-8 at all: nothing rather than a piece
	} {
		if got := Head(tt.s, tt.n); got != tt.want {
			t.Errorf("Head(%q, %d) = %q, want %q", tt.s, tt.n, got, tt.want)
		}
	}
	text := strings.Repeat("a\u00e9\u20ac\U0001F600", 20)
	for n := range len(text) {
		h := Head(text, n)
		if !utf8.ValidString(h) || len(h) > n || len(h) < n-3 || !strings.HasPrefix(text, h) {
			t.Fatalf("Head(%d) = %d bytes %q", n, len(h), h)
		}
	}
}

var bothReaders = Env{Tools: []string{"read_file", "grep", "export"}}

func TestSpillThreshold(t *testing.T) {
	for _, tt := range []struct {
		size  int
		fires bool
	}{{0, false}, {24<<10 - 1, false}, {24 << 10, false}, {24<<10 + 1, true}, {200_000, true}} {
		raw := strings.Repeat("0123456789abcde\n", tt.size/16+1)[:tt.size]
		_, d := one(t, "spill", bothReaders).Step(call("export", "{}", raw))
		if d.Fired() != tt.fires || d.HasRewrite != tt.fires || (d.Spill != nil) != tt.fires {
			t.Errorf("%d bytes: %+v", tt.size, d.Act)
			continue
		}
		if !tt.fires {
			continue
		}
		if d.Spill.Data != raw {
			t.Errorf("%d bytes: the file holds %d", tt.size, len(d.Spill.Data))
		}
		if !strings.HasPrefix(d.Rewrite, raw[:4<<10]+"\n") {
			t.Errorf("%d bytes: the preview is not the first 4 KiB", tt.size)
		}
		lines := strings.Count(strings.TrimSuffix(raw, "\n"), "\n") + 1
		for _, want := range []string{
			fmt.Sprintf("%d bytes", tt.size), fmt.Sprintf("%d lines", lines), "first 4096 bytes",
			"/workspace/" + d.Spill.Path, "read_file", "grep",
		} {
			if !strings.Contains(d.Rewrite[4<<10:], want) {
				t.Errorf("%d bytes: the marker lacks %q: %s", tt.size, want, d.Rewrite[4<<10:])
			}
		}
		if d.On != "call_x" || !strings.Contains(d.Evidence, fmt.Sprint(tt.size)) || !strings.Contains(d.Evidence, d.Spill.Path) {
			t.Errorf("%d bytes: evidence %q on %q", tt.size, d.Evidence, d.On)
		}
		if len(d.Rewrite) > 5<<10 {
			t.Errorf("the rewrite has %d bytes", len(d.Rewrite))
		}
	}
}

func TestSpillNamesOnlyToolsThatAreThere(t *testing.T) {
	big := strings.Repeat("x", 30_000)
	for _, tt := range []struct {
		tools      []string
		with, less []string
	}{
		{[]string{"read_file"}, []string{"read_file"}, []string{"grep"}},
		{[]string{"grep"}, []string{"grep"}, []string{"read_file"}},
		{nil, nil, []string{"grep", "read_file"}},
	} {
		_, d := one(t, "spill", Env{Tools: tt.tools}).Step(call("export", "{}", big))
		for _, w := range tt.with {
			if !strings.Contains(d.Rewrite, w) {
				t.Errorf("%v: no %s in the marker", tt.tools, w)
			}
		}
		for _, w := range tt.less {
			if strings.Contains(d.Rewrite, w) {
				t.Errorf("%v: %s in the marker", tt.tools, w)
			}
		}
	}
}

func TestSpillPreviewIsUTF8(t *testing.T) {
	for shift := range 4 {
		raw := strings.Repeat("x", shift) + strings.Repeat("\U0001F600", 10_000)
		_, d := one(t, "spill", bothReaders).Step(call("export", "{}", raw))
		if !utf8.ValidString(d.Rewrite) {
			t.Errorf("shift %d: the preview breaks a character", shift)
		}
		if cut := strings.Index(d.Rewrite, "\n["); cut > 4<<10 || cut < 4<<10-3 {
			t.Errorf("shift %d: a preview of %d bytes", shift, cut)
		}
	}
}

func TestSpillPaths(t *testing.T) {
	text := strings.Repeat("line of text\n", 3000)
	object := `{"a":"` + strings.Repeat("x", 30_000) + `"}`
	for _, tt := range []struct {
		lane, tool, raw string
		turn, index     int
		want            string // whole, or a prefix ending in '*'
	}{
		{"main", "export", text, 3, 0, ".harness/spill/main-3-0-export.txt"},
		{"main", "export", object, 12, 4, ".harness/spill/main-12-4-export.json"},
		{"main", "export", " \n" + object + "\n", 1, 0, ".harness/spill/main-1-0-export.json"},
		{"main", "export", "[" + object + ",1]", 1, 0, ".harness/spill/main-1-0-export.json"},
		{"main", "export", object + object, 1, 0, ".harness/spill/main-1-0-export.txt"},
		{"main", "export", object[:29_000], 1, 0, ".harness/spill/main-1-0-export.txt"},
		{"main", "export", `"` + strings.Repeat("x", 30_000) + `"`, 1, 0, ".harness/spill/main-1-0-export.txt"},
		{"sub", "db_query-2", text, 1, 0, ".harness/spill/sub-1-0-db_query-2.txt"},
		{"sub-1", "db_query-2", text, 1, 0, ".harness/spill/sub_1_*"},
		{"main", "../../etc/passwd", text, 1, 0, ".harness/spill/main-1-0-______etc_passwd_*"},
		{"main/sub", "x", text, 1, 0, ".harness/spill/main_sub_*"},
		{"main", "", text, 1, 0, ".harness/spill/main-1-0-_*"},
		{"main", "\u65e5\u672c\x00\n", text, 1, 0, ".harness/spill/main-1-0-_____*"},
		{"main", strings.Repeat("n", 48), text, 1, 0, ".harness/spill/main-1-0-" + strings.Repeat("n", 48) + ".txt"},
		{"main", strings.Repeat("n", 49), text, 1, 0, ".harness/spill/main-1-0-" + strings.Repeat("n", 40) + "_*"},
		{"main", strings.Repeat("\U0001F600", 5000), text, 1, 0, ".harness/spill/main-1-0-" + strings.Repeat("_", 40) + "_*"},
	} {
		c := call(tt.tool, "{}", tt.raw)
		c.Lane, c.Turn, c.Index = tt.lane, tt.turn, tt.index
		_, d := one(t, "spill", bothReaders).Step(c)
		if d.Spill == nil {
			t.Errorf("%q: no spill", tt.tool)
			continue
		}
		got := d.Spill.Path
		prefix, open := strings.CutSuffix(tt.want, "*")
		if open && !strings.HasPrefix(got, prefix) || !open && got != tt.want {
			t.Errorf("lane %q tool %.60q: %s, want %s", tt.lane, tt.tool, got, tt.want)
		}
		rest := strings.TrimPrefix(got, ".harness/spill/")
		if len(rest) > 140 || strings.Trim(rest, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") != "" ||
			strings.Contains(rest, "/") || strings.Count(rest, ".") != 1 {
			t.Errorf("tool %.60q: an unsafe name %s", tt.tool, got)
		}
	}
}

func TestSpillNamesOfOddToolsStayApart(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{"a.b", "a/b", "a b", "a_b", "a\\b", strings.Repeat("n", 60), strings.Repeat("n", 61), "", "_"} {
		p := safeName(name)
		if old, ok := seen[p]; ok {
			t.Errorf("%q and %q are both %s", name, old, p)
		}
		seen[p] = name
	}
}

// Two lanes never write to one file, though their calls have the same id, turn,
// index and tool, and however their names end.
func TestSpillsOfTwoLanesStayApart(t *testing.T) {
	text := strings.Repeat("line of text\n", 3000)
	seen := map[string]string{}
	for _, c := range []struct {
		lane, tool  string
		turn, index int
	}{
		{"main", "export", 1, 0}, {"sub", "export", 1, 0}, {"sub2", "export", 1, 0}, {"sub-2", "export", 1, 0}, {"sub_2", "export", 1, 0}, {"sub.2", "export", 1, 0},
		{"a", "0-x", 1, 1}, {"a-1", "x", 1, 0}, {"a-1-1", "x", 0, 0}, {"a", "1-0-x", 1, 1}, {"", "x", 1, 0}, {"-", "x", 1, 0}, {"_", "x", 1, 0},
	} {
		r := call(c.tool, "{}", text)
		r.Call.ID, r.Lane, r.Turn, r.Index = "call_1", c.lane, c.turn, c.index
		_, d := one(t, "spill", bothReaders).Step(r)
		if other, taken := seen[d.Spill.Path]; taken {
			t.Errorf("lane %q, tool %q: %s, as %s", c.lane, c.tool, d.Spill.Path, other)
		}
		seen[d.Spill.Path] = fmt.Sprintf("lane %q, tool %q", c.lane, c.tool)
	}
}

// Reading what was spilled gives slices of it; to spill those again would send
// the model in a circle.
func TestReadsOfSpilledFilesAreNotSpilledAgain(t *testing.T) {
	big := strings.Repeat("x", 30_000)
	for _, tt := range []struct {
		resources []string
		spills    bool
	}{
		{nil, true},
		{[]string{"/workspace/notes.txt"}, true},
		{[]string{"/workspace/.harness/spill/main-1-0-export.txt"}, false},
		{[]string{"/workspace/a", "/workspace/.harness/spill/main-1-0-export.txt"}, false},
		{[]string{"/workspace/.harness/spill"}, false},
		{[]string{"/workspace/.harness"}, false},
		{[]string{"/workspace/.harness2/a"}, true},
		{[]string{"/workspace/sub/.harness/a"}, true},
	} {
		c := call("read_file", "{}", big)
		c.Resources = tt.resources
		if _, d := one(t, "spill", bothReaders).Step(c); d.Fired() != tt.spills {
			t.Errorf("%v: spilled %v, want %v", tt.resources, d.Fired(), tt.spills)
		}
	}
}

// When the file cannot be written nothing is rewritten, the firing says why, and
// the ceiling cuts.
func TestFailingSpillFallsToTheCeiling(t *testing.T) {
	raw := strings.Repeat("x", 100_000)
	h := &host{spillErr: errors.New("no space")}
	s := NewSet(MustProfile(ProfileDefault), Backstop{}, bothReaders)
	c := call("export", "{}", raw)
	res, err := s.Step(c, h)
	if err != nil {
		t.Fatal(err)
	}
	if got := h.acts(); got != "spill:enforce:spill result_ceiling:enforce:cut" {
		t.Errorf("fired %s", got)
	}
	if h.fired[0].Failed != "no space" || h.fired[1].Failed != "" {
		t.Errorf("%+v", h.fired)
	}
	if !res.Rewrote || !strings.HasPrefix(c.Shown, raw[:24<<10]+"\n[") || strings.Contains(c.Shown, "full output") {
		t.Errorf("shown %d bytes: %s", len(c.Shown), c.Shown[24<<10:])
	}
	if c.Raw != raw {
		t.Error("the raw result was changed")
	}
}

func TestFailingSpillAloneLeavesTheResult(t *testing.T) {
	raw := strings.Repeat("x", 100_000)
	h := &host{spillErr: errors.New("no space")}
	c := call("export", "{}", raw)
	res, err := NewSet(set(t, ProfileDefault, "result_ceiling=off"), Backstop{}, bothReaders).Step(c, h)
	if err != nil || res.Rewrote || c.Shown != raw || h.acts() != "spill:enforce:spill" {
		t.Errorf("%v %v, %d bytes, %s", err, res.Rewrote, len(c.Shown), h.acts())
	}
}

func TestSpillBeforeCeiling(t *testing.T) {
	h := &host{}
	c := call("export", "{}", strings.Repeat("x", 100_000))
	if _, err := NewSet(MustProfile(ProfileDefault), Backstop{}, bothReaders).Step(c, h); err != nil {
		t.Fatal(err)
	}
	if h.acts() != "spill:enforce:spill" || len(h.spilled) != 1 {
		t.Errorf("fired %s", h.acts())
	}
	h = &host{}
	c = call("export", "{}", strings.Repeat("x", 100_000))
	if _, err := NewSet(set(t, ProfileDefault, "spill=shadow"), Backstop{}, bothReaders).Step(c, h); err != nil {
		t.Fatal(err)
	}
	if h.acts() != "spill:shadow:spill result_ceiling:enforce:cut" || len(h.spilled) != 0 {
		t.Errorf("shadow: fired %s, %d files", h.acts(), len(h.spilled))
	}
}

func TestCeiling(t *testing.T) {
	for _, tt := range []struct {
		size, limit int
		fires       bool
	}{
		{0, 24 << 10, false}, {24<<10 - 1, 24 << 10, false}, {24 << 10, 24 << 10, false}, {24<<10 + 1, 24 << 10, true},
		{1 << 20, 24 << 10, true}, {255, 256, false}, {256, 256, false}, {257, 256, true},
	} {
		raw := strings.Repeat("y", tt.size)
		_, d := one(t, "result_ceiling", Env{}, fmt.Sprint("bytes=", tt.limit)).Step(call("t", "{}", raw))
		if d.Fired() != tt.fires || d.HasRewrite != tt.fires {
			t.Errorf("%d of %d: %q", tt.size, tt.limit, d.Act)
		}
		if !tt.fires {
			continue
		}
		marker := fmt.Sprintf("\n[result cut: the last %d of %d bytes are not shown]", tt.size-tt.limit, tt.size)
		if d.Rewrite != raw[:tt.limit]+marker || d.On != "call_x" || d.Act != "cut" || d.Spill != nil {
			t.Errorf("%d of %d: %s %s", tt.size, tt.limit, d.Act, d.Rewrite[min(tt.limit, len(d.Rewrite)):])
		}
	}
	for shift := range 4 {
		raw := strings.Repeat("x", shift) + strings.Repeat("\U0001F600", 10_000)
		_, d := one(t, "result_ceiling", Env{}).Step(call("t", "{}", raw))
		if !utf8.ValidString(d.Rewrite) {
			t.Errorf("shift %d: a character is cut", shift)
		}
		kept := strings.Index(d.Rewrite, "\n[result cut")
		if !strings.Contains(d.Rewrite, fmt.Sprintf("the last %d of %d", len(raw)-kept, len(raw))) {
			t.Errorf("shift %d: the marker's sum is wrong: %s", shift, d.Rewrite[kept:])
		}
	}
}

func TestNearest(t *testing.T) {
	tools := []string{"read_file", "write_file", "edit_file", "list_dir", "grep"}
	for _, tt := range []struct{ name, want string }{
		{"read_file", "read_file"}, {"readfile", "read_file"}, {"read_fil", "read_file"}, {"red_fle", "read_file"},
		{"gerp", ""}, {"grepp", "grep"}, {"rep", "grep"}, {"list_files", ""}, {"listdir", "list_dir"},
		{"delete_everything", ""}, {"bash", ""}, {"", ""}, {"Read_File", "read_file"}, {"write-file", "write_file"},
		{strings.Repeat("grep", 100), ""},
	} {
		got, ok := Nearest(tt.name, tools)
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("%q: %q, want %q", tt.name, got, tt.want)
		}
	}
	if got, _ := Nearest("tool_x", []string{"tool_b", "tool_a"}); got != "tool_b" {
		t.Errorf("a tie goes to the first: %q", got)
	}
	if got, ok := Nearest("a", nil); ok || got != "" {
		t.Error("near to nothing")
	}
}

func TestLevenshtein(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"ab", "ba", 2}, {"same", "same", 0},
	} {
		if got := levenshtein(tt.a, tt.b); got != tt.want {
			t.Errorf("%q %q: %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestUnknownTool(t *testing.T) {
	env := Env{Tools: []string{"read_file", "grep"}}
	for _, tt := range []struct {
		name, act string
		has, less []string
	}{
		{"readfile", "suggest", []string{`did you mean "read_file"?`, "read_file, grep"}, nil},
		{"launch_rocket", "list", []string{"read_file, grep"}, []string{"did you mean"}},
	} {
		c := call(tt.name, "{}", "no such tool")
		c.Outcome = event.UnknownTool
		_, d := one(t, "unknown_tool", env).Step(c)
		if d.Act != tt.act || !d.HasRewrite || d.On != "call_x" || d.Evidence != tt.name {
			t.Errorf("%s: %+v", tt.name, d)
		}
		for _, w := range tt.has {
			if !strings.Contains(d.Rewrite, w) {
				t.Errorf("%s: no %q in %s", tt.name, w, d.Rewrite)
			}
		}
		for _, w := range tt.less {
			if strings.Contains(d.Rewrite, w) {
				t.Errorf("%s: %q in %s", tt.name, w, d.Rewrite)
			}
		}
	}
	for _, o := range []event.Outcome{event.Success, event.ToolError, event.ValidationFailed, event.PermissionDenied, event.Cancelled} {
		c := call("readfile", "{}", "x")
		c.Outcome = o
		if _, d := one(t, "unknown_tool", env).Step(c); d.Fired() {
			t.Errorf("fires on %s", o)
		}
	}
}

// unknown_tool rewrites after the ceiling, so what it writes must be small by
// itself, however long a name the model made up.
func TestUnknownToolIsBounded(t *testing.T) {
	c := call(strings.Repeat("\x01\u00e9", 100_000), "{}", "no such tool")
	c.Outcome = event.UnknownTool
	h := &host{}
	if _, err := NewSet(MustProfile(ProfileDefault), Backstop{}, bothReaders).Step(c, h); err != nil {
		t.Fatal(err)
	}
	if len(c.Shown) > 1024 || !utf8.ValidString(c.Shown) {
		t.Errorf("%d bytes: %.80s", len(c.Shown), c.Shown)
	}
	if len(h.fired[len(h.fired)-1].Evidence) > 200 {
		t.Errorf("evidence of %d bytes", len(h.fired[len(h.fired)-1].Evidence))
	}
}

func FuzzSpill(f *testing.F) {
	f.Add("export", "main", `{"a":1}`)
	f.Add("../x", "", strings.Repeat("\xff", 300))
	f.Fuzz(func(t *testing.T, tool, lane, raw string) {
		raw = strings.ToValidUTF8(raw, "\uFFFD")
		c := call(tool, "{}", raw)
		c.Lane = lane
		_, d := one(t, "spill", bothReaders, "over=256", "preview=100").Step(c)
		if d.Fired() != (len(raw) > 256) {
			t.Fatalf("%d bytes: %q", len(raw), d.Act)
		}
		if !d.Fired() {
			return
		}
		if !utf8.ValidString(d.Rewrite) || d.Spill.Data != raw || !utf8.ValidString(d.Spill.Path) {
			t.Fatalf("%q", d.Rewrite)
		}
		if strings.HasSuffix(d.Spill.Path, ".json") && !jsontext.Value(raw).IsValid() {
			t.Fatalf("%q is called JSON", raw)
		}
	})
}
