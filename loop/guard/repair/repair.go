package repair

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of a text that is repaired.
const (
	MaxBytes = 1 << 20
	MaxDepth = 64
)

// Options say what may be closed.
type Options struct {
	// Cut says that the provider itself cut the answer off: nothing is closed then,
	// since nobody knows what is missing.
	Cut bool
	// Strings closes a string that breaks off, too.
	Strings bool
}

// Valid reports whether text is one JSON value, keys that appear twice allowed.
// Such a text is never repaired.
func Valid(text string) bool {
	return jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true))
}

// Object makes a JSON object of text and says what it did, such as "fence removed,
// 1 bracket closed". The error says why it did not, in a few words that depend on
// the text alone; a text that is JSON already is one.
func Object(text string, o Options) (fixed, done string, err error) {
	switch {
	case len(text) > MaxBytes:
		return "", "", fmt.Errorf("longer than %d bytes", MaxBytes)
	case Valid(text):
		return "", "", errors.New("is JSON already")
	}
	r := &reader{opts: o}
	r.text = r.unwrap(text)
	if !strings.HasPrefix(r.text, "{") {
		return "", "", errors.New("no object in it, or a list round it")
	}
	r.out.Grow(len(r.text) + 8)
	if err := r.object(); err != nil {
		return "", "", err
	}
	if err := r.rest(); err != nil {
		return "", "", err
	}
	fixed = r.out.String()
	if !jsontext.Value(fixed).IsValid() { // a key that appears twice, an escape that is none
		return "", "", errors.New("not JSON for another reason")
	}
	return fixed, r.report(), nil
}

// reader is one pass over a text.
type reader struct {
	opts  Options
	text  string
	at    int
	out   strings.Builder
	stack []byte // the brackets that are open: } or ]
	did   [fixes]int
}

// What can be repaired, in the order of a report.
const (
	fence = iota
	before
	after
	commas
	quotes
	controls
	escapes
	words
	broken
	closed
	extra
	fixes
)

// report says what was done.
func (r *reader) report() string {
	var all []string
	for i, n := range r.did {
		what := [fixes]string{"fence removed", "text before the object dropped", "text after the object dropped",
			"%d trailing comma%s dropped", "%d string%s in single quotes rewritten", "%d control character%s escaped",
			"%d escape%s rewritten", "%d word%s of Python rewritten", "%d string%s closed", "%d bracket%s closed", "%d bracket%s too many dropped"}[i]
		switch {
		case n == 0:
		case !strings.Contains(what, "%"):
			all = append(all, what)
		default:
			all = append(all, fmt.Sprintf(what, n, strings.Repeat("s", min(n-1, 1))))
		}
	}
	return strings.Join(all, ", ")
}

// unwrap cuts away what stands before the object.
func (r *reader) unwrap(text string) string {
	text = strings.TrimLeft(text, blanks)
	i := strings.IndexByte(text, '{')
	if i <= 0 {
		return text
	}
	lead := text[:i]
	if strings.Contains(lead, "[") {
		return lead
	}
	if at := strings.Index(lead, "```"); at >= 0 {
		r.did[fence]++
		info, _, _ := strings.Cut(lead[at+3:], "\n") // the language
		lead = lead[:at] + lead[at+3+len(info):]
	}
	if strings.Trim(lead, blanks) != "" {
		r.did[before]++
	}
	return text[i:]
}

const blanks = " \t\r\n"

// rest looks at what follows the object. Another object or list there is no
// remark: dropping it would change what was said.
func (r *reader) rest() error {
	tail := r.text[r.at:]
	if strings.ContainsAny(tail, "{[") {
		return errors.New("more than one object in it")
	}
	var b strings.Builder
	if at := strings.Index(tail, "```"); at >= 0 {
		if r.did[fence] == 0 {
			r.did[fence]++
		}
		tail = tail[:at] + tail[at+3:]
	}
	for i := range len(tail) {
		if c := tail[i]; c == '}' || c == ']' {
			r.did[extra]++
		} else {
			b.WriteByte(c)
		}
	}
	if strings.Trim(b.String(), blanks) != "" {
		r.did[after]++
	}
	return nil
}

