package render

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
)

// JUnit writes the cases as a JUnit report: a suite per folder, in the order in
// which folders come, and a test per session. A session that does not behave as
// recorded is a failure, one that cannot be judged an error; both have the code
// as type and the text of the report as content. Names are paths with slashes.
// Times are 0, and there is no date and no host, so equal results are equal
// files.
func JUnit(w io.Writer, cases []Case) error {
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n")
	all := tally(cases)
	fmt.Fprintf(&b, `<testsuites name="harnessbench replay" tests="%d" failures="%d" errors="%d" time="0">`+"\n", len(cases), all.failures, all.errors)
	for _, s := range folders(cases) {
		n := tally(s.cases)
		fmt.Fprintf(&b, `  <testsuite name="%s" tests="%d" failures="%d" errors="%d" skipped="0" time="0">`+"\n", attr(s.name), len(s.cases), n.failures, n.errors)
		for i := range s.cases {
			s.cases[i].junit(&b, s.name)
		}
		b.WriteString("  </testsuite>\n")
	}
	b.WriteString("</testsuites>\n")
	_, err := w.Write(b.Bytes())
	return err
}

type folder struct {
	name  string
	cases []Case
}

// folders groups cases by folder; folders and cases keep their order.
func folders(cases []Case) (out []folder) {
	index := map[string]int{}
	for _, c := range cases {
		dir := path.Dir(filepath.ToSlash(c.Path))
		i, ok := index[dir]
		if !ok {
			i = len(out)
			index[dir] = i
			out = append(out, folder{name: dir})
		}
		out[i].cases = append(out[i].cases, c)
	}
	return out
}

type tallied struct{ failures, errors int }

func tally(cases []Case) (n tallied) {
	for i := range cases {
		switch {
		case cases[i].Verdict.Exit() == 1:
			n.failures++
		case cases[i].failed():
			n.errors++
		}
	}
	return n
}

// junit writes one test.
func (c *Case) junit(b *bytes.Buffer, class string) {
	slashed := filepath.ToSlash(c.Path)
	fmt.Fprintf(b, `    <testcase classname="%s" name="%s" file="%s" time="0"`, attr(class), attr(path.Base(slashed)), attr(slashed))
	if c.Code == "" && len(c.details) == 0 {
		b.WriteString("/>\n")
		return
	}
	b.WriteString(">\n")
	var text strings.Builder
	c.text(&text, false)
	switch element := map[int]string{1: "failure", 3: "error"}[c.Verdict.Exit()]; element {
	case "":
		fmt.Fprintf(b, "      <system-out>%s</system-out>\n", content(text.String()))
	default:
		fmt.Fprintf(b, `      <%s type="%s" message="%s">%s</%s>`+"\n", element, c.Code, attr(c.message()), content(text.String()), element)
	}
	b.WriteString("    </testcase>\n")
}

// message is the case in one line.
func (c *Case) message() string {
	s := c.Name
	if t := c.Title(); t != "" {
		s += ": " + t
	}
	if c.Reason != "" {
		s += " (" + c.Reason + ")"
	}
	return s
}

// attr makes a text the value of an attribute. What XML 1.0 cannot hold, and
// what a terminal or a browser would obey, is written visibly (\x1b); bytes that
// are no UTF-8 too.
func attr(s string) string { return escapeXML(Neutral(cli.SanitizeLine(s))) }

// content makes a text the content of an element; it keeps its lines.
func content(s string) string {
	return strings.NewReplacer("&#xA;", "\n", "&#x9;", "\t").Replace(escapeXML(Neutral(cli.Sanitize(s))))
}

func escapeXML(s string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		panic(err) // a strings.Builder takes everything
	}
	return b.String()
}
