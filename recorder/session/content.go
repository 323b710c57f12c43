package session

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
)

// Operations of a Delta.
const (
	OpWrite  = "write"
	OpDelete = "delete"
)

// PlainMode is the mode of a written file whose delta says none.
const PlainMode = 0o644

// Blobs stores contents by digest. [Dir] keeps them beside sessions.
type Blobs interface {
	// Put stores content under its digest; storing it again is no error.
	Put(d model.Digest, content []byte) error
	// Get returns the content of a digest, verified. It has size bytes; a
	// negative size stands for any up to MaxBlob.
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

// NewTrail starts at the header's tree. With nil blobs a content that stands in a
// blob is not loaded: the event then has its Size and After, and no Content.
func NewTrail(h *Header, blobs Blobs) *Trail {
	t := &Trail{blobs: blobs, files: make(map[string]model.Digest, len(h.Tree))}
	for i := range h.Tree {
		t.files[h.Tree[i].Path] = h.Tree[i].Digest
	}
	return t
}

// Event returns the next change. args are the canonical arguments of its call.
// Before is the digest of the file as it is known from the lines before where
// that fits the recorded half, else that half followed by zeros, which fits no
// file.
func (t *Trail) Event(c *Delta, args string) (event.Delta, error) {
	d := event.Delta{Op: c.Op, Path: c.Path, Mode: c.Mode, Redacted: c.Redacted}
	copy(d.Before[:], c.Before[:])
	if known, ok := t.files[c.Path]; ok && c.Before.Of(known) {
		d.Before = known
	}
	if c.Op == OpDelete {
		delete(t.files, c.Path)
		return d, nil
	}
	if !c.Inline && c.Arg == "" && t.blobs == nil {
		d.Size, d.After = c.Size, c.Blob
		t.files[c.Path] = d.After
		return d, nil
	}
	content, err := c.content(args, t.blobs)
	if err != nil {
		return d, fmt.Errorf("content of %.200q: %w", c.Path, err)
	}
	d.Content, d.Size, d.After = content, int64(len(content)), model.Sum(content)
	t.files[c.Path] = d.After
	return d, nil
}

func (c *Delta) content(args string, blobs Blobs) ([]byte, error) {
	switch {
	case c.Inline:
		return append([]byte{}, c.Data...), nil
	case c.Arg != "":
		var a Args
		a.Load(args)
		s, ok := a.Text(c.Arg)
		if !ok {
			return nil, fmt.Errorf("the call has no argument %.80q that is a string", c.Arg)
		}
		return []byte(s), nil
	default:
		return blobs.Get(c.Blob, c.Size)
	}
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

// Fetcher returns a function that gives the contents of the initial tree, and of
// any blob, by digest. It is what a workspace in memory loads its files with.
func (h *Header) Fetcher(blobs Blobs) func(model.Digest) ([]byte, error) {
	inline := map[model.Digest][]byte{}
	for i := range h.Tree {
		if h.Tree[i].Content != nil {
			inline[h.Tree[i].Digest] = h.Tree[i].Content
		}
	}
	return func(d model.Digest) ([]byte, error) {
		if b, ok := inline[d]; ok {
			return b, nil
		}
		if blobs == nil {
			return nil, ErrNoBlobs
		}
		return blobs.Get(d, -1)
	}
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

// Repair returns s as a line carries it: each byte that is no UTF-8 becomes
// U+FFFD.
func Repair(s string) string {
	return string([]rune(s))
}
