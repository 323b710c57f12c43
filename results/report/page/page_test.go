package page

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/results/report"
)

var (
	update = flag.Bool("update", false, "write golden files")
	richTo = flag.String("rich", "", "write the page of the rich fixture there, to look at it")
)

func write(t testing.TB, s *report.Summary, x Extra) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, s, x); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	s, x := small()
	got := write(t, s, x)
	const path = "testdata/small.html"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update to write it)", err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s differs (-want +got); run with -update if the change is meant:\n%s", path, d)
	}
}

var (
	attribute = regexp.MustCompile(`\s([a-z-]+)="([^"]*)"`)
	tagName   = regexp.MustCompile(`<(/?)([a-zA-Z0-9]+)((?:\s[^<>]*)?)>`)
	void      = map[string]bool{"meta": true, "br": true, "wbr": true}
)

// hold checks what every page must keep, whatever its summary.
func hold(t testing.TB, page string) {
	t.Helper()
	body := page[strings.Index(page, "</style>")+len("</style>"):]
	balanced(t, body)
	ids, hrefs, level := map[string]bool{}, []string{}, 0
	for _, m := range tagName.FindAllStringSubmatch(body, -1) {
		if m[1] != "" {
			continue
		}
		tag := m[2]
		switch tag {
		case "script", "img", "iframe", "object", "embed", "link", "form", "input", "base", "foreignObject", "image", "use":
			t.Errorf("a page must have no <%s>", tag)
		}
		if len(tag) == 2 && tag[0] == 'h' && tag[1] >= '1' && tag[1] <= '6' {
			n := int(tag[1] - '0')
			if n > level+1 {
				t.Errorf("heading %s after level %d", tag, level)
			}
			level = n
		}
		for _, a := range attribute.FindAllStringSubmatch(m[3], -1) {
			switch {
			case a[1] == "id" && ids[a[2]]:
				t.Errorf("id %q occurs twice", a[2])
			case a[1] == "id":
				ids[a[2]] = true
			case a[1] == "href" || strings.HasPrefix(a[1], "aria-labelledby"):
				hrefs = append(hrefs, strings.Fields(a[2])...)
			case a[1] == "src" || a[1] == "style" || strings.HasPrefix(a[1], "on"):
				t.Errorf("attribute %s in %s", a[1], m[0])
			}
		}
	}
	for _, h := range hrefs {
		if !ids[strings.TrimPrefix(h, "#")] {
			t.Errorf("%q leads nowhere", h)
		}
	}
	if strings.Contains(style, "url(") || strings.Contains(style, "@import") {
		t.Error("the style loads something")
	}
	for _, r := range page {
		if r < 0x20 && r != '\n' || r == 0x7f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0xfffd {
			t.Fatalf("character %U stands in the page", r)
		}
	}
	figures(t, body)
}

// balanced checks that elements close in order.
func balanced(t testing.TB, body string) {
	t.Helper()
	open := []string{"html", "head"}
	rest := tagName.ReplaceAllStringFunc(body, func(s string) string {
		m := tagName.FindStringSubmatch(s)
		switch {
		case void[m[2]] || strings.HasSuffix(m[3], "/"):
		case m[1] == "":
			open = append(open, m[2])
		case len(open) == 0 || open[len(open)-1] != m[2]:
			t.Fatalf("</%s> closes %v", m[2], open[max(0, len(open)-3):])
		default:
			open = open[:len(open)-1]
		}
		return ""
	})
	if len(open) > 0 {
		t.Errorf("left open: %v", open)
	}
	if i := strings.IndexAny(rest, "<>"); i >= 0 {
		t.Errorf("a bare < or >: %.80q", rest[max(0, i-40):])
	}
}

