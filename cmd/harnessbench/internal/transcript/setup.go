package transcript

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/recorder/session"
)

// maxChanges bounds how many differing values of the headers are listed.
const maxChanges = 200

// setup compares two headers, annotations left out.
func (c *Comparison) setup(a, b *session.Line) {
	values := [2]map[string][]byte{{}, {}}
	var order []string
	for i, l := range []*session.Line{a, b} {
		if l == nil {
			continue
		}
		l.Keys(func(key string, value []byte) {
			if key == "labels" || key == "config_digest" {
				return
			}
			if i == 0 || values[0][key] == nil {
				order = append(order, key)
			}
			values[i][key] = value
		})
	}
	for _, key := range order {
		c.changed("/"+key, values[0][key], values[1][key])
	}
}

// changed lists where two values differ, as deep as both are objects, or arrays
// of equal length.
func (c *Comparison) changed(pointer string, a, b []byte) {
	if bytes.Equal(a, b) || len(c.Setup) >= maxChanges {
		return
	}
	var ma, mb []member
	if len(a) <= maxSplit && len(b) <= maxSplit {
		ma, mb = parts(a), parts(b)
	}
	if ma == nil || mb == nil || a[0] != b[0] || a[0] == '[' && len(ma) != len(mb) {
		c.Setup = append(c.Setup, Change{pointer, excerpt(a, 0), excerpt(b, 0)})
		return
	}
	inA, inB := byKey(ma), byKey(mb)
	for _, m := range ma {
		c.changed(pointer+"/"+m.key, m.value, inB[m.key])
	}
	for _, m := range mb {
		if inA[m.key] == nil {
			c.changed(pointer+"/"+m.key, nil, m.value)
		}
	}
}

type member struct {
	key   string
	value []byte
}

func byKey(list []member) map[string][]byte {
	m := make(map[string][]byte, len(list))
	for _, x := range list {
		m[x.key] = x.value
	}
	return m
}

// maxSplit bounds, in bytes, a value that is split: a larger one differs as a
// whole.
const maxSplit = 1 << 20

// parts splits an object or array; nil for other values.
func parts(v []byte) []member {
	if len(v) == 0 || v[0] != '{' && v[0] != '[' {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	if _, err := dec.ReadToken(); err != nil {
		return nil
	}
	out := []member{}
	for i := 0; dec.PeekKind() != '}' && dec.PeekKind() != ']'; i++ {
		key := strconv.Itoa(i)
		if v[0] == '{' {
			tok, err := dec.ReadToken()
			if err != nil {
				return nil
			}
			key = strings.NewReplacer("~", "~0", "/", "~1").Replace(tok.String())
		}
		value, err := dec.ReadValue()
		if err != nil {
			return nil
		}
		out = append(out, member{key, value.Clone()})
	}
	return out
}
