package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/recorder/wire/tape"
	"github.com/harnessbench/harnessbench/replayer"
)

// Case is one replayed session as the outputs show it. Its texts are as they
// came: each output makes them safe for itself.
type Case struct {
	Path    string
	Verdict replayer.Verdict
	Name    string // of the verdict, with what belongs to it: DIVERGED@3.execute, UNUSED(2)
	Code    replayer.Code
	Reason  string // one line
	Hint    string
	Line    int // of the file, from 1; 0 = none
	Turns   int // that came out as recorded; of traffic the requests that were served
	details []detail
}

// detail is a line of a case: a named value, or a line of a diff.
type detail struct {
	name string // "" = of a diff
	text string
	mark byte // '-' recorded, '+' now, 0 neither
}

// maxShadow is how many firings in shadow a case lists.
const maxShadow = 5

// Session makes a case of the replay of one of our own sessions.
func Session(r *replayer.Report) Case {
	c := Case{Path: r.Path, Verdict: r.Verdict, Name: r.Name(), Code: r.Code, Reason: r.Reason, Turns: r.Turns}
	if d := r.Divergence; d != nil {
		c.Hint, c.Line = d.Hint, d.Line
		c.values(d.Recorded, d.Actual, d.Diff)
		c.add("hint", d.Hint)
		c.add("after", d.After)
		c.add("more", d.Show)
	}
	for i, s := range r.Shadow {
		if i == maxShadow {
			c.add("shadow", fmt.Sprintf("%d more", len(r.Shadow)-i))
			break
		}
		c.add("shadow", s)
	}
	c.explain()
	return c
}

// Traffic makes a case of the replay of recorded traffic.
func Traffic(r *tape.Report) Case {
	c := Case{Path: r.Path, Verdict: r.Verdict, Name: string(r.Verdict), Code: r.Code, Reason: r.Reason, Turns: r.Served}
	if r.Verdict == replayer.Unused {
		c.Name = fmt.Sprintf("%s(%d)", r.Verdict, r.Unused)
	}
	if d := r.Divergence; d != nil {
		c.Hint = d.Hint
		c.values(d.Recorded, d.Actual, d.Diff)
		c.add("hint", d.Hint)
		c.add("note", d.Note)
		c.add("more", d.Show)
		c.add("next", "record again if this is meant, with --normalise if it changes at every run")
	}
	for _, m := range r.Missing {
		c.add("unused", fmt.Sprintf("lane %s, turn %d: %s", m.Lane, m.Turn, m.What))
	}
	if n := r.Unused - len(r.Missing); n > 0 && len(r.Missing) > 0 {
		c.add("unused", fmt.Sprintf("%d more", n))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Normalised)) {
		c.add("equal by", name+", "+cli.Count(r.Normalised[name], "time"))
	}
	for _, s := range r.Warnings {
		c.add("warning", s)
	}
	c.add("served", fmt.Sprintf("%d of %s in %s, and %s", r.Served, cli.Count(r.Exchanges, "recorded model request"),
		cli.Count(len(r.Lanes), "lane"), cli.Count(r.Auxiliary, "auxiliary call")))
	c.explain()
	return c
}

// Title says what the case's code means: "HB1013 guard-missing: a guard does
// not fire that fired"; "" without a code.
func (c *Case) Title() string {
	info, ok := replayer.Explain(string(c.Code))
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", info.Code, info.Name, info.Title)
}

// failed reports whether the case is none that a build may pass with.
func (c *Case) failed() bool { return c.Verdict.Exit() != 0 }

func (c *Case) add(name, text string) {
	if text != "" {
		c.details = append(c.details, detail{name: name, text: text})
	}
}

// values tells recorded and actual value, as a diff where there is one.
func (c *Case) values(recorded, actual, diff string) {
	if diff == "" {
		c.add("recorded", recorded)
		c.add("now", actual)
		return
	}
	for line := range strings.Lines(strings.TrimRight(diff, "\n")) {
		line = strings.TrimSuffix(line, "\n")
		d := detail{text: line}
		if line != "" && (line[0] == '-' || line[0] == '+') {
			d.mark = line[0]
		}
		c.details = append(c.details, d)
	}
}

func (c *Case) explain() {
	if c.failed() && c.Code != "" {
		c.add("explain", "harnessbench replay --explain "+string(c.Code))
	}
}

// Counts says in one line how many cases have which verdict.
func Counts(cases []Case) string {
	n, turns := map[replayer.Verdict]int{}, 0
	for i := range cases {
		n[cases[i].Verdict]++
		turns += cases[i].Turns
	}
	var parts []string
	for _, v := range replayer.Verdicts {
		if n[v] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", v, n[v]))
		}
	}
	return fmt.Sprintf("%s, %s as recorded: %s", cli.Count(len(cases), "session"), cli.Count(turns, "turn"), strings.Join(parts, ", "))
}