func (r *reader) blank() {
	for r.at < len(r.text) && strings.IndexByte(blanks, r.text[r.at]) >= 0 {
		r.at++
	}
}

// next is the next byte that is not blank; 0 at the end.
func (r *reader) next() byte {
	r.blank()
	if r.at == len(r.text) {
		return 0
	}
	return r.text[r.at]
}

func (r *reader) unexpected() error {
	if r.at >= len(r.text) {
		return errors.New("it breaks off")
	}
	return fmt.Errorf("something unexpected in it (byte %d of the object)", r.at)
}

// object reads from the first bracket to the one that closes it, or to the end of
// the text.
func (r *reader) object() error {
	for {
		if err := r.value(); err != nil {
			return err
		}
		done, err := r.follow()
		if done || err != nil {
			return err
		}
	}
}

// value reads one value, or the opening bracket of one with the first key of an
// object.
func (r *reader) value() error {
	switch c := r.next(); c {
	case '{', '[':
		if len(r.stack) == MaxDepth {
			return fmt.Errorf("nested deeper than %d levels", MaxDepth)
		}
		r.at++
		r.out.WriteByte(c)
		r.stack = append(r.stack, c+2) // } and ] stand two after their partners
		return r.begin()
	case '"', '\'':
		return r.str()
	default:
		return r.plain()
	}
}

// begin reads what comes after an opening bracket: the first member, or nothing.
func (r *reader) begin() error {
	if c := r.next(); c == '}' || c == ']' || c == 0 {
		return nil
	}
	if err := r.key(); err != nil {
		return err
	}
	return r.value()
}

// follow reads what stands after a value: closing brackets, or a comma before the
// next element. done says that the outermost bracket is closed.
func (r *reader) follow() (done bool, err error) {
	for {
		switch c := r.next(); c {
		case 0:
			return true, r.closeAll()
		case '}', ']':
			if err := r.closeTo(c); err != nil {
				return false, err
			}
			if len(r.stack) == 0 {
				return true, nil
			}
		case ',':
			r.at++
			if c := r.next(); c == '}' || c == ']' || c == 0 {
				r.did[commas]++
				continue
			}
			r.out.WriteByte(',')
			return false, r.key()
		default:
			return false, r.unexpected()
		}
	}
}

// key reads the key of a member, where the open bracket is an object's.
func (r *reader) key() error {
	if r.stack[len(r.stack)-1] == ']' {
		return nil
	}
	if c := r.next(); c != '"' && c != '\'' {
		return r.unexpected()
	}
	if err := r.str(); err != nil {
		return err
	}
	if r.next() != ':' {
		return r.unexpected()
	}
	r.at++
	r.out.WriteByte(':')
	return nil
}

// closeTo closes the bracket that c closes, and those inside it that are still
// open.
func (r *reader) closeTo(c byte) error {
	for n := len(r.stack); n > 0; n-- {
		top := r.stack[n-1]
		r.stack = r.stack[:n-1]
		r.out.WriteByte(top)
		if top == c {
			r.at++
			return nil
		}
		if r.opts.Cut {
			return r.unexpected()
		}
		r.did[closed]++
	}
	return r.unexpected()
}

// closeAll closes what is open at the end of the text.
func (r *reader) closeAll() error {
	if r.opts.Cut {
		return errors.New("the answer was cut off")
	}
	for n := len(r.stack); n > 0; n-- {
		r.out.WriteByte(r.stack[n-1])
		r.did[closed]++
	}
	r.stack = nil
	return nil
}

// plain reads a number or a word.
func (r *reader) plain() error {
	from := r.at
	for r.at < len(r.text) && strings.IndexByte(blanks+",:]}[{\"'`", r.text[r.at]) < 0 {
		r.at++
	}
	word := r.text[from:r.at]
	switch word {
	case "":
		return r.unexpected()
	case "True", "False":
		r.did[words]++
		word = strings.ToLower(word)
	case "None":
		r.did[words]++
		word = "null"
	default:
		if !jsontext.Value(word).IsValid() {
			r.at = from
			return r.unexpected()
		}
	}
	r.out.WriteString(word)
	return nil
}
