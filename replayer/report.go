package replayer

import (
	"fmt"
	"strings"
)

// Verdict is what a replay says of one session.
type Verdict string

// The verdicts.
const (
	Exact        Verdict = "EXACT"         // every line came out as recorded
	Normalised   Verdict = "NORMALISED"    // equal in meaning; some bytes or annotations differ
	Diverged     Verdict = "DIVERGED"      // see Divergence
	Exhausted    Verdict = "EXHAUSTED"     // the loop asks for more than was recorded
	Unused       Verdict = "UNUSED"        // the loop ended before the recorded answers did
	OldBehaviour Verdict = "OLD_BEHAVIOUR" // recorded under a behaviour this version no longer has
	Noop         Verdict = "NOOP"          // nothing to replay: no model call
	Corrupt      Verdict = "CORRUPT"       // the file is damaged or no session
	TooNew       Verdict = "TOO_NEW"       // a newer format
)

// Exit is the exit status a verdict stands for: 0 the loop behaves as recorded,
// 1 it does not, 3 that cannot be judged.
func (v Verdict) Exit() int {
	switch v {
	case Exact, Normalised:
		return 0
	case Diverged, Exhausted, Unused:
		return 1
	}
	return 3
}

// Verdicts is every verdict, the best first.
var Verdicts = []Verdict{Exact, Normalised, Diverged, Exhausted, Unused, Noop, OldBehaviour, Corrupt, TooNew}

// Report is the result of one replay.
type Report struct {
	Path     string  `json:"path"`
	Verdict  Verdict `json:"verdict"`
	Code     Code    `json:"code,omitempty"` // of the verdict, or of the divergence; absent when EXACT
	Scenario string  `json:"scenario,omitempty"`
	Turns    int     `json:"turns"`            // turns that came out as recorded
	Lines    int     `json:"lines"`            // lines that came out as recorded
	Unused   int     `json:"unused,omitempty"` // recorded model answers that the loop never asked for
	Reason   string  `json:"reason,omitempty"` // one line; absent when EXACT
	// The first place where replay and recording disagree; with DIVERGED only.
	Divergence *Divergence `json:"divergence,omitempty"`
	// Tolerated says for every rung of the replay how often it was needed.
	Tolerated []Tolerated `json:"tolerated,omitempty"`
	// Recorded is the session that was written beside under --record-missing.
	Recorded string `json:"recorded,omitempty"`
	// Graded is what the scenario's graders say of what the session left; only
	// where they were asked.
	Graded *Graded `json:"graded,omitempty"`
	// Shadow lists firings in shadow under --config=current: what these guards
	// would have done is no divergence.
	Shadow []string `json:"shadow,omitempty"`
}

// Name is the verdict as it is printed: DIVERGED says where (turn and stage),
// UNUSED how many.
func (r *Report) Name() string {
	switch {
	case r.Verdict == Diverged && r.Divergence != nil:
		stage, _, _ := strings.Cut(r.Divergence.Stage, " ")
		return fmt.Sprintf("%s@%d.%s", r.Verdict, r.Divergence.Turn, stage)
	case r.Verdict == Unused:
		return fmt.Sprintf("%s(%d)", r.Verdict, r.Unused)
	}
	return string(r.Verdict)
}

// Divergence is the first place where a replay and its recording disagree.
type Divergence struct {
	Code       Code   `json:"code"`                  // which kind of divergence
	Turn       int    `json:"turn"`                  // what precedes the first request belongs to turn 1
	Stage      string `json:"stage"`                 // of the loop: assemble, infer, parse, authorise, execute, evaluate, decide, end, or guard and its name
	Line       int    `json:"line"`                  // of the recording, from 1; 0 = after its end
	Type       string `json:"type"`                  // of the recorded line
	ActualType string `json:"actual_type,omitempty"` // of the line that the loop has instead, where it is another
	Part       *int   `json:"part"`                  // index of the first unequal part of a request; null where it is none
	Pointer    string `json:"pointer"`               // RFC 6901, into the recorded line; "" = the whole line
	Recorded   string `json:"recorded"`              // cut
	Actual     string `json:"actual"`                // cut
	Diff       string `json:"diff,omitempty"`        // of long texts: the first differing lines, - recorded, + actual
	Hint       string `json:"hint,omitempty"`        // in what alone the two differ, where that changes by itself: a date, a path, an id
	After      string `json:"after,omitempty"`       // the last guard or tool event before
	Show       string `json:"show"`                  // the command that shows more
}

// where says in one line where a replay parted from its recording.
func (d *Divergence) where() string {
	s := fmt.Sprintf("turn %d, %s, line %d: %s", d.Turn, d.Stage, d.Line, d.Type)
	if d.Pointer != "" {
		s += " " + d.Pointer
	}
	if d.Part != nil {
		s += fmt.Sprintf(" (part %d of the request)", *d.Part)
	}
	return s
}
