package tape

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// pieced are the members that hold pieces of a text in the events of a stream.
var pieced = []string{"content", "text", "arguments", "partial_json", "delta", "thinking", "reasoning", "reasoning_content", "refusal", "input"}

// numbered are the members that say to which text of an answer an event belongs.
var numbered = []string{"index", "output_index", "content_index", "summary_index"}

// piece is where a string's content stands in a body, without the quotes.
type piece struct{ from, to int }

// hideAcross redacts texts that a stream sends in pieces: a model writes a key as it
// writes everything, some letters an event. Each piece keeps its length. The body
// is changed in place and must be the caller's own.
func (rec *Recorder) hideAcross(body []byte) {
	texts := map[string][]piece{}
	for at := 0; at < len(body); {
		end := bytes.IndexAny(body[at:], "\r\n")
		if end < 0 {
			end = len(body) - at
		}
		line := body[at : at+end]
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			collect(texts, data, at+len("data:"))
		}
		at += end + 1
	}
	for _, list := range texts {
		if len(list) > 1 {
			rec.hidePieces(body, list)
		}
	}
}

// hidePieces redacts one text.
func (rec *Recorder) hidePieces(body []byte, list []piece) {
	var whole []byte
	for _, p := range list {
		whole = append(whole, body[p.from:p.to]...)
	}
	clear := rec.hide(whole)
	if bytes.Equal(clear, whole) {
		return
	}
	for _, p := range list {
		n := copy(body[p.from:p.to], clear)
		clear = clear[n:]
	}
}

// collect adds the pieces of one event; base is where its JSON begins in the body.
// What is no JSON has none.
func collect(texts map[string][]piece, data []byte, base int) {
	dec := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	type found struct {
		place string
		piece
	}
	var all []found
	var numbers strings.Builder
	for name := ""; ; {
		tok, err := dec.ReadToken()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return
			}
			break
		}
		kind, length := dec.StackIndex(dec.StackDepth())
		isName := kind == '{' && length%2 == 1 && tok.Kind() == '"'
		switch {
		case isName:
			name = tok.String()
		case tok.Kind() == '"' && slices.Contains(pieced, name):
			end := int(dec.InputOffset())
			from := end - 1
			for from--; from >= 0 && !opens(data, from); from-- {
			}
			all = append(all, found{string(dec.StackPointer()), piece{base + from + 1, base + end - 1}})
		case tok.Kind() == '0' && slices.Contains(numbered, name):
			numbers.WriteString(tok.String() + " ")
		}
	}
	for _, f := range all {
		place := f.place + " " + numbers.String()
		texts[place] = append(texts[place], f.piece)
	}
}

// opens reports whether a quote that is not escaped stands at i.
func opens(data []byte, i int) bool {
	if data[i] != '"' {
		return false
	}
	n := 0
	for i-1-n >= 0 && data[i-1-n] == '\\' {
		n++
	}
	return n%2 == 0
}
