package session

import (
	"slices"
	"strconv"

	"github.com/harnessbench/harnessbench/loop/model"
)

// CallsKind is the member "kind" of the config of recorded calls.
const CallsKind = "calls"

// IsCalls reports whether the header is that of recorded calls: what a loop that
// is not ours asked through a wrapped model, and what it was answered.
func (h *Header) IsCalls() bool { return h.kind() == CallsKind }

// kind is the config's member of that name; a session of our loop has none.
func (h *Header) kind() (kind string) {
	err := members(h.Config, func(key string, v []byte) (err error) {
		if key == "kind" {
			kind, err = unquote(v)
		}
		return err
	})
	if err != nil {
		return ""
	}
	return kind
}

// NumberCalls gives the calls of an answer ids that depend on nothing but its
// place, call_TURN_INDEX, the turn counted from 1, after the name of a lane that
// is not the main one: a loop that puts them into its next request asks the same
// when it is replayed. resp itself is not changed.
func NumberCalls(resp *model.Response, lane string, turn int) *model.Response {
	out := *resp
	out.Items = slices.Clone(resp.Items)
	stem := "call_"
	if lane != "" {
		stem += lane + "_"
	}
	n := 0
	for i := range out.Items {
		if out.Items[i].Type == model.CallItem {
			out.Items[i].Call.ID = stem + strconv.Itoa(turn) + "_" + strconv.Itoa(n)
			n++
		}
	}
	return &out
}
