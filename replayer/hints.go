package replayer

import (
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// maxHint is how many bytes of a side why looks at; longer texts get no hint.
const maxHint = 1 << 20

// why says in a few words in what alone two unequal values differ, where that is
// something that changes by itself from run to run or from machine to machine:
// a date, a path of this machine, a random id, the form of a number, an order. It
// is "" where they differ in more, or where nothing is known. A hint explains; it
// never makes values equal.
func why(recorded, actual string) string {
	if recorded == actual || recorded == "" || actual == "" || len(recorded) > maxHint || len(actual) > maxHint {
		return ""
	}
	a, b := plainText(recorded), plainText(actual)
	if a == b {
		return "the two differ in nothing but how they are escaped"
	}
	if h := whyNumber(a, b); h != "" {
		return h
	}
	for _, h := range hints {
		if h.level(a) == h.level(b) {
			return "the two differ in nothing but " + h.what
		}
	}
	all := func(s string) string {
		for _, h := range hints {
			if h.volatile {
				s = h.level(s)
			}
		}
		return s
	}
	if all(a) == all(b) {
		return "the two differ in nothing but dates or times, random ids and paths of a machine"
	}
	return ""
}

// hint is one thing in which values differ by themselves: level takes it out of
// a text.
type hint struct {
	what     string
	volatile bool // changes from run to run, so several of these may come together
	level    func(string) string
}

const (
	monthRE = `(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*`
	dayRE   = `(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*`
	timeRE  = `\d{1,2}:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?: ?[AaPp]\.?[Mm]\.?)?(?: ?(?:Z|UTC|GMT)?(?:[+-]\d\d:?\d\d)?(?: ?[A-Z]{3,4}\b)?)?`
)

// dates finds what a clock writes: days, times, time zones, seconds and
// milliseconds since 1970.
var dates = regexp.MustCompile(`\b\d{4}-\d\d-\d\d(?:[T ]` + timeRE + `)?` +
	`|\b\d{1,4}[./]\d{1,2}[./]\d{2,4}\b(?:,? ` + timeRE + `)?` +
	`|\b(?:` + dayRE + `,? )?(?:\d{1,2}\.? ` + monthRE + `|` + monthRE + ` {1,2}\d{1,2}(?:st|nd|rd|th)?)(?:,? \d{4})?(?:,? (?:at )?` + timeRE + `)?(?: \d{4})?` +
	`|\b` + dayRE + `\b|\b` + timeRE + `|\b1[0-9]{9}(?:[0-9]{3}){0,3}\b`)

// places finds home, user and temporary folders, and what lies in them.
var places = regexp.MustCompile(`(?:/private)?(?:/(?:home|Users)/[^/\s"'` + "`" + `:,;)]+|/root|/tmp|/var/(?:tmp|folders)|/workspaces?|/dev/shm)(?:/[^\s"'` + "`" + `:,;)]*)?` +
	`|\b[A-Za-z]:\\+(?:Users|Windows|Temp|temp)(?:\\+[^\s"'` + "`" + `:,;)]*)*`)

// randoms finds ids: UUIDs, prefixed ids of calls and answers, long hex digits.
var randoms = regexp.MustCompile(`\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b` +
	`|\b(?:call|toolu|msg|resp|req|chatcmpl|run|item|fc|rs|ws|session|sess|thread|id)[_-][0-9A-Za-z]{6,}\b` +
	`|\b[0-9a-f]{8,64}\b`)

// hints are tried in this order; the first that levels the two texts is told.
var hints = []hint{
	{what: "line ends (CRLF against LF)", level: strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace},
	{what: "Unicode normalisation (composed against decomposed characters)", level: norm.NFC.String},
	{what: "white space, or where lines are wrapped", level: func(s string) string { return strings.Join(strings.Fields(s), " ") }},
	{what: "a date or time", volatile: true, level: replaceBy(dates, "\x00date")},
	{what: "a path of a machine (home, user or temporary folder)", volatile: true, level: replaceBy(places, "\x00path")},
	{what: "a random id", volatile: true, level: replaceBy(randoms, "\x00id")},
	{what: "the order of lines or members", level: sorted},
	{what: "how numbers are written in a locale (decimal comma or point, groups)", level: locale},
}

func replaceBy(re *regexp.Regexp, with string) func(string) string {
	return func(s string) string { return re.ReplaceAllLiteralString(s, with) }
}

// plainText takes a value that is a JSON string as the text it means.
func plainText(s string) string {
	var text string
	if strings.HasPrefix(s, `"`) && json.Unmarshal([]byte(s), &text) == nil {
		return text
	}
	return s
}

// sorted levels the order of what commas and line ends separate.
func sorted(s string) string {
	words := strings.FieldsFunc(s, func(c rune) bool { return strings.ContainsRune("\n,{}[] ", c) })
	slices.Sort(words)
	return strings.Join(words, "\n")
}

var localNumber = regexp.MustCompile(`\b\d{1,3}(?:[.,' \x{a0}\x{202f}]\d{3})*(?:[.,]\d+)?\b`)

// locale takes separators out of numbers.
func locale(s string) string {
	return localNumber.ReplaceAllStringFunc(s, strings.NewReplacer(".", "", ",", "", "'", "", " ", "", "\u00a0", "", "\u202f", "").Replace)
}

var lexeme = regexp.MustCompile(`-?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?`)

// whyNumber compares the texts number by number: the same value in another form,
// or an integer above 2^53 that went through a float64.
func whyNumber(a, b string) string {
	if lexeme.ReplaceAllLiteralString(a, "\x00") != lexeme.ReplaceAllLiteralString(b, "\x00") {
		return ""
	}
	x, y := lexeme.FindAllString(a, -1), lexeme.FindAllString(b, -1)
	if len(x) != len(y) { // a text holds the mark itself
		return ""
	}
	lost := false
	for i := range x {
		if x[i] == y[i] {
			continue
		}
		if len(x[i]) > 400 || len(y[i]) > 400 {
			return ""
		}
		p, okP := new(big.Rat).SetString(x[i])
		q, okQ := new(big.Rat).SetString(y[i])
		if !okP || !okQ {
			return ""
		}
		if p.Cmp(q) != 0 {
			f, _ := p.Float64()
			g, _ := q.Float64()
			if f != g {
				return ""
			}
			lost = true
		}
	}
	if lost {
		return "the two differ in nothing but digits beyond what a float64 holds (a number above 2^53)"
	}
	return "the two differ in nothing but the form of a number (25 against 25.0)"
}
