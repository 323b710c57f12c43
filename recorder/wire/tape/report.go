package tape

import (
	"fmt"

	"github.com/harnessbench/harnessbench/replayer"
)

// ReportSchema names the shape of a [Report] as JSON.
const ReportSchema = "harnessbench/wire-replay/v1"

// Report is the result of a replay of recorded traffic.
type Report struct {
	Schema     string           `json:"schema"`
	Path       string           `json:"path"`
	Verdict    replayer.Verdict `json:"verdict"`
	Code       replayer.Code    `json:"code,omitempty"`   // of the verdict, or of the divergence; absent when EXACT
	Reason     string           `json:"reason,omitempty"` // one line; empty when EXACT
	Exchanges  int              `json:"exchanges"`        // recorded, without auxiliary calls
	Served     int              `json:"served"`
	Unused     int              `json:"unused"`    // recorded and never asked for
	Auxiliary  int              `json:"auxiliary"` // auxiliary calls served from the recording
	Lanes      []LaneReport     `json:"lanes"`
	Missing    []Unasked        `json:"missing,omitempty"`    // the first that were never asked for, when UNUSED
	Normalised map[string]int   `json:"normalised,omitempty"` // how often each declared normaliser struck in requests that were equal only so
	Divergence *Divergence      `json:"divergence,omitempty"`
	Warnings   []string         `json:"warnings,omitempty"`
}

// LaneReport counts one lane.
type LaneReport struct {
	Lane     string `json:"lane"`
	Recorded int    `json:"recorded"`
	Served   int    `json:"served"`
	Unused   int    `json:"unused"`
}

// Unasked is a recorded request that the client never made.
type Unasked struct {
	Lane string `json:"lane"`
	Turn int    `json:"turn"`
	What string `json:"what"` // excerpt of the request's last part
}

// Divergence is the first request that the recording does not have.
type Divergence struct {
	Code     replayer.Code `json:"code"`           // which kind of divergence
	Lane     string        `json:"lane"`           // of the recorded request it is compared with; "" where the request cannot be read
	Turn     int           `json:"turn"`           // of the lane, from 1
	Part     *int          `json:"part"`           // index of the first unequal part; null where it is none
	Pointer  string        `json:"pointer"`        // RFC 6901, into the request as sent
	Recorded string        `json:"recorded"`       // cut
	Actual   string        `json:"actual"`         // cut
	Diff     string        `json:"diff,omitempty"` // of long texts: the first differing lines, - recorded, + actual
	Hint     string        `json:"hint,omitempty"` // in what alone the two differ, where that changes by itself: a date, a path, an id
	Note     string        `json:"note,omitempty"` // what else is known
	Show     string        `json:"show"`           // the command that shows more

	root bool // no recorded conversation begins like this one
}

// maxMissing is how many requests that were never made a report lists.
const maxMissing = 10

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
