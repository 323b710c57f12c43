package canon

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// spelling is one way in which a directory may stand in a text.
type spelling struct {
	name string // of the normaliser
	text string
	sep  string // between names of a path in this spelling; "" = all of it is one name
	core string // letters and digits of the text; a text without these has none of its directory's spellings
}

// spellingsOf returns the ways in which a directory may stand in a text: as it
// is, JSON-escaped once or twice, percent-encoded, in file URLs, and, if asked
// for, as one name.
func spellingsOf(name, dir string, dash bool) ([]spelling, error) {
	windows := len(dir) > 2 && dir[1] == ':' && (dir[2] == '\\' || dir[2] == '/')
	switch trimmed := strings.TrimRight(dir, `/\`); {
	case dir == "":
		return nil, errors.New("the directory is not known here")
	case !windows && dir[0] != '/':
		return nil, errors.New("the directory is not absolute")
	case trimmed == "", windows && len(trimmed) < 3:
		return nil, errors.New("the directory is the root of all files, which every path begins with")
	default:
		dir = trimmed
	}
	var out []spelling
	for _, d := range twins(dir) {
		slash, core := d, coreOf(d)
		add := func(text, sep string) {
			if s := (spelling{name, text, sep, core}); !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
		if windows {
			slash = strings.ReplaceAll(d, `\`, `/`)
			for _, sep := range []string{`\`, `\\`, `\\\\`} {
				add(strings.ReplaceAll(slash, "/", sep), sep)
			}
		}
		add(slash, "/")
		add(strings.ReplaceAll(slash, "/", `\/`), `\/`)
		add(percent(slash, "/:", "0123456789ABCDEF"), "/") // of a file URL
		add(percent(slash, "", "0123456789ABCDEF"), "%2F")
		add(percent(slash, "", "0123456789abcdef"), "%2f")
		if dash {
			add(dashed(d), "")
		}
	}
	return out, nil
}

// coreOf returns the longest run of ASCII letters and digits: every spelling
// keeps it.
func coreOf(dir string) (core string) {
	for run := range strings.FieldsFuncSeq(dir, func(r rune) bool { return !isAlnum(r) }) {
		if len(run) > len(core) {
			core = run
		}
	}
	return core
}

// dashed writes a path as one name, as agents do that keep a folder for each
// directory they worked in. They are JavaScript, which sees two characters beyond
// U+FFFF.
func dashed(dir string) string {
	var b strings.Builder
	for _, r := range dir {
		switch {
		case isAlnum(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			b.WriteString("--")
		default:
			b.WriteByte('-')
		}
	}
	return b.String()
}

func isAlnum(r rune) bool { return r < utf8.RuneSelf && r != '_' && isWord(byte(r)) }

// twins returns a directory and its other name on macOS, where /tmp, /var and
// /etc are links into /private.
func twins(dir string) []string {
	if rest, ok := strings.CutPrefix(dir, "/private"); ok && strings.HasPrefix(rest, "/") {
		return []string{dir, rest}
	}
	for _, link := range []string{"/tmp", "/var", "/etc"} {
		if dir == link || strings.HasPrefix(dir, link+"/") {
			return []string{dir, "/private" + dir}
		}
	}
	return []string{dir}
}

// percent encodes all but unreserved characters (RFC 3986) and those of keep.
func percent(s, keep, digits string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; isWord(c) || strings.IndexByte("-.~", c) >= 0 || strings.IndexByte(keep, c) >= 0 {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}

// findPaths finds directories at path boundaries; of several at one place the
// longest, of equal ones cwd before home before tmp.
func findPaths(s string, list []spelling) []strike {
	type hit struct {
		at int
		sp *spelling
	}
	var hits []hit
	core, there := "", true
	for i := range list {
		sp := &list[i]
		if sp.core != core {
			core, there = sp.core, strings.Contains(s, sp.core)
		}
		for at := 0; there; {
			k := strings.Index(s[at:], sp.text)
			if k < 0 {
				break
			}
			at += k
			begins := pathBegins
			if sp.sep == "" {
				begins = nameBegins
			}
			if begins(s, at) && pathEnds(s[at+len(sp.text):]) {
				hits = append(hits, hit{at, sp})
			}
			at++
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(len(b.sp.text), len(a.sp.text)), strings.Compare(a.sp.name, b.sp.name))
	})
	var out []strike
	end := 0
	for _, h := range hits {
		if h.at < end {
			continue
		}
		end = h.at + len(h.sp.text)
		out = append(out, strike{h.at, end, "<" + h.sp.name + ">", h.sp.name})
		if h.sp.name == "tmp" {
			if from, to := randomName(s, end, h.sp.sep); from < to {
				out = append(out, strike{from, to, "<random>", ""})
				end = to
			}
		}
	}
	return out
}

// pathBegins reports whether an absolute path may begin at i, so that what stands
// there is not the rest of a longer path.
func pathBegins(s string, i int) bool {
	if i == 0 {
		return true
	}
	slash := s[i] == '/' || s[i] == '\\' || s[i] == '%'
	switch c := s[i-1]; {
	case c == '/':
		return hasSuffix(s[:i], "://", `:\/\/`) || !slash // file:///home, file:///C:/
	case c == '\\':
		return !slash // \\?\C:\
	case strings.IndexByte(")}]*~.", c) >= 0: // $(pwd)/data, ${DIR}/data, */data, ./data
		return false
	case c == '-': // the - of a diff's line, but not that of a-/data
		return i == 1 || !isWord(s[i-2])
	case c == ':': // C:/data is not /data
		return i < 2 || !slash || s[i-2] < 'A' || s[i-2] > 'Z' || i > 2 && isWord(s[i-3])
	case isWord(c):
		return escapeBefore(s, i, true) || // -I/usr/include
			i >= 2 && s[i-2] == '-' && (i == 2 || !isWord(s[i-3]) && s[i-3] != '-')
	case c >= utf8.RuneSelf:
		r, _ := utf8.DecodeLastRuneInString(s[:i])
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	}
	return true
}

// nameBegins reports whether a separator of a path stands before i.
func nameBegins(s string, i int) bool {
	return hasSuffix(s[:i], "/", `\`, "%2F", "%2f", "%5C", "%5c")
}

func hasSuffix(s string, suffixes ...string) bool {
	return slices.ContainsFunc(suffixes, func(x string) bool { return strings.HasSuffix(s, x) })
}

// pathEnds reports whether the last name of a path is over where rest begins.
func pathEnds(rest string) bool {
	if rest == "" {
		return true
	}
	c := rest[0]
	if c == '%' && len(rest) >= 3 && isHex(rest[1]) && isHex(rest[2]) {
		c = unhex(rest[1])<<4 | unhex(rest[2])
		return c < utf8.RuneSelf && c != ' ' && !isWord(c) && strings.IndexByte("-~+@.", c) < 0
	}
	switch {
	case c == '.': // the end of a sentence, but not of the name in /home/u.bak
		return len(rest) == 1 || !isWord(rest[1]) && rest[1] != '-'
	case isWord(c), strings.IndexByte("-~+@", c) >= 0:
		return false
	case c >= utf8.RuneSelf:
		r, _ := utf8.DecodeRuneInString(rest)
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	}
	return true
}

// escapeBefore reports whether the word character before i is the end of an
// escape that stands for something else: \n and \u000a of JSON within a text,
// %22 of a URL. A percent-encoded slash is one only if asked for.
func escapeBefore(s string, i int, notSlash bool) bool {
	switch {
	case i >= 2 && s[i-2] == '\\' && strings.IndexByte("nrtbf", s[i-1]) >= 0:
		return true
	case i >= 3 && s[i-3] == '%' && isHex(s[i-2]) && isHex(s[i-1]):
		c := unhex(s[i-2])<<4 | unhex(s[i-1])
		return c < utf8.RuneSelf && !isWord(c) && !(notSlash && strings.IndexByte("/.-~", c) >= 0)
	case i >= 6 && s[i-6] == '\\' && s[i-5] == 'u' && s[i-4] == '0' && s[i-3] == '0' && isHex(s[i-1]):
		return s[i-2] == '0' || s[i-2] == '1' || s[i-2] == '2' // controls, quotes, < and >
	}
	return false
}

// randomShapes are what makes a name below the directory for temporary files a
// random one; the first group is replaced.
var randomShapes = []struct {
	re    *regexp.Regexp
	mixed bool // only where it also looks drawn
}{
	{regexp.MustCompile(`^tmp([a-z0-9_]{8})$`), false}, // Python
	{regexp.MustCompile(`^(?:.*[^0-9a-f])?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16,})(?:\.[a-z0-9]{1,5})?$`), false},
	{regexp.MustCompile(`^(?:.*[._-])?([A-Za-z0-9]{10})$`), true},                   // mktemp
	{regexp.MustCompile(`^(?:.*[._-])([A-Za-z0-9]{6})(?:\.[a-z0-9]{1,5})?$`), true}, // mkdtemp
	{regexp.MustCompile(`^(?:.*[^0-9])?([0-9]{5,})(?:\.[a-z0-9]{1,5})?$`), false},   // Go, process ids
}

// randomName finds the random part of the name after a separator at i.
func randomName(s string, i int, sep string) (from, to int) {
	rest, ok := strings.CutPrefix(s[i:], sep)
	if !ok {
		return 0, 0
	}
	n := 0
	for n < len(rest) && n < 256 && (isWord(rest[n]) || rest[n] == '-' || rest[n] == '.') {
		n++
	}
	name := strings.TrimRight(rest[:n], ".")
	for _, shape := range randomShapes {
		at := shape.re.FindStringSubmatchIndex(name)
		if at == nil || shape.mixed && !drawn(name[at[2]:at[3]]) {
			continue
		}
		i += len(sep)
		return i + at[2], i + at[3]
	}
	return 0, 0
}

// drawn reports whether letters and digits look drawn: a digit among letters, or
// a capital after a small letter.
func drawn(s string) bool {
	var digit, lower, letter, turn bool
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digit = true
		case c >= 'a':
			lower, letter = true, true
		default:
			letter, turn = true, turn || lower
		}
	}
	return digit && letter || turn
}

func isWord(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_'
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
