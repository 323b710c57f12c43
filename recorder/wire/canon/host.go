package canon

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// minWord is the length in bytes from which a fact of the host is looked for: the
// release 10, the version #1 and the host a are in every text.
const minWord = 4

// hostFinder finds what uname says of the host, where it stands as words of its
// own: between blanks, or joined by - as in Linux-6.1.0-x86_64.
func hostFinder(e Env) func(string) []strike {
	words := []string{e.Release, e.Version, e.Machine}
	short, _, _ := strings.Cut(e.Hostname, ".")
	for _, name := range []string{e.Hostname, short} {
		if properName(name) {
			words = append(words, name)
		}
	}
	words = slices.DeleteFunc(words, func(w string) bool { return len(w) < minWord })
	return func(s string) []strike { return findWords(s, "host", words) }
}

// properName tells a host's name from a word: a prompt that says ubuntu does not
// mean the machine of that name.
func properName(name string) bool {
	return strings.ContainsFunc(name, func(r rune) bool { return r < 'a' || r > 'z' })
}

// findWords finds words, of several at one place the longest.
func findWords(s, name string, words []string) (out []strike) {
	for _, w := range words {
		for at := 0; ; {
			k := strings.Index(s[at:], w)
			if k < 0 {
				break
			}
			from := at + k
			if at = from + 1; wordBegins(s, from) && wordEnds(s[from+len(w):]) {
				out = append(out, strike{from, from + len(w), "<" + name + ">", name})
			}
		}
	}
	slices.SortFunc(out, func(a, b strike) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	end := 0
	return slices.DeleteFunc(out, func(k strike) bool {
		if k.from < end {
			return true
		}
		end = k.to
		return false
	})
}

func wordBegins(s string, i int) bool {
	if i == 0 {
		return true
	}
	switch c := s[i-1]; {
	case c == '.': // 6.1.0 is no part of 2.6.1.0
		return i < 2 || !isWord(s[i-2])
	case isWord(c):
		return escapeBefore(s, i, false)
	case c >= utf8.RuneSelf:
		r, _ := utf8.DecodeLastRuneInString(s[:i])
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	}
	return true
}

func wordEnds(rest string) bool {
	switch {
	case rest == "":
	case rest[0] == '.':
		return len(rest) == 1 || !isWord(rest[1])
	case isWord(rest[0]):
		return false
	case rest[0] >= utf8.RuneSelf:
		r, _ := utf8.DecodeRuneInString(rest)
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	}
	return true
}
