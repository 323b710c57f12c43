package session

import (
	"encoding/hex"
	"errors"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
)

// fieldDec decodes one field. The first error sticks.
type fieldDec struct{ err error }

func (d *fieldDec) fail(err error) {
	if d.err == nil && err != nil {
		d.err = err
	}
}

// pathError carries the dotted path of the field that is wrong.
type pathError struct {
	path string
	err  error
}

func (e *pathError) Error() string { return e.path + ": " + e.err.Error() }

// inField runs the decoders of one object's members; unknown members pass.
func inField(v []byte, fn func(d *fieldDec, key string, v []byte)) error {
	return members(v, func(key string, v []byte) error {
		var d fieldDec
		fn(&d, key, v)
		return atPath(key, d.err)
	})
}

// atPath puts key before the path of err.
func atPath(key string, err error) error {
	if err == nil {
		return nil
	}
	var p *pathError
	if errors.As(err, &p) {
		return &pathError{key + "." + p.path, p.err}
	}
	return &pathError{key, err}
}

// decode runs fn over the payload's fields of a line of type t.
func (l *Line) decode(t Type, fn func(d *fieldDec, key string, v []byte)) error {
	if l.Type != t {
		return l.decodeErr("t", "line is no %s", t)
	}
	for _, f := range l.fields[2 : len(l.fields)-1] {
		var d fieldDec
		key := l.Raw[f.ks:f.ke]
		fn(&d, string(key), l.Raw[f.vs:f.ve])
		if d.err != nil {
			return l.wrap(atPath(string(key), d.err))
		}
	}
	return nil
}

func (l *Line) wrap(err error) error {
	var p *pathError
	if errors.As(err, &p) {
		return &DecodeError{Line: l.No, Type: l.Type, Field: p.path, What: p.err.Error()}
	}
	return &DecodeError{Line: l.No, Type: l.Type, What: err.Error()}
}

func (d *fieldDec) str(v []byte) string {
	s, err := unquote(v)
	d.fail(err)
	return s
}

func (d *fieldDec) int(v []byte) int64 {
	n, ok := parseInt(v)
	if !ok {
		d.fail(errType("a 64-bit integer", v))
	}
	return n
}

// count reads an integer from 0 to 2^31-1.
func (d *fieldDec) count(v []byte) int {
	n := d.int(v)
	if n < 0 || n > 1<<31-1 {
		d.fail(errors.New("is not from 0 to 2147483647"))
		return 0
	}
	return int(n)
}

// size reads an integer that is not negative.
func (d *fieldDec) size(v []byte) int64 {
	n := d.int(v)
	if n < 0 {
		d.fail(errors.New("is negative"))
		return 0
	}
	return n
}

// maxMicros is the largest duration in microseconds that fits a Duration.
const maxMicros = int64((1<<63 - 1) / time.Microsecond)

func (d *fieldDec) micros(v []byte) time.Duration {
	n := d.int(v)
	if n < -maxMicros || n > maxMicros {
		d.fail(errors.New("is out of the range of durations"))
		return 0
	}
	return time.Duration(n) * time.Microsecond
}

func (d *fieldDec) bool(v []byte) bool {
	switch string(v) {
	case "true":
		return true
	case "false":
		return false
	}
	d.fail(errType("a truth value", v))
	return false
}

func (d *fieldDec) full(v []byte) model.Digest {
	s := d.str(v)
	if d.err != nil {
		return model.Digest{}
	}
	g, err := model.ParseDigest(s)
	d.fail(err)
	return g
}

func (d *fieldDec) short(v []byte) (s ShortDigest) {
	if len(v) != 34 || v[0] != '"' {
		d.fail(errors.New("is no digest of 32 hex digits"))
		return s
	}
	if _, err := hex.Decode(s[:], v[1:33]); err != nil {
		d.fail(errors.New("is no digest of 32 hex digits"))
		return ShortDigest{}
	}
	return s
}

func (d *fieldDec) shorts(v []byte) (out []ShortDigest) {
	d.fail(elements(v, func(_ int, v []byte) error {
		var e fieldDec
		out = append(out, e.short(v))
		return e.err
	}))
	return out
}

func (d *fieldDec) strs(v []byte) (out []string) {
	d.fail(elements(v, func(_ int, v []byte) error {
		s, err := unquote(v)
		out = append(out, s)
		return err
	}))
	return out
}

func (d *fieldDec) usage(v []byte) (u model.Usage) {
	if string(v) == "null" {
		return model.Usage{Unknown: true}
	}
	counts := [...]*int64{&u.InputUncached, &u.CacheRead, &u.CacheWrite, &u.Output, &u.Reasoning}
	d.fail(elements(v, func(i int, v []byte) error {
		if i >= len(counts) {
			return nil // a later version's
		}
		var e fieldDec
		*counts[i] = e.size(v)
		return e.err
	}))
	return u
}

// cost reads cost_pico: null means that a price is unknown.
func (d *fieldDec) cost(v []byte) event.Cost {
	if string(v) == "null" {
		return event.Cost{}
	}
	return event.Cost{Pico: d.int(v), Known: true}
}

// items reads the items of an answer. A provider_call's evidence is kept as the
// JSON it is.
func (d *fieldDec) items(v []byte) (out []model.Item) {
	d.fail(elements(v, func(_ int, v []byte) error {
		it, err := decodeItem(v)
		out = append(out, it)
		return err
	}))
	return out
}

func decodeItem(v []byte) (it model.Item, err error) {
	err = inField(v, func(d *fieldDec, key string, v []byte) {
		switch key {
		case "type":
			it.Type = internItem(d.str(v))
		case "text":
			it.Text = d.str(v)
		case "name":
			it.Call.Name = d.str(v)
		case "args":
			it.Call.Args = d.str(v)
		case "id":
			it.Call.ID = d.str(v)
		case "evidence":
			it.Evidence = string(v)
		}
	})
	if err == nil && it.Type == "" {
		err = atPath("type", errors.New("is missing"))
	}
	return it, err
}

func internItem(s string) model.ItemType { return model.ItemType(s) }
