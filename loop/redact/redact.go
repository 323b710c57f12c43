package redact

import (
	"encoding/base64"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// MinSecret is the length in bytes from which an exact secret is looked for; a
// shorter one would wreck ordinary text.
const MinSecret = 8

// Redactor overwrites secrets. It is safe for concurrent use. The nil Redactor
// finds nothing.
type Redactor struct {
	mu      sync.Mutex
	needles atomic.Pointer[needles]
	count   atomic.Int64
}

// New returns a Redactor of known key shapes and the given exact secrets.
func New(secrets ...string) *Redactor {
	r := &Redactor{}
	for _, s := range secrets {
		r.Add(s)
	}
	return r
}

// Add declares one more exact secret. White space around it is no part of it; one
// that is shorter than MinSecret or no UTF-8 is passed over.
func (r *Redactor) Add(secret string) {
	secret = strings.TrimSpace(secret)
	if len(secret) < MinSecret || !utf8.ValidString(secret) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	if old := r.needles.Load(); old != nil {
		all = slices.Clone(old.all)
	}
	for _, s := range spellings(secret) {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	r.needles.Store(newNeedles(all))
}

// needles are every spelling of every exact secret, by their first two bytes: what
// tells most of a text quickly from them.
type needles struct {
	all   []string
	pairs pairSet
	by    map[[2]byte][]string
}

func newNeedles(all []string) *needles {
	n := &needles{all: all, by: map[[2]byte][]string{}}
	for _, s := range all {
		n.pairs.add(s)
		n.by[[2]byte{s[0], s[1]}] = append(n.by[[2]byte{s[0], s[1]}], s)
	}
	return n
}

// Count returns how many secrets were overwritten so far.
func (r *Redactor) Count() int {
	if r == nil {
		return 0
	}
	return int(r.count.Load())
}

// Bytes returns b with every secret overwritten, in its length: b itself when
// there is none, else a copy.
func (r *Redactor) Bytes(b []byte) []byte {
	if r == nil || len(b) < MinSecret {
		return b
	}
	if out, found := r.overwrite(string(b), nil); found {
		return out
	}
	return b
}

// Text is Bytes for strings.
func (r *Redactor) Text(s string) string { return r.Note(s, nil) }

// Note is Text that also counts into f, unless that is nil, what it overwrote.
func (r *Redactor) Note(s string, f *Found) string {
	if r == nil || len(s) < MinSecret {
		return s
	}
	if out, found := r.overwrite(s, f); found {
		return string(out)
	}
	return s
}

// Mask returns as many '*' as s has bytes: for a value that is secret by its place.
func Mask(s string) string { return strings.Repeat("*", len(s)) }

// span is a piece of text to overwrite.
type span struct {
	from, to int
	kind     string // how it was recognised
}

// overwrite looks until nothing is found any more: what one round overwrites may
// lay bare the beginning of another key. Every round leaves fewer other bytes
// than '*', so there is a last one.
func (r *Redactor) overwrite(s string, f *Found) (out []byte, found bool) {
	for {
		spans := r.find(s)
		if len(spans) == 0 {
			return out, found
		}
		out, found = []byte(s), true
		for _, sp := range spans {
			for i := sp.from; i < sp.to; i++ {
				out[i] = '*'
			}
		}
		r.count.Add(int64(len(spans)))
		f.add(spans)
		s = string(out)
	}
}

// find returns the spans of all secrets in s that are not overwritten yet. An
// exact secret that begins as a known shape keeps what its shape keeps, so that
// who knows the secret and who does not write the same.
func (r *Redactor) find(s string) []span {
	spans := findShapes(s)
	needles := r.needles.Load()
	if needles == nil {
		return spans
	}
	shapes := spans
	for i := 0; i+1 < len(s); i++ {
		if !needles.pairs.has(s[i], s[i+1]) {
			continue
		}
		for _, needle := range needles.by[[2]byte{s[i], s[i+1]}] {
			if !strings.HasPrefix(s[i:], needle) {
				continue
			}
			sp := span{i, i + len(needle), declared}
			sp.from += kept(s, sp, shapes)
			sp.from = escapeStart(s, sp.from)
			if strings.Trim(s[sp.from:sp.to], "*") != "" {
				spans = append(spans, sp)
			}
		}
	}
	return spans
}

// kept returns how many bytes of an exact secret's beginning stay since a shape
// that begins there keeps them.
func kept(s string, exact span, shapes []span) int {
	i, found := slices.BinarySearchFunc(shapes, exact.from, func(sh span, from int) int {
		return sh.from - prefixBefore(s, sh.from) - from
	})
	if !found || shapes[i].from >= exact.to {
		return 0
	}
	return shapes[i].from - exact.from
}

// escapeStart returns where the JSON escape begins that i lies within, or i: half
// an escape would leave JSON broken.
func escapeStart(s string, i int) int {
	for j := i - 1; j >= 0 && j >= i-5; j-- {
		if s[j] != '\\' {
			continue
		}
		run := 1
		for run <= j && s[j-run] == '\\' {
			run++
		}
		if run%2 == 1 && (j == i-1 || s[j+1] == 'u') {
			return j
		}
		return i
	}
	return i
}

// spellings returns the ways in which a secret may stand in a text.
func spellings(secret string) []string {
	json := escapeJSON(secret)
	all := []string{secret, json, escapeJSON(json), strings.ReplaceAll(secret, "/", `\/`), percent(secret, true), percent(secret, false)}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for lead := range 3 { // bytes before the secret in its group of three
			whole := enc.EncodeToString([]byte("\x00\x00"[:lead] + secret))
			// Characters that also carry bits of what stands before or after are left out.
			skip := []int{0, 2, 3}[lead]
			end := (lead + len(secret)) * 8 / 6
			all = append(all, whole[skip:end])
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) }) // whole ones before pieces
	return slices.Compact(all)
}

var jsonEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\r", `\r`)

func escapeJSON(s string) string { return jsonEscapes.Replace(s) }

// percent encodes all but unreserved characters (RFC 3986).
func percent(s string, upper bool) string {
	digits := "0123456789abcdef"
	if upper {
		digits = "0123456789ABCDEF"
	}
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; is(c, alnum|dash) || c == '.' || c == '~' {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
	}
	return b.String()
}
