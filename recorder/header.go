package recorder

import (
	"fmt"
	"sort"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// Header returns the payload of the header line; it is encoded before any event.
// Canon and ConfigDigest may be left empty: then they are filled in. Contents of
// the tree that are too large for the line are stored like those of deltas; a
// nil content of a file that is not empty is only named by its digest.
func (e *Encoder) Header(h *session.Header) ([]byte, error) {
	if err := session.ValidJSON(h.Config); err != nil {
		return nil, fmt.Errorf("session header: config is no canonical JSON object: %w", err)
	}
	digest := model.Sum(h.Config)
	if !h.ConfigDigest.IsZero() && h.ConfigDigest != digest {
		return nil, fmt.Errorf("session header: config digest is %s, that of the config %s", h.ConfigDigest, digest)
	}
	canon := h.Canon
	if canon == "" {
		canon = model.CanonVersion
	}
	e.model = h.Model
	e.start(session.TypeHeader)
	e.inStr("v", session.Version)
	e.inStr("canon", canon)
	e.inStr("scenario", h.Scenario)
	if !h.ScenarioDigest.IsZero() {
		e.inField(func() { e.full("scenario_digest", h.ScenarioDigest) })
	}
	e.inField(func() { e.int("repetition", int64(h.Repetition)) })
	e.inStr("model", h.Model)
	if h.Simulated {
		e.inField(func() { e.boolIf("simulated", true) })
	}
	e.inField(func() { e.key("config"); e.buf = append(e.buf, h.Config...) })
	e.full("config_digest", digest)
	if err := e.tree(h.Tree); err != nil {
		return nil, fmt.Errorf("session header: %w", err)
	}
	if !h.TreeDigest.IsZero() {
		e.full("tree_digest", h.TreeDigest)
	}
	if len(h.Normalisers) > 0 {
		e.inField(func() { e.key("normalisers"); e.strs(h.Normalisers) })
	}
	if h.Fork != nil {
		e.fork(h.Fork)
	}
	e.labels(h.Labels)
	e.finish()
	return e.buf, nil
}

// inField marks the one field that write appends as an input.
func (e *Encoder) inField(write func()) {
	at := len(e.buf)
	write()
	e.input(at)
}

func (e *Encoder) tree(tree []session.TreeFile) error {
	if len(tree) == 0 {
		return nil
	}
	at := len(e.buf)
	e.key("tree")
	inline := 0
	for i := range tree {
		f := &tree[i]
		if i > 0 && tree[i-1].Path >= f.Path {
			return fmt.Errorf("tree is not sorted by path at %.200q", f.Path)
		}
		e.buf = append(e.buf, sep(i))
		open := len(e.buf)
		e.str("path", f.Path)
		e.buf[open] = '{'
		e.int("size", f.Size)
		e.int("mode", int64(f.Mode))
		e.full("digest", f.Digest)
		switch n := len(f.Content); {
		case n == 0:
		case n <= session.InlineTree && inline+n <= session.InlineTreeSum:
			inline += n
			e.inline(f.Content)
		default:
			if err := e.put(f.Digest, f.Content); err != nil {
				return err
			}
		}
		e.buf = append(e.buf, '}')
	}
	e.buf = append(e.buf, ']')
	e.input(at)
	return nil
}

func (e *Encoder) fork(f *session.Fork) {
	at := len(e.buf)
	e.key("fork")
	open := len(e.buf)
	e.full("parent", f.Parent)
	e.buf[open] = '{'
	e.int("shared_prefix_turns", int64(f.Turns))
	spared := f.Spared
	spared.Unknown = false // the counts are a lower bound then
	e.usageAs("spared", spared)
	if len(f.Set) > 0 {
		e.key("set")
		e.strs(f.Set)
	}
	e.boolIf("live", f.Live)
	e.buf = append(e.buf, '}')
	e.input(at)
}

func (e *Encoder) labels(labels map[string]string) {
	if len(labels) == 0 {
		return
	}
	names := make([]string, 0, len(labels))
	for name := range labels {
		names = append(names, name)
	}
	sort.Strings(names)
	e.key("labels")
	open := len(e.buf)
	for _, name := range names {
		e.buf = append(e.buf, ',')
		e.buf = model.AppendString(e.buf, name)
		e.buf = append(e.buf, ':')
		e.buf = model.AppendString(e.buf, labels[name])
	}
	e.buf[open] = '{'
	e.buf = append(e.buf, '}')
}
