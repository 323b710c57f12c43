package redact

import "strings"

// Classes of bytes.
const (
	upper = 1 << iota
	lower
	digit
	dash  // - and _
	token // what a bearer token may hold besides (RFC 6750: . ~ + / =)
	alnum = upper | lower | digit
	word  = alnum | dash
)

var classes = func() (t [256]uint8) {
	for c := 'A'; c <= 'Z'; c++ {
		t[c] |= upper
	}
	for c := 'a'; c <= 'z'; c++ {
		t[c] |= lower
	}
	for c := '0'; c <= '9'; c++ {
		t[c] |= digit
	}
	t['-'] |= dash
	t['_'] |= dash
	for _, c := range ".~+/=" {
		t[c] |= token
	}
	return t
}()

func is(c byte, class uint8) bool { return classes[c]&class != 0 }

// shape is a kind of key. A match begins with prefix at the beginning of a word,
// goes on over all bytes of class, and has at least min of these.
type shape struct {
	prefix string
	class  uint8
	min    int
	fit    func(run string) int // how much of the run is a key, 0 = it is none; nil: see pem
}

// shapes are tried in order, so a longer prefix stands before a shorter one.
// Samples of each are in the tests.
var shapes = []shape{
	{"sk-ant-", word, 20, mixed},   // Anthropic
	{"sk-", word, 20, mixed},       // OpenAI (also sk-proj-, sk-svcacct-), OpenRouter (sk-or-v1-), DeepSeek and others
	{"sk_live_", alnum, 20, mixed}, // Stripe
	{"rk_live_", alnum, 20, mixed},
	{"AIza", word, 35, mixed},            // Google
	{"AKIA", upper | digit, 16, exact16}, // AWS key ids
	{"ASIA", upper | digit, 16, exact16},
	{"github_pat_", word, 40, mixed},
	{"ghp_", alnum, 36, mixed}, {"gho_", alnum, 36, mixed}, {"ghu_", alnum, 36, mixed}, {"ghs_", alnum, 36, mixed}, {"ghr_", alnum, 36, mixed},
	{"glpat-", word, 20, mixed},                                                                                    // GitLab
	{"gsk_", alnum, 40, mixed},                                                                                     // Groq
	{"xai-", alnum, 40, mixed},                                                                                     // xAI
	{"hf_", alnum, 30, mixed},                                                                                      // Hugging Face
	{"nvapi-", word, 40, mixed},                                                                                    // NVIDIA
	{"xoxa-", word, 20, mixed}, {"xoxb-", word, 20, mixed}, {"xoxe-", word, 20, mixed}, {"xoxo-", word, 20, mixed}, // Slack
	{"xoxp-", word, 20, mixed}, {"xoxr-", word, 20, mixed}, {"xoxs-", word, 20, mixed}, {"xapp-", word, 20, mixed},
	{"eyJ", word | token, 40, jwt},
	{"Bearer ", word | token, 20, mixed}, {"bearer ", word | token, 20, mixed}, // RFC 6750; prose has no digit there
	{"-----BEGIN ", 0, 0, nil}, // PEM private keys, see pem
}

// pairs has a bit for every two bytes that a prefix begins with: what tells most
// of a text quickly from keys.
var pairs = func() *pairSet {
	t := &pairSet{}
	for _, s := range shapes {
		t.add(s.prefix)
	}
	return t
}()

// pairSet has a bit for every two bytes.
type pairSet [256][4]uint64

func (t *pairSet) add(s string) { t[s[0]][s[1]>>6] |= 1 << (s[1] & 63) }

func (t *pairSet) has(a, b byte) bool { return t[a][b>>6]>>(b&63)&1 != 0 }

// piece are the bytes that keys and their prefixes are made of. Every key has at
// least minKey of these in a row, the first line of a private one a row that ends
// in pemHead. So a text is probed at every len(pemHead)-th byte, and read only
// around rows that are as long.
const (
	piece   = word | token
	minKey  = 20
	pemHead = "-----BEGIN"
	ahead   = len("Bearer ") // how far before its row a key may begin: its prefix ends it
)

