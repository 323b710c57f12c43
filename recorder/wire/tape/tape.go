package tape

import (
	"time"

	"github.com/harnessbench/harnessbench/recorder/wire/canon"
)

// Exchange is one request and its answer as they passed.
type Exchange struct {
	Lane    string // conversation, see Lanes
	Turn    int    // of the lane, from 1; a repeated request is another attempt of its turn
	Attempt int    // from 0
	Method  string
	Path    string         // with its query
	Request *canon.Request // nil for auxiliary calls
	Body    []byte         // of the request, redacted; kept for auxiliary calls only
	Status  int            // 0 when the upstream gave no answer
	Header  [][2]string    // of the answer, allow-listed, in order
	Frames  []Frame        // of the answer's body
	Stream  bool           // the answer is a stream of server-sent events
	Broken  string         // how the answer broke off; "" = it is complete
}

// Frame is a piece of an answer's body as it came.
type Frame struct {
	At   time.Duration // since the request was passed on
	Data []byte
}
