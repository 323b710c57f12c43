package loop

import (
	"strings"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/internal/mutant"
	"github.com/harnessbench/harnessbench/loop/model"
)

// Sealed is one file that the scenario declares not to be changed, as it is now.
type Sealed struct {
	Path   string // relative to the workspace, slashes
	Digest model.Digest
}

// seal remembers the declared files as they are before the first turn.
func (r *run) seal() {
	if files, ok := r.sealedNow(); ok {
		r.sealed = files
	}
}

// unsealed compares the declared files with what they were, before a candidate is
// checked: a model must not be judged by what it changed. The guard decides what
// a broken seal means.
func (r *run) unsealed() {
	now, ok := r.sealedNow()
	if !ok {
		return
	}
	ev := &event.Seal{Head: r.head()}
	ev.Broken, ev.Count = brokenSeals(r.sealed, now)
	r.emit(ev)
	r.consult(ev)
}

// sealedNow lists the declared files; ok is false where there are none or nobody
// asks. Seals that cannot be looked at are no seals that hold: the session ends.
func (r *run) sealedNow() (files []Sealed, ok bool) {
	if r.deps.Sealed == nil || r.err != nil || r.guards.Mode("seals") == guard.Off {
		return nil, false
	}
	files, err := r.deps.Sealed()
	if err != nil {
		r.fail(event.InternalError, "sealed files: "+err.Error())
	}
	return files, err == nil
}

// maxBroken bounds how many broken seals an event names.
const maxBroken = 32

// brokenSeals says what became of files between two listings, both sorted by
// path: the first of them by name, and how many there are in all. A file that is
// in neither is no breach.
func brokenSeals(before, now []Sealed) (broken []string, count int) {
	say := func(what, path string) {
		if count++; count <= maxBroken {
			broken = append(broken, what+" "+path)
		}
	}
	for len(before) > 0 || len(now) > 0 {
		order := -1 // before's first is the next path
		switch {
		case len(before) == 0:
			order = 1
		case len(now) > 0:
			order = strings.Compare(before[0].Path, now[0].Path)
		}
		switch {
		case order < 0:
			say("deleted", before[0].Path)
		case order > 0:
			say("created", now[0].Path)
		case order == 0 && before[0].Digest != now[0].Digest && !mutant.Is("seals"):
			say("changed", before[0].Path)
		}
		if order <= 0 {
			before = before[1:]
		}
		if order >= 0 {
			now = now[1:]
		}
	}
	return broken, count
}
