package replayer

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
)

// withoutLater returns a configuration as the version would have written it that
// recorded one: without the guards that did not exist then. They are off in it, so
// nothing is lost. What cannot be read comes back as it is, and differs.
func withoutLater(now, recorded []byte) []byte {
	cur, err := splitObject(now)
	rec, rerr := splitObject(recorded)
	if err != nil || rerr != nil {
		return now
	}
	guards, err := splitObject(cur["guards"])
	had, rerr := splitObject(rec["guards"])
	if err != nil || rerr != nil {
		return now
	}
	dropped := false
	for name, row := range guards {
		var set struct {
			Mode guard.Mode `json:"mode"`
		}
		if _, known := had[name]; !known && json.Unmarshal(row, &set) == nil && set.Mode == guard.Off {
			delete(guards, name)
			dropped = true
		}
	}
	if !dropped {
		return now
	}
	cur["guards"] = joinObject(guards)
	return joinObject(cur)
}

// splitObject is splitPayload for a whole object.
func splitObject(obj []byte) (map[string][]byte, error) {
	obj = bytes.TrimSuffix(bytes.TrimPrefix(obj, []byte("{")), []byte("}"))
	if len(obj) == 0 {
		return map[string][]byte{}, nil
	}
	return splitPayload(append([]byte{','}, obj...))
}

// joinObject is the canonical object of its members.
func joinObject(members map[string][]byte) []byte {
	out := []byte{'{'}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(model.AppendString(out, name), ':')
		out = append(out, members[name]...)
	}
	return append(out, '}')
}
