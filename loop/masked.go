package loop

import (
	"slices"
	"strconv"
	"strings"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/internal/mutant"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/redact"
)

// Secrets are overwritten where texts enter the loop, before anything is hashed,
// recorded or shown:
//
//  1. what a tool says (maskResult), what a model answers (maskAnswer) and what a
//     provider says of a failed call (maskError);
//  2. reasons of acceptance checks and of approvers.
//
// What else the loop says is made of these. How many secrets of which kind were
// found in a result or an answer goes with it as an input: a replay is served texts
// that are masked already, and that note, and so fires as the recording did.
// Contents of files are masked by the workspace, which marks the changes.

// masks is the redactor in force.
type masks struct {
	ready bool
	with  *redact.Redactor // nil = the guard is off
}

// shapes finds keys by their shape.
var shapes = redact.New()

// masked returns a text with its secrets overwritten, and counts them into f.
func (r *run) masked(s string, f *redact.Found) string {
	m := &r.safe.masks
	if !m.ready {
		m.ready = true
		if r.guards.Mode("redaction") != guard.Off {
			if m.with = r.deps.Secrets; m.with == nil {
				m.with = shapes
			}
		}
	}
	return m.with.Note(s, f)
}

// maskResult masks what a tool said.
func (r *run) maskResult(o *outcome) {
	var f redact.Found
	o.Text = r.masked(o.Text, &f)
	o.Redacted = also(o.Redacted, &f)
}

// maskError masks what a provider said of a failed call.
func (r *run) maskError(e *model.Error) {
	var f redact.Found
	e.Message = r.masked(e.Message, &f)
	e.Redacted = also(e.Redacted, &f)
}

// maskAnswer masks an answer. Its items are others' too: they are copied before
// they are changed.
func (r *run) maskAnswer(resp *model.Response) {
	var f redact.Found
	copied := false
	for i := range resp.Items {
		it := resp.Items[i]
		it.Text, it.Evidence = r.masked(it.Text, &f), r.masked(it.Evidence, &f)
		it.Call.Name, it.Call.Args = r.masked(it.Call.Name, &f), r.masked(it.Call.Args, &f)
		if it == resp.Items[i] {
			continue
		}
		if !copied {
			resp.Items, copied = slices.Clone(resp.Items), true
		}
		resp.Items[i] = it
	}
	resp.Redacted = also(resp.Redacted, &f)
}

// also adds what was found to what was noted before.
func also(before string, f *redact.Found) string {
	now := f.String()
	if before == "" || now == "" {
		return before + now
	}
	return before + ", " + now
}

// noteRedacted records the firing of redaction after the event whose texts it
// changed.
func (r *run) noteRedacted(ev event.Event) {
	what, on, where := "", "", ""
	switch ev := ev.(type) {
	case *event.ToolResult:
		what, on, where = ev.Redacted, ev.Call.ID, "in the result"
		files := 0
		for i := range ev.Delta {
			if ev.Delta[i].Redacted {
				files++
			}
		}
		if files > 0 {
			what, where = strings.TrimPrefix(what+", changed files "+strconv.Itoa(files), ", "), "" // of the recording, not of the tree
		}
	case *event.Response:
		what, where = ev.Resp.Redacted, "in the answer"
	case *event.Attempt:
		switch {
		case ev.Err != nil:
			what, where = ev.Err.Redacted, "in the error"
		case ev.Resp != nil:
			what, where = ev.Resp.Redacted, "in the answer"
		}
	}
	if what == "" || mutant.Is("redaction") || r.guards.Mode("redaction") == guard.Off {
		return
	}
	g := r.policyFired("redaction", guard.Enforce, "mask", strings.TrimSpace(what+" "+where))
	g.On = on
	r.emit(g)
}
