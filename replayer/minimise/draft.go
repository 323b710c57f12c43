package minimise

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer/internal/patch"
)

// draft is a session with changes that are not written yet.
type draft struct {
	lines []*session.Line
	size  int64
	blobs session.Blobs
	end   int             // lines that are kept; the footer follows. 0 = all of them
	bare  bool            // without annotations
	gone  map[string]bool // files of the initial tree that are taken away, by path
	texts map[place]string
}

// place is where a value stands.
type place struct {
	line    int
	pointer string
}

// blob is a content beside the file.
type blob struct {
	digest model.Digest
	size   int64
}

func load(path string) (*draft, error) {
	s, err := session.Open(path)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	d := &draft{blobs: s.Blobs()}
	for {
		l, err := s.Next()
		if errors.Is(err, io.EOF) {
			return d, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if d.size = l.Offset + int64(len(l.Raw)) + 1; d.size > MaxSession {
			return nil, fmt.Errorf("%s: has more than %d MiB: too large to be minimised", path, MaxSession>>20)
		}
		d.lines = append(d.lines, l.Clone())
	}
}

// copied returns a draft whose changes can be added to.
func (d *draft) copied() *draft {
	c := *d
	c.gone, c.texts = maps.Clone(d.gone), maps.Clone(d.texts)
	if c.gone == nil {
		c.gone = map[string]bool{}
	}
	if c.texts == nil {
		c.texts = map[place]string{}
	}
	return &c
}

// count is how many lines the draft has.
func (d *draft) count() int {
	if d.end == 0 {
		return len(d.lines)
	}
	return d.end + 1
}

// ends are the lines after which the session can be cut: turns that end at or
// after a line, the nearest first, as few as are worth a try.
func (d *draft) ends(from int) (out []int) {
	const worth = 4
	for i, l := range d.lines {
		if l.Type == session.TypeState && l.No >= from && i+2 < len(d.lines) {
			out = append(out, l.No)
		}
	}
	if from == 0 && len(out) > worth { // it is known only that the loop parts company somewhere
		step := len(out) / worth
		var some []int
		for i := 0; i < len(out); i += max(step, 1) {
			some = append(some, out[i])
		}
		return some
	}
	return out[:min(len(out), worth)]
}

func (d *draft) cutAt(line int) *draft {
	c := d.copied()
	c.end = line
	return c
}

func (d *draft) unlabelled() *draft {
	c := d.copied()
	c.bare = true
	return c
}

func (d *draft) withoutFiles(set []unit) *draft {
	c := d.copied()
	for _, u := range set {
		c.gone[u.path] = true
	}
	return c
}

func (d *draft) replaced(set []unit, replace func(string) string) *draft {
	c := d.copied()
	for _, u := range set {
		c.texts[u.place] = replace(u.text)
	}
	return c
}

// kept lists the texts that stand as they were recorded: those that could not be
// replaced, and the arguments of calls, which are never.
func (d *draft) kept() []Kept {
	out := []Kept{}
	for _, u := range append(d.units(textUnits), d.units(argUnits)...) {
		if _, ok := d.texts[u.place]; !ok {
			out = append(out, Kept{u.line, u.pointer, len(u.text)})
		}
	}
	slices.SortStableFunc(out, func(a, b Kept) int { return a.Line - b.Line })
	return out
}

// contents are the blobs that the draft names.
func (d *draft) contents() (out []blob) {
	seen := map[model.Digest]bool{}
	add := func(digest model.Digest, size int64) {
		if !seen[digest] {
			seen[digest] = true
			out = append(out, blob{digest, size})
		}
	}
	for _, l := range d.lines[:min(len(d.lines), d.count())] {
		switch l.Type {
		case session.TypeHeader:
			h, err := l.Header()
			if err != nil {
				continue
			}
			for i, f := range h.Tree {
				_, short := d.texts[place{l.No, fmt.Sprintf("/tree/%d", i)}]
				if f.Content == nil && !d.gone[f.Path] && !short {
					add(f.Digest, f.Size)
				}
			}
		case session.TypeToolResult:
			r, err := l.ToolResult()
			if err != nil {
				continue
			}
			for i := range r.Delta {
				_, short := d.texts[place{l.No, fmt.Sprintf("/delta/%d", i)}]
				if !r.Delta[i].Blob.IsZero() && !short {
					add(r.Delta[i].Blob, r.Delta[i].Size)
				}
			}
		}
	}
	return out
}

// payload is a line with the draft's texts, before anything is made to fit.
func (d *draft) payload(l *session.Line) ([]byte, error) {
	values := map[string]jsontext.Value{}
	for p, text := range d.texts {
		if p.line == l.No && !isFile(p.pointer) { // files are set with their digests
			values[p.pointer] = patch.Quote(text)
		}
	}
	if l.Type == session.TypeToolResult && values["/text"] != nil {
		values["/bytes"] = nil // of the text that stood there
	}
	if l.Type == session.TypeHeader && d.bare {
		values["/labels"] = nil
	}
	return patch.Replace(l.Payload(), values)
}
