package guard

import (
	"fmt"
	"path"
	"strings"
)

// glob is a pattern over workspace paths: segments in which * and ? stay within
// one name, and ** for any number of names. It covers the paths that it matches
// and all that lies below them; dir/** covers dir itself, too. Libraries say whether
// a pattern fits a path; a search over a folder also asks whether it can fit
// something below it.
type glob struct {
	text string
	segs []string
	fold bool // upper and lower case are one
}

// Bounds of a glob.
const (
	maxGlob     = 1024 // bytes
	maxGlobSegs = 63   // names: a set of positions fits a word
)

// newGlob reads a glob. It may begin with /workspace/ or ./.
func newGlob(text string, fold bool) (glob, error) {
	rel, absolute := strings.CutPrefix(text+"/", root+"/") // another absolute path is none
	rel = strings.TrimRight(strings.TrimPrefix(rel, "./"), "/")
	g := glob{text: text, fold: fold}
	switch {
	case rel == "" && (absolute || text == "." || text == "./"):
		rel = "**"
	case rel == "" || rel[0] == '/' || len(text) > maxGlob || strings.ContainsAny(text, "\\\n\r"):
		return g, fmt.Errorf("%.80q is no glob over workspace paths; write it like reports/** or data/*.csv", text)
	}
	if fold {
		rel = strings.ToLower(rel)
	}
	g.segs = strings.Split(rel, "/")
	for _, s := range g.segs {
		if _, err := path.Match(s, ""); err != nil || s == "" || s == "." || s == ".." || s != "**" && strings.Contains(s, "**") {
			return g, fmt.Errorf("%.80q is no glob over workspace paths: %.40q is no name in it", text, s)
		}
	}
	if len(g.segs) > maxGlobSegs {
		return g, fmt.Errorf("%.80q has more than %d names", text, maxGlobSegs)
	}
	return g, nil
}

// match looks at a path. covers: the glob matches it or a folder above it. below:
// it may match something that lies below the path. It takes time in proportion to
// the path, however many ** there are.
func (g *glob) match(rel string) (covers, below bool) {
	if g.fold {
		rel = strings.ToLower(rel)
	}
	at := g.skip(1) // positions in segs, as bits
	for rel != "" {
		var name string
		name, rel, _ = strings.Cut(rel, "/")
		var next uint64
		for i, s := range g.segs {
			switch {
			case at>>i&1 == 0:
			case s == "**":
				next |= 1 << i
			default:
				if ok, _ := path.Match(s, name); ok {
					next |= 1 << (i + 1)
				}
			}
		}
		if at = g.skip(next); at == 0 || g.done(at) {
			return at != 0, at != 0
		}
	}
	return g.done(at), at != 0
}

// skip adds the positions that are reached by letting ** stand for nothing.
func (g *glob) skip(at uint64) uint64 {
	for i, s := range g.segs {
		if at>>i&1 == 1 && s == "**" {
			at |= 1 << (i + 1)
		}
	}
	return at
}

func (g *glob) done(at uint64) bool { return at>>len(g.segs)&1 == 1 }

// globs is a list of globs.
type globs []glob

func newGlobs(list []string, fold bool) (globs, error) {
	var out globs
	for _, text := range list {
		g, err := newGlob(text, fold)
		if err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	return out, nil
}

// covers returns the first glob that covers a path, nil = none does. below
// reports whether one may match something below it.
func (l globs) covers(rel string) (by *glob, below bool) {
	for i := range l {
		c, b := l[i].match(rel)
		if c {
			return &l[i], true
		}
		below = below || b
	}
	return nil, below
}

func (l globs) String() string {
	texts := make([]string, len(l))
	for i := range l {
		texts[i] = l[i].text
	}
	return Head(strings.Join(texts, ", "), 400)
}
