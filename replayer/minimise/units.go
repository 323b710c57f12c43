package minimise

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer/internal/patch"
)

// unit is something that can be taken away or replaced.
type unit struct {
	place
	text string
	path string // of a file of the initial tree
}

// Kinds of units.
const (
	fileUnits = iota // files of the initial tree
	textUnits        // texts, and contents of files
	argUnits         // arguments of calls
)

// shortText is the length in bytes up to which a text is not worth a try.
const shortText = 16

// units lists what can be changed in the lines that are kept.
func (d *draft) units(kind int) (out []unit) {
	for _, l := range d.lines[:min(len(d.lines), d.count())] {
		if d.end > 0 && l.No > d.end {
			break
		}
		add := func(pointer, text, path string) {
			if kind != textUnits || len(text) > shortText || isFile(pointer) && len(text) > 0 {
				out = append(out, unit{place{l.No, pointer}, text, path})
			}
		}
		switch {
		case l.Type == session.TypeHeader && kind != argUnits:
			d.files(l, kind, add)
		case l.Type == session.TypePart && kind == textUnits:
			partTexts(l, add)
		case l.Type == session.TypeResponse, l.Type == session.TypeAttempt:
			answerTexts(l, kind, add)
		case l.Type == session.TypeToolResult && kind == textUnits:
			resultTexts(l, add)
		}
	}
	return out
}

// isFile reports whether a pointer is that of a whole file or change.
func isFile(pointer string) bool {
	return (strings.HasPrefix(pointer, "/tree/") || strings.HasPrefix(pointer, "/delta/")) && strings.Count(pointer, "/") == 2
}

func (d *draft) files(l *session.Line, kind int, add func(pointer, text, path string)) {
	h, err := l.Header()
	if err != nil {
		return
	}
	for i, f := range h.Tree {
		switch {
		case kind == fileUnits:
			add(fmt.Sprintf("/tree/%d", i), "", f.Path)
		case d.gone[f.Path]:
		case f.Content != nil:
			add(fmt.Sprintf("/tree/%d", i), string(f.Content), f.Path)
		default:
			if b, err := d.blobs.Get(f.Digest, f.Size); err == nil {
				add(fmt.Sprintf("/tree/%d", i), string(b), f.Path)
			}
		}
	}
}

// partTexts are the texts of parts that the loop was given.
func partTexts(l *session.Line, add func(pointer, text, path string)) {
	p, err := l.Part()
	if err != nil || p.Why == "feedback" || p.Why == session.WhyRewrite {
		return // the loop makes these
	}
	body := jsontext.Value(p.Body)
	_ = patch.Members(body, func(key string, v jsontext.Value) error {
		switch key {
		case "description":
			if s, err := jsontext.AppendUnquote(nil, v); err == nil {
				add("/body/description", string(s), "")
			}
		case "content":
			i := 0
			return patch.Elements(v, func(item jsontext.Value) error {
				at := fmt.Sprintf("/body/content/%d/text", i)
				i++
				return patch.Members(item, func(key string, v jsontext.Value) error {
					if key == "text" {
						s, err := jsontext.AppendUnquote(nil, v)
						if err != nil {
							return err
						}
						add(at, string(s), "")
					}
					return nil
				})
			})
		}
		return nil
	})
}

func answerTexts(l *session.Line, kind int, add func(pointer, text, path string)) {
	items, ok := l.Field("items")
	if ok {
		i := 0
		_ = patch.Elements(items, func(item jsontext.Value) error {
			at := fmt.Sprintf("/items/%d/", i)
			i++
			return patch.Members(item, func(key string, v jsontext.Value) error {
				if s, err := jsontext.AppendUnquote(nil, v); err == nil && (key == "text" && kind == textUnits || key == "args" && kind == argUnits) {
					add(at+key, string(s), "")
				}
				return nil
			})
		})
	}
	if a, err := l.Attempt(); l.Type == session.TypeAttempt && kind == textUnits && err == nil && a.Err != nil {
		add("/error/message", a.Err.Message, "")
	}
}

func resultTexts(l *session.Line, add func(pointer, text, path string)) {
	r, err := l.ToolResult()
	if err != nil {
		return
	}
	add("/text", r.Text, "")
	for i := range r.Delta {
		switch c := &r.Delta[i]; {
		case c.Inline:
			add(fmt.Sprintf("/delta/%d", i), string(c.Data), c.Path)
		case !c.Blob.IsZero():
			add(fmt.Sprintf("/delta/%d", i), strings.Repeat("x", int(min(c.Size, 1<<20))), c.Path)
		}
	}
}

// short is a text of a few letters: equal texts become equal ones, and different
// texts stay different, since guards look at no more than that.
func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}

// sameLength is a text of the same length in bytes, with the same digits,
// punctuation and white space turned into the same kind, that says nothing of
// what stood there. Equal texts become equal ones.
func sameLength(text string) string {
	sum := sha256.Sum256([]byte(text))
	var b strings.Builder
	b.Grow(len(text))
	n := 0
	for i, r := range text {
		size := utf8.RuneLen(r)
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd") {
			size = 1
		}
		pick := sum[n%len(sum)]
		n++
		switch {
		case size > 1:
			b.WriteString(strings.Repeat("x", size))
		case unicode.IsDigit(r):
			b.WriteByte('0' + pick%10)
		case unicode.IsUpper(r):
			b.WriteByte('A' + pick%26)
		case unicode.IsLetter(r):
			b.WriteByte('a' + pick%26)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