// findShapes returns the spans to overwrite, in order. What stays readable is
// the prefix.
func findShapes(s string) (spans []span) {
	done := 0 // what begins before was looked at
	for probe := len(pemHead) - 1; probe < len(s); probe += len(pemHead) {
		if !is(s[probe], piece) {
			continue
		}
		from, to := probe, probe+1
		for from > done && is(s[from-1], piece) {
			from--
		}
		for to < len(s) && is(s[to], piece) {
			to++
		}
		probe = to
		if to-from < minKey && !strings.HasSuffix(s[from:to], pemHead) {
			continue
		}
		i := max(done, from-ahead)
		for ; i < to && i+1 < len(s); i++ {
			if !pairs.has(s[i], s[i+1]) || !wordStart(s, i) {
				continue
			}
			if sp, ok := shapeAt(s, i); ok {
				spans = append(spans, sp)
				i = sp.to - 1
			}
		}
		if done = i; done > to {
			probe = done - 1
		}
	}
	return spans
}

// shapeAt returns what to overwrite of the key that begins at i, if one does.
func shapeAt(s string, i int) (span, bool) {
	for k := range shapes {
		sh := &shapes[k]
		if s[i] != sh.prefix[0] || !strings.HasPrefix(s[i:], sh.prefix) {
			continue
		}
		from := i + len(sh.prefix)
		skip, n := 0, 0
		if sh.fit == nil {
			skip, n = pem(s[from:])
		} else {
			n = sh.match(s[from:])
		}
		if n > 0 {
			return span{from + skip, from + skip + n, sh.prefix}, true
		}
	}
	return span{}, false
}

func (sh *shape) match(rest string) int {
	n := 0
	for n < len(rest) && is(rest[n], sh.class) {
		n++
	}
	if n < sh.min {
		return 0
	}
	return sh.fit(rest[:n])
}

// prefixBefore returns the length of the shape's prefix that ends at i.
func prefixBefore(s string, i int) int {
	for k := range shapes {
		if p := shapes[k].prefix; strings.HasSuffix(s[:i], p) {
			return len(p)
		}
	}
	return 0
}

// wordStart reports whether a word may begin at i: nothing of a word stands
// before, or what stands before is an escape of JSON or percent-encoding.
func wordStart(s string, i int) bool {
	if i == 0 || !is(s[i-1], word) {
		return true
	}
	switch {
	case i >= 2 && s[i-2] == '\\':
		return strings.IndexByte("nrtbf", s[i-1]) >= 0
	case i >= 3 && s[i-3] == '%':
		return hex(s[i-2]) && hex(s[i-1])
	case i >= 6 && s[i-6] == '\\' && s[i-5] == 'u':
		return hex(s[i-4]) && hex(s[i-3]) && hex(s[i-2]) && hex(s[i-1])
	}
	return false
}

func hex(c byte) bool { return is(c, digit) || c|0x20 >= 'a' && c|0x20 <= 'f' }

// mixed takes a run that looks drawn: letters and a digit, and capitals or 16
// letters and digits in one piece. Names in kebab-case-with-1-digit are not.
func mixed(run string) int {
	var letter, num, capital bool
	piece, longest := 0, 0
	for i := range len(run) {
		c := run[i]
		letter, num, capital = letter || is(c, upper|lower), num || is(c, digit), capital || is(c, upper)
		if is(c, alnum) {
			piece++
			longest = max(longest, piece)
		} else {
			piece = 0
		}
	}
	if letter && num && (capital || longest >= 16) {
		return len(run)
	}
	return 0
}

// exact16 takes a run of just 16.
func exact16(run string) int {
	if len(run) != 16 {
		return 0
	}
	return 16
}

// jwt takes header.payload.signature, the payload an object too ("eyJ" is the
// base64 of `{"`).
func jwt(run string) int {
	header, rest, ok := strings.Cut(run, ".")
	payload, rest, ok2 := strings.Cut(rest, ".")
	if !ok || !ok2 || len(header) < 10 || len(payload) < 10 || !strings.HasPrefix(payload, "eyJ") || len(rest) < 10 {
		return 0
	}
	return len(run)
}

// pem takes what stands between the lines of a private key, given what follows
// "-----BEGIN ". A quote ends a JSON string, so it is no part of a key.
func pem(rest string) (skip, n int) {
	const most, mark = 32 << 10, "PRIVATE KEY-----"
	i := strings.Index(rest[:min(len(rest), 40)], mark)
	if i < 0 {
		return 0, 0
	}
	skip = i + len(mark)
	n = strings.Index(rest[skip:min(len(rest), skip+most)], "-----END")
	if n <= 0 || strings.IndexByte(rest[skip:skip+n], '"') >= 0 || strings.Trim(rest[skip:skip+n], "*") == "" {
		return 0, 0
	}
	return skip, n
}
