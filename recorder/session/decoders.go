package session

import (
	"encoding/base64"
	"errors"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
)

// Header decodes a header line. Digests are given as they stand: whether they
// fit config and tree is the replay's question ([Header.Check] answers it).
func (l *Line) Header() (*Header, error) {
	h := &Header{}
	err := l.decode(TypeHeader, func(d *fieldDec, key string, v []byte) {
		switch key {
		case "canon":
			h.Canon = d.str(v)
		case "scenario":
			h.Scenario = d.str(v)
		case "scenario_digest":
			h.ScenarioDigest = d.full(v)
		case "repetition":
			h.Repetition = d.count(v)
		case "model":
			h.Model = d.str(v)
		case "simulated":
			h.Simulated = d.bool(v)
		case "config":
			if v[0] != '{' {
				d.fail(errType("an object", v))
			}
			h.Config = append([]byte(nil), v...)
		case "config_digest":
			h.ConfigDigest = d.full(v)
		case "tree":
			h.Tree = d.tree(v)
		case "tree_digest":
			h.TreeDigest = d.full(v)
		case "normalisers":
			h.Normalisers = d.strs(v)
		case "fork":
			h.Fork = d.fork(v)
		case "labels":
			h.Labels = d.labels(v)
		}
	})
	if err != nil {
		return nil, err
	}
	if h.Canon != model.CanonVersion {
		return nil, l.decodeErr("canon", "is %.40q; this build knows %q", h.Canon, model.CanonVersion)
	}
	return h, nil
}

func (d *fieldDec) fork(v []byte) *Fork {
	f := &Fork{}
	d.fail(inField(v, func(d *fieldDec, key string, v []byte) {
		switch key {
		case "parent":
			f.Parent = d.full(v)
		case "shared_prefix_turns":
			f.Turns = d.count(v)
		case "spared":
			f.Spared = d.usage(v)
		case "set":
			f.Set = d.strs(v)
		case "live":
			f.Live = d.bool(v)
		}
	}))
	return f
}

func (d *fieldDec) labels(v []byte) map[string]string {
	m := map[string]string{}
	d.fail(members(v, func(key string, v []byte) error {
		s, err := unquote(v)
		m[key] = s
		return atPath(key, err)
	}))
	return m
}

func (d *fieldDec) tree(v []byte) (out []TreeFile) {
	d.fail(elements(v, func(_ int, v []byte) error {
		var f TreeFile
		inline := false
		err := inField(v, func(d *fieldDec, key string, v []byte) {
			switch key {
			case "path":
				f.Path = d.str(v)
			case "size":
				f.Size = d.size(v)
			case "mode":
				f.Mode = d.mode(v)
			case "digest":
				f.Digest = d.full(v)
			case "text":
				f.Content, inline = []byte(d.str(v)), true
			case "b64":
				f.Content, inline = d.b64(v), true
			}
		})
		if !inline && f.Size == 0 {
			f.Content = []byte{}
		}
		out = append(out, f)
		return err
	}))
	return out
}

func (d *fieldDec) mode(v []byte) uint32 {
	n := d.count(v)
	if n > 0o7777 {
		d.fail(errors.New("is no permission bits"))
	}
	return uint32(n)
}

func (d *fieldDec) b64(v []byte) []byte {
	s := d.str(v)
	if d.err != nil {
		return nil
	}
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil {
		d.fail(errors.New("is no base64"))
	}
	return b
}

