package canon

import (
	"bytes"
	"regexp"

	"github.com/go-json-experiment/json/jsontext"
)

// byPlace are the places of a request whose texts are secrets whatever they look
// like: what maskCredentials overwrites.
var byPlace = regexp.MustCompile(`^/(tools|mcp_servers)/\d+/(authorization|authorization_token|headers/[^/]*)$`)

// MaskCredentials overwrites, in their length, the credentials for other servers in
// a body that is not made canonical: one that Parse refuses, or of a call that asks
// no model. It returns body itself where there are none. What follows broken JSON
// is not looked at. found, which may be nil, is told the name and value of each.
func MaskCredentials(body []byte, found func(name, value string)) []byte {
	if !bytes.Contains(body, []byte(`"authorization`)) && !bytes.Contains(body, []byte(`"headers"`)) {
		return body
	}
	var out []byte
	name := ""
	dec := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	for {
		tok, err := dec.ReadToken()
		if err != nil {
			break
		}
		kind, length := dec.StackIndex(dec.StackDepth())
		if tok.Kind() != '"' {
			continue
		}
		if kind == '{' && length%2 == 1 {
			name = tok.String()
			continue
		}
		if !byPlace.MatchString(string(dec.StackPointer())) {
			continue
		}
		if found != nil {
			found(name, tok.String())
		}
		if out == nil {
			out = bytes.Clone(body)
		}
		end := int(dec.InputOffset()) - 1 // of the text, before its quote
		for i := end - 1; i >= 0 && !(body[i] == '"' && !escaped(body, i)); i-- {
			out[i] = '*'
		}
	}
	if out == nil {
		return body
	}
	return out
}

// escaped reports whether an odd number of backslashes stands before i.
func escaped(b []byte, i int) bool {
	n := 0
	for i-1-n >= 0 && b[i-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}
