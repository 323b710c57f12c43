package loop

import "github.com/harnessbench/harnessbench/loop/model"

// asRecorded is the usage of one call as a session holds it. Counts beside Unknown
// are no numbers and are not written down, so no budget may count them either: a
// replay would end elsewhere.
func asRecorded(u model.Usage) model.Usage {
	if u.Unknown {
		return model.Usage{Unknown: true}
	}
	return u
}