// figures checks that every figure is well-formed XML and has a name, or is
// hidden from those who cannot see it.
func figures(t testing.TB, body string) {
	t.Helper()
	for rest := body; ; {
		i := strings.Index(rest, "<svg")
		if i < 0 {
			return
		}
		end := strings.Index(rest[i:], "</svg>") + len("</svg>")
		fig := rest[i : i+end]
		d := xml.NewDecoder(strings.NewReader(fig))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%v in %.200s", err, fig)
			}
		}
		if strings.Contains(fig, "NaN") || strings.Contains(fig, "Inf") {
			t.Errorf("no number in %.300s", fig)
		}
		if !strings.Contains(fig, `aria-hidden="true"`) && !strings.Contains(fig, "<title") {
			t.Errorf("a figure without a name: %.200s", fig)
		}
		rest = rest[i+end:]
	}
}

func TestRich(t *testing.T) {
	s, x := rich()
	got := write(t, s, x)
	if *richTo != "" {
		if err := os.WriteFile(*richTo, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	hold(t, got)
	if again := write(t, s, x); again != got {
		t.Error("the same summary gave other bytes")
	}
	for _, want := range []string{"and stuck helped; ", "dedupe", "not measured", "no effect within the margin", "leans up, not certain", "dearer", "Cost unknown", "(simulated)",
		"Skip to the answer", "prefers-color-scheme", "The session file is not in the run folder any more.", `\u202e`, `\u001b[31m`, "&lt;script&gt;", "no limit", "Cut on openai/gpt-real"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(got, "gpt-real (simulated)") {
		t.Error("a real model is called simulated")
	}
}

// TestSimulatedEverywhere: a simulated model is labelled wherever a table or a card names it.
func TestSimulatedEverywhere(t *testing.T) {
	s, x := small()
	page := write(t, s, x)
	page = page[strings.Index(page, `<section id="plain"`):]
	page = strings.ReplaceAll(page, "sim/weak (simulated)", "")
	if i := strings.Index(page, "sim/weak"); i >= 0 {
		t.Errorf("no label: %.120q", page[max(0, i-60):])
	}
}

// TestBounds: large, empty and odd summaries give pages that hold, and stay small.
func TestBounds(t *testing.T) {
	big := &report.Summary{Suite: "big", Models: []report.Model{{Model: "sim/weak", Simulated: true}, {Model: "sim/strong", Simulated: true}}, Trials: 400_000, Graded: 400_000}
	for _, m := range big.Models {
		for i := range 40 {
			big.Arms = append(big.Arms, fmt.Sprint("arm-", i))
			big.Main.Arms = append(big.Main.Arms, armFor(m.Model, fmt.Sprint("arm-", i), i, 1000))
		}
		for i := range 1000 {
			big.Main.Guards = append(big.Main.Guards, guardOf(fmt.Sprint("guard-", i), m.Model, []string{"helps", "hurts", "open", "never"}[i%4]))
		}
	}
	one := &report.Summary{Suite: "one", Models: big.Models[:1], Main: report.Section{Arms: []report.Arm{armFor("sim/weak", "default", 0, 3)}}, Trials: 15, Graded: 13}
	long := Extra{Flips: make([]FlipTranscript, 50)}
	for i := range long.Flips {
		long.Flips[i].Guard = true
		long.Flips[i].A.Lines = []string{strings.Repeat("&", 1<<20)}
		long.Flips[i].B.Lines = strings.Split(strings.Repeat(strings.Repeat("\x1b", 50)+"\n", 10_000), "\n")
	}
	for name, c := range map[string]struct {
		s   *report.Summary
		x   Extra
		max int
	}{
		"empty":   {&report.Summary{}, Extra{}, 30_000},
		"one arm": {one, Extra{}, 40_000},
		"big":     {big, long, 16 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			got := write(t, c.s, c.x)
			hold(t, got)
			if len(got) > c.max {
				t.Errorf("the page has %d bytes, more than %d", len(got), c.max)
			}
			t.Logf("%d bytes", len(got))
		})
	}
	got := write(t, big, Extra{})
	for _, want := range []string{"The 60 scenarios whose arms differ most stand here", "The other 940 scenarios", "are left out to keep the page small", "The first 400 of 1,000 guards are shown"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// TestJudge: the rules that turn numbers into words.
func TestJudge(t *testing.T) {
	for kind, want := range map[string]state{"helps": helped, "hurts": hurt, "leans": leansUp, "same": same, "never": unmeasured, "open": unclear, "costs": unclear} {
		c := guardOf("stuck", "sim/weak", kind)
		if got := judge(&c); got != want {
			t.Errorf("%s: %s, want %s", kind, states[got].Word, states[want].Word)
		}
	}
	c := guardOf("stuck", "sim/weak", "helps")
	c.Fired.Test.Adjusted = ptr(0.05) // not below
	if got := judge(&c); got != leansUp {
		t.Errorf("p of 0.05: %s", states[got].Word)
	}
	c.Fired.Estimate.Lo, c.Fired.Test.Adjusted = nil, nil
	if got := judge(&c); got != untested {
		t.Errorf("no interval and no test: %s", states[got].Word)
	}
	for kind, want := range map[string]price{"costs": dearer, "helps": priceSame, "never": priceUnknown, "open": priceSame} {
		c := guardOf("stuck", "sim/weak", kind)
		if got := judgePrice(&c); got != want {
			t.Errorf("%s: %s, want %s", kind, prices[got], prices[want])
		}
	}
}

// TestChoose: one flip of each comparison in turn, the headline's first, at most MaxFlips.
func TestChoose(t *testing.T) {
	s, _ := rich()
	got := Choose(s)
	if len(got) != MaxFlips || got[0].Guard || got[0].Harms || got[0].Index != 0 {
		t.Fatalf("%d flips, first %+v", len(got), got[0])
	}
	seen := map[string]int{}
	for _, r := range got {
		seen[fmt.Sprint(r.Harms, r.Guard, r.Index)]++
	}
	for _, n := range seen {
		if n > 2 {
			t.Errorf("a comparison has %d of the flips", n)
		}
	}
	if Choose(&report.Summary{}) != nil {
		t.Error("an empty summary has flips")
	}
}

func FuzzNames(f *testing.F) {
	f.Add(hostile, 0.5, -0.2)
	f.Add("</title></svg><script>", 1e300, 5e-324)
	f.Add("a_b-c/d.e f", 0.0, 0.0)
	f.Fuzz(func(t *testing.T, name string, v, lo float64) {
		s, x := small()
		s.Suite, s.RunID, s.Arms[0], s.Models[0].Model = name, name, name, name
		s.Headline = &report.Headline{Text: name, Comparison: 0}
		for i := range s.Main.Arms {
			a := &s.Main.Arms[i]
			a.Model, a.Arm, a.BeatenBy, a.Warnings, a.Rate, a.CostPerTrial = name, name+a.Arm, name, []string{name}, &v, &lo
			a.ByScenario[0].Scenario, a.Outcomes[0].Outcome = name, name
		}
		for i := range s.Main.Guards {
			g := &s.Main.Guards[i]
			g.Guard, g.Model, g.Notes, g.Fired.Estimate.Value, g.Fired.Estimate.Lo, g.CostRatio.Estimate.Value = name, name, []string{name}, &v, &lo, &v
		}
		whole := guardOf("", name, "helps")
		whole.Arm, whole.Base, whole.Fired, whole.OverAll.Value, whole.OverAll.Hi = name, name, nil, &v, &lo
		s.Main.Comparisons = []report.Contrast{whole}
		x.Guards[name] = name
		x.Flips = []FlipTranscript{{FlipRef: FlipRef{Guard: true, Flip: flipOf(name, 1, true)}, A: Transcript{Lines: []string{name}, Note: name}}}
		hold(t, write(t, s, x))
	})
}
