package session

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
)

// Operations of a Delta.
const (
	OpWrite  = "write"
	OpDelete = "delete"
)

// Blobs stores contents by digest. [Dir] keeps them beside sessions.
type Blobs interface {
	// Put stores content under its digest; storing it again is no error.
	Put(d model.Digest, content []byte) error
	// Get returns the content of a digest, verified, at most size bytes.
	Get(d model.Digest, size int64) ([]byte, error)
}

// ErrNoBlobs says that a content stands in a blob and no store was given.
var ErrNoBlobs = errors.New("content stands in a blob, and there is no blob folder")

// Trail turns recorded changes into the events that a workspace applies. It
// remembers the full digest of every file from the initial tree on, since lines
// carry only first halves.
type Trail struct {
	blobs Blobs
	files map[string]model.Digest
}

// NewTrail starts at the header's tree. blobs may be nil when no content stands
// in one.
func NewTrail(h *Header, blobs Blobs) *Trail {
	t := &Trail{blobs: blobs, files: make(map[string]model.Digest, len(h.Tree))}
	for i := range h.Tree {
		t.files[h.Tree[i].Path] = h.Tree[i].Digest
	}
	return t
}

// Event returns the next change. args are the canonical arguments of its call.
// After is the digest of the content found, whatever was recorded; Before is the
// digest of the file as it is known from the lines before where that fits the
// recorded half, else that half followed by zeros, which fits no file.
func (t *Trail) Event(c *Delta, args string) (event.Delta, error) {
	d := event.Delta{Op: c.Op, Path: c.Path, Size: c.Size, Mode: c.Mode}
	copy(d.Before[:], c.Before[:])
	if known, ok := t.files[c.Path]; ok && c.Before.Of(known) {
		d.Before = known
	}
	if c.Op == OpDelete {
		delete(t.files, c.Path)
		return d, nil
	}
	content, err := c.content(args, t.blobs)
	if err != nil {
		return d, fmt.Errorf("content of %.200q: %w", c.Path, err)
	}
	d.Content, d.After = content, model.Sum(content)
	t.files[c.Path] = d.After
	return d, nil
}

func (c *Delta) content(args string, blobs Blobs) ([]byte, error) {
	switch {
	case c.Inline:
		return append([]byte{}, c.Data...), nil
	case c.Arg != "":
		s, ok, err := StringMember(args, c.Arg)
		if err == nil && !ok {
			err = fmt.Errorf("the call has no argument %.80q", c.Arg)
		}
		return []byte(s), err
	case blobs == nil:
		return nil, ErrNoBlobs
	default:
		return blobs.Get(c.Blob, c.Size)
	}
}

// StringMember returns a string member of the JSON object args; ok is false
// when there is none of that name, or it is no string.
func StringMember(args, name string) (s string, ok bool, err error) {
	var sc scanner
	b := []byte(args)
	if err := sc.scan(b); err != nil {
		return "", false, fmt.Errorf("arguments: %w", err)
	}
	err = members(b, func(key string, v []byte) error {
		if key == name && len(v) > 0 && v[0] == '"' {
			ok = true
			s, err = unquote(v)
		}
		return err
	})
	return s, ok, err
}

// TreeContents returns the content of every file of the initial tree, in its
// order. Contents that stand in blobs are read and verified; contents in the
// line are compared with their digests.
func (h *Header) TreeContents(blobs Blobs) ([][]byte, error) {
	out := make([][]byte, len(h.Tree))
	for i := range h.Tree {
		f := &h.Tree[i]
		b := f.Content
		if b == nil {
			if blobs == nil {
				return nil, fmt.Errorf("initial file %.200q: %w", f.Path, ErrNoBlobs)
			}
			var err error
			if b, err = blobs.Get(f.Digest, f.Size); err != nil {
				return nil, fmt.Errorf("initial file %.200q: %w", f.Path, err)
			}
		}
		if int64(len(b)) != f.Size || model.Sum(b) != f.Digest {
			return nil, fmt.Errorf("initial file %.200q: content does not fit its size and digest", f.Path)
		}
		out[i] = b
	}
	return out, nil
}

// Check reports whether the header's config digest fits its config.
func (h *Header) Check() error {
	if got := model.Sum(h.Config); got != h.ConfigDigest {
		return fmt.Errorf("config_digest is %s, the config's is %s", h.ConfigDigest, got)
	}
	return nil
}

// ModelPart decodes a part's canonical JSON into the part it came from. It is an
// error when the body is not canonical or does not fit kind and role.
func (p *Part) ModelPart() (*model.Part, error) {
	var out *model.Part
	switch p.Kind {
	case model.KindTool:
		t, err := decodeTool(p.Body)
		if err != nil {
			return nil, fmt.Errorf("part: %w", err)
		}
		out = model.NewToolPart(t)
	case model.KindSystem, model.KindMessage:
		m, err := decodeMessage(p.Body)
		if err != nil {
			return nil, fmt.Errorf("part: %w", err)
		}
		out = model.NewMessagePart(m)
	default:
		return nil, fmt.Errorf("part: kind %.40q is none of canon/1", p.Kind)
	}
	if out.Kind != p.Kind || out.Role != p.Role || !bytes.Equal(out.JSON, p.Body) {
		return nil, errors.New("part: body is not canonical JSON of its kind and role")
	}
	return out, nil
}

func decodeTool(v []byte) (t model.ToolSpec, err error) {
	err = inField(v, func(d *fieldDec, key string, v []byte) {
		switch key {
		case "description":
			t.Description = d.str(v)
		case "name":
			t.Name = d.str(v)
		case "schema":
			t.Schema = string(v)
		case "version":
			t.Version = d.count(v)
		}
	})
	if err == nil && t.Schema == "" {
		err = errors.New("schema is missing")
	}
	return t, err
}

func decodeMessage(v []byte) (m model.Message, err error) {
	err = inField(v, func(d *fieldDec, key string, v []byte) {
		switch key {
		case "call_id":
			m.CallID = d.str(v)
		case "content":
			m.Items = d.items(v)
		case "role":
			m.Role = model.Role(d.str(v))
		}
	})
	return m, err
}

// minArg is the size from which a content is looked for in the arguments.
const minArg = 32

// ArgEqual returns the name of the first string member of the JSON object args
// whose text is content, or "" when there is none or content is short.
func ArgEqual(args string, content []byte) string {
	if len(content) < minArg || len(args) < len(content)+2 || args[0] != '{' {
		return ""
	}
	b := []byte(args)
	var s scanner
	if s.scan(b) != nil {
		return ""
	}
	for _, f := range s.top {
		v := b[f.vs:f.ve]
		if v[0] != '"' || len(v)-2 < len(content) {
			continue
		}
		if text, err := unquote(v); err != nil || text != string(content) {
			continue
		}
		if name, err := unquote(b[f.ks-1 : f.ke+1]); err == nil {
			return name
		}
	}
	return ""
}

// AppendText appends content, which is UTF-8, as a JSON string.
func AppendText(b, content []byte) []byte {
	out, err := jsontext.AppendQuote(b, content)
	if err != nil { // broken UTF-8 was replaced; the string is complete all the same
		return out
	}
	return out
}

// Repair returns s as a line carries it: each byte that is no UTF-8 becomes
// U+FFFD.
func Repair(s string) string {
	return string([]rune(s))
}