// Part decodes a part line.
func (l *Line) Part() (*Part, error) {
	p := &Part{}
	err := l.decode(TypePart, func(d *fieldDec, key string, v []byte) {
		switch key {
		case "why":
			p.Why = d.str(v)
		case "kind":
			p.Kind = model.PartKind(d.str(v))
		case "role":
			p.Role = model.Role(d.str(v))
		case "body":
			p.Body = append([]byte(nil), v...)
		case "digest":
			p.Digest = d.short(v)
		}
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Request decodes a request line.
func (l *Line) Request() (*Request, error) {
	r := &Request{Turn: l.Turn}
	err := l.decode(TypeRequest, func(d *fieldDec, key string, v []byte) {
		switch key {
		case "chain":
			r.Chain = d.short(v)
		case "params":
			if v[0] != '{' {
				d.fail(errType("an object", v))
			}
			r.Params = append([]byte(nil), v...)
		case "params_digest":
			r.ParamsDigest = d.short(v)
		case "keep":
			r.Keep, r.Explicit = d.count(v), true
		case "add":
			r.Add, r.Explicit = d.shorts(v), true
		case "purpose":
			r.Purpose = model.Purpose(d.str(v))
		}
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// ToolRequest decodes a tool.request line.
func (l *Line) ToolRequest() (*ToolRequest, error) {
	r := &ToolRequest{}
	err := l.decode(TypeToolRequest, func(d *fieldDec, key string, v []byte) {
		switch key {
		case "i":
			r.Index = d.count(v)
		case "id":
			r.ID = d.str(v)
		case "tool":
			r.Tool = d.str(v)
		case "v":
			r.Version = d.count(v)
		case "effect":
			r.Effect = event.Effect(d.str(v))
		case "args":
			r.Args, r.HasArgs = d.str(v), true
		case "resources":
			r.Resources, r.HasResources = d.strs(v), true
		case "problem":
			r.Problem = event.Problem(d.str(v))
		case "detail":
			r.Detail = d.str(v)
		}
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// ToolResult decodes a tool.result line.
func (l *Line) ToolResult() (*ToolResult, error) {
	r := &ToolResult{Bytes: -1}
	want := false
	err := l.decode(TypeToolResult, func(d *fieldDec, key string, v []byte) {
		switch key {
		case "i":
			r.Index = d.count(v)
		case "id":
			r.ID = d.str(v)
		case "outcome":
			r.Outcome = event.Outcome(d.str(v))
		case "text":
			r.Text = d.str(v)
		case "bytes":
			r.Bytes = d.size(v)
		case "redacted":
			r.Redacted = d.str(v)
		case "took_us":
			r.Took = d.micros(v)
		case "want_us":
			r.Want, want = d.micros(v), true
		case "exit":
			n := int(d.int(v))
			r.Exit = &n
		case "delta":
			r.Delta = d.deltas(v)
		}
	})
	if err != nil {
		return nil, err
	}
	if r.Bytes < 0 {
		r.Bytes = int64(len(r.Text))
	}
	if !want {
		r.Want = r.Took
	}
	return r, nil
}

func (d *fieldDec) deltas(v []byte) (out []Delta) {
	d.fail(elements(v, func(_ int, v []byte) error {
		c := Delta{Op: OpWrite, Mode: PlainMode}
		if err := inField(v, c.set); err != nil {
			return err
		}
		switch {
		case c.Op == OpDelete:
			c.Mode = 0
		case c.Op != OpWrite:
			return atPath("op", errors.New("is neither write nor delete"))
		case !c.Inline && c.Arg == "" && c.Blob.IsZero():
			return errors.New("a written file has none of text, b64, arg, blob")
		}
		out = append(out, c)
		return nil
	}))
	return out
}

func (c *Delta) set(d *fieldDec, key string, v []byte) {
	switch key {
	case "op":
		c.Op = d.str(v)
	case "path":
		c.Path = d.str(v)
	case "before":
		c.Before = d.short(v)
	case "mode":
		c.Mode = d.mode(v)
	case "text":
		c.Data, c.Inline = []byte(d.str(v)), true
	case "b64":
		c.Data, c.Inline = d.b64(v), true
	case "redacted":
		c.Redacted = d.bool(v)
	case "arg":
		c.Arg = d.str(v)
	case "size":
		c.Size = d.size(v)
	case "blob":
		c.Blob = d.full(v)
	}
}

// State decodes a state line.
func (l *Line) State() (*State, error) {
	s := &State{}
	err := l.decode(TypeState, func(d *fieldDec, key string, v []byte) {
		switch key {
		case "v":
			s.Version = d.count(v)
		case "calls":
			s.Calls = d.count(v)
		case "usage":
			s.Usage = d.usage(v)
		case "cost_pico":
			s.Cost = d.cost(v)
		case "at_us":
			s.At = d.micros(v)
		case "inputs":
			s.Inputs = d.short(v)
		}
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Footer decodes a footer line.
func (l *Line) Footer() (*Footer, error) {
	f := &Footer{}
	err := l.decode(TypeFooter, func(d *fieldDec, key string, v []byte) {
		switch key {
		case "reason":
			f.Reason = event.Reason(d.str(v))
		case "evidence":
			f.Evidence = d.str(v)
		case "backstop":
			f.Backstop = d.bool(v)
		case "unchecked":
			f.Unchecked = d.bool(v)
		case "turns":
			f.Turns = d.count(v)
		case "calls":
			f.Calls = d.count(v)
		case "attempts":
			f.Attempts = d.count(v)
		case "lines":
			f.Lines = d.count(v)
		default:
			f.sums(d, key, v)
		}
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// sums reads the sums and digests of a footer.
func (f *Footer) sums(d *fieldDec, key string, v []byte) {
	switch key {
	case "usage":
		f.Usage = d.usage(v)
	case "cost_pico":
		f.Cost = d.cost(v)
	case "at_us":
		f.At = d.micros(v)
	case "answer_digest":
		f.AnswerDigest = d.full(v)
	case "tree_digest":
		f.TreeDigest = d.full(v)
	case "inputs":
		f.Inputs = d.full(v)
	case "digest":
		f.Digest = d.full(v)
	}
}
