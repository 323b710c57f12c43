package repair

import (
	"errors"
	"strings"
)

// str reads a string in either kind of quotes and writes it as JSON has it. What
// follows a string must be what can follow one: an apostrophe that ended a string
// too early is found there, and nothing is guessed.
func (r *reader) str() error {
	quote := r.text[r.at]
	if quote == '\'' {
		r.did[quotes]++
	}
	r.at++
	r.out.WriteByte('"')
	for r.at < len(r.text) {
		switch c := r.text[r.at]; {
		case c == quote:
			r.at++
			r.out.WriteByte('"')
			return nil
		case c == '\\':
			if err := r.escape(); err != nil {
				return err
			}
		case c == '"': // within single quotes
			r.out.WriteString(`\"`)
			r.at++
		case c < 0x20:
			r.control(c)
		default:
			n := strings.IndexFunc(r.text[r.at+1:], func(c rune) bool { return c < 0x20 || c == '\\' || c == '"' || c == '\'' })
			if n < 0 {
				n = len(r.text) - r.at - 1
			}
			r.out.WriteString(r.text[r.at : r.at+1+n])
			r.at += 1 + n
		}
	}
	return r.brokenOff()
}

// escape copies an escape sequence. \' is what single quotes need, and no JSON.
func (r *reader) escape() error {
	if r.at+1 == len(r.text) {
		r.at++ // half an escape is lost with what followed it
		return nil
	}
	switch c := r.text[r.at+1]; {
	case c == '\'':
		r.did[escapes]++
		r.out.WriteByte('\'')
	case strings.IndexByte(`"\/bfnrtu`, c) >= 0:
		r.out.WriteString(r.text[r.at : r.at+2])
	default:
		return r.unexpected()
	}
	r.at += 2
	return nil
}

// control writes a bare control character as an escape: models break lines inside
// of strings.
func (r *reader) control(c byte) {
	const hex = "0123456789abcdef"
	r.did[controls]++
	r.at++
	switch c {
	case '\n':
		r.out.WriteString(`\n`)
	case '\r':
		r.out.WriteString(`\r`)
	case '\t':
		r.out.WriteString(`\t`)
	default:
		r.out.WriteString(`\u00`)
		r.out.WriteByte(hex[c>>4])
		r.out.WriteByte(hex[c&15])
	}
}

// brokenOff is the end of the text within a string.
func (r *reader) brokenOff() error {
	if !r.opts.Strings || r.opts.Cut {
		return errors.New("it breaks off within a string")
	}
	r.did[broken]++
	r.out.WriteByte('"')
	return nil
}
