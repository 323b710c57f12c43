package mutate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer"
)

// Result says what replays caught.
type Result struct {
	Sample int    `json:"sample"` // changes of each class that were tried; 0 = all
	Seed   uint64 `json:"seed"`
	// Tried counts changes that mean something: Behaviour + Digest + len(Missed).
	Tried     int `json:"tried"`
	Behaviour int `json:"behaviour"` // caught by what the loop did
	Digest    int `json:"digest"`    // caught by the digest over inputs alone
	// Harmless counts changes that mean nothing; FalseAlarms is those of them that
	// were minded.
	Harmless    int                      `json:"harmless"`
	Verdicts    map[replayer.Verdict]int `json:"verdicts"`
	Fields      []FieldResult            `json:"fields"`       // sorted by name
	Missed      []Finding                `json:"missed"`       // at most MaxFindings
	MissedAll   int                      `json:"missed_all"`   // how many there were
	FalseAlarms []Finding                `json:"false_alarms"` // at most MaxFindings
	FalseAll    int                      `json:"false_alarms_all"`
	// Unexplained are fields that a digest alone caught and that stand in no table;
	// Stale are fields of which the table says that nothing depends on them, and
	// that were caught by behaviour.
	Unexplained []string   `json:"unexplained"`
	Stale       []string   `json:"stale"`
	Unjudged    []Unjudged `json:"unjudged"` // sessions that do not replay as they are
	// Skipped is recorded traffic: there is no loop of ours that would feel a change.
	// verify says whether such a file is as it was recorded.
	Skipped []string `json:"skipped"`

	fields map[string]*FieldResult
}

// MaxFindings bounds the findings that are listed.
const MaxFindings = 200

// FieldResult is what became of the changes of one field of a line type. A line
// type alone stands for changes of whole lines.
type FieldResult struct {
	Field     string         `json:"field"` // "tool.result /delta/*/path"
	Origin    session.Origin `json:"origin"`
	Tried     int            `json:"tried"`
	Behaviour int            `json:"behaviour"`
	AtPlace   int            `json:"at_place"` // of Behaviour: at the very field and nowhere else
	Digest    int            `json:"digest"`
	Reason    string         `json:"reason,omitempty"` // why nothing derived depends on it, where Digest > 0
}

// Finding is a change with an outcome that it must not have.
type Finding struct {
	Path    string           `json:"path"`
	Line    int              `json:"line"`
	Type    session.Type     `json:"type"`
	Pointer string           `json:"pointer"`
	Kind    Kind             `json:"kind"`
	Verdict replayer.Verdict `json:"verdict"`
	Reason  string           `json:"reason"`
}

// Unjudged is a session whose replay is not a success as it is.
type Unjudged struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

func newResult(o Options) *Result {
	return &Result{Sample: o.Sample, Seed: o.Seed, Verdicts: map[replayer.Verdict]int{}, Fields: []FieldResult{}, Missed: []Finding{},
		FalseAlarms: []Finding{}, Unexplained: []string{}, Stale: []string{}, Unjudged: []Unjudged{}, Skipped: []string{}, fields: map[string]*FieldResult{}}
}

// OK reports whether everything was caught, nothing was minded that means
// nothing, and every field of the second kind is explained.
func (r *Result) OK() bool {
	return r.MissedAll == 0 && r.FalseAll == 0 && len(r.Unexplained) == 0 && len(r.Stale) == 0
}

// add counts one change.
func (r *Result) add(t *Tried) {
	c := t.Change
	if c.Harmless() {
		r.Harmless++
		if t.Outcome != Passed {
			r.FalseAll++
			r.FalseAlarms = append(r.FalseAlarms, t.finding())
			r.FalseAlarms = bounded(r.FalseAlarms)
		}
		return
	}
	r.Tried++
	r.Verdicts[t.Verdict]++
	f := r.fields[c.Field]
	if f == nil {
		f = &FieldResult{Field: c.Field, Origin: c.Origin}
		r.fields[c.Field] = f
	}
	f.Tried++
	switch t.Outcome {
	case Behaviour:
		f.Behaviour++
		r.Behaviour++
		if t.AtPlace {
			f.AtPlace++
		}
	case DigestOnly:
		f.Digest++
		r.Digest++
	default:
		r.MissedAll++
		r.Missed = bounded(append(r.Missed, t.finding()))
	}
}

func (t *Tried) finding() Finding {
	c := t.Change
	return Finding{c.Path, c.Line, c.Type, c.Pointer, c.Kind, t.Verdict, t.Reason}
}

// bounded keeps the first findings in order of place, whichever goroutine was
// first.
func bounded(list []Finding) []Finding {
	if len(list) > 2*MaxFindings {
		sortFindings(list)
		list = list[:MaxFindings]
	}
	return list
}

func sortFindings(list []Finding) {
	slices.SortFunc(list, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), strings.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Kind, b.Kind))
	})
}

// finish sorts what was found and consults the tables of reasons.
func (r *Result) finish() {
	for name, f := range r.fields {
		never, reason := Reasons(name)
		if f.Digest > 0 {
			f.Reason = reason
			if reason == "" {
				r.Unexplained = append(r.Unexplained, name)
			}
		}
		if never && f.Behaviour > f.AtPlace {
			r.Stale = append(r.Stale, name)
		}
		r.Fields = append(r.Fields, *f)
	}
	slices.SortFunc(r.Fields, func(a, b FieldResult) int { return strings.Compare(a.Field, b.Field) })
	slices.Sort(r.Unexplained)
	slices.Sort(r.Stale)
	for _, list := range []*[]Finding{&r.Missed, &r.FalseAlarms} {
		sortFindings(*list)
		*list = (*list)[:min(len(*list), MaxFindings)]
	}
	slices.Sort(r.Skipped)
	slices.SortFunc(r.Unjudged, func(a, b Unjudged) int { return strings.Compare(a.Path, b.Path) })
}
