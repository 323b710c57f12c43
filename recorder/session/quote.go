package session

import "github.com/harnessbench/harnessbench/loop/model"

// Args reads string members of canonical arguments without garbage. The zero
// Args is ready; it is reused from call to call.
type Args struct {
	s   scanner
	buf []byte
	ok  bool
}

// Load takes the arguments of a call; what is no JSON object has no members.
func (a *Args) Load(args string) {
	a.buf = append(a.buf[:0], args...)
	a.ok = a.s.scan(a.buf) == nil
}

// Text returns the text of a string member; ok is false when there is none of
// that name, or it is no string.
func (a *Args) Text(name string) (text string, ok bool) {
	if v := a.member(name); v != nil {
		s, err := unquote(v)
		return s, err == nil
	}
	return "", false
}

// member returns the raw value of a string member.
func (a *Args) member(name string) []byte {
	if !a.ok {
		return nil
	}
	for _, f := range a.s.top {
		if v := a.buf[f.vs:f.ve]; v[0] == '"' && string(a.buf[f.ks:f.ke]) == name {
			return v
		}
	}
	return nil
}

// Implies reports whether resources are what a tool.request line without that
// field says: the text of the string member "path", or none where there is no
// such member.
func (a *Args) Implies(resources []string) bool {
	v := a.member("path")
	if v == nil {
		return len(resources) == 0
	}
	return len(resources) == 1 && equalText(v, resources[0])
}

// minArg is the size from which a content is looked for in the arguments.
const minArg = 32

// Equal returns the name of the first string member whose text is content, or ""
// when there is none or content is short.
func (a *Args) Equal(content []byte) string {
	if !a.ok || len(content) < minArg || len(a.buf) < len(content)+2 {
		return ""
	}
	for _, f := range a.s.top {
		v := a.buf[f.vs:f.ve]
		if v[0] != '"' || len(v)-2 < len(content) || !equalText(v, string(content)) {
			continue
		}
		if name, err := unquote(a.buf[f.ks-1 : f.ke+1]); err == nil {
			return name
		}
	}
	return ""
}

// equalText reports whether the text of a JSON string is s.
func equalText(v []byte, s string) bool {
	body := v[1 : len(v)-1]
	if len(body) == len(s) {
		if string(body) == s {
			return model.PlainText(body, 0) == len(body)
		}
		return false // an escape is longer than what it stands for
	}
	if len(body) < len(s) {
		return false
	}
	text, err := unquote(v)
	return err == nil && text == s
}
