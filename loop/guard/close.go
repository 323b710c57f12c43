package guard

import "github.com/harnessbench/harnessbench/loop/model"

// closer is a guard whose state says that an operation is closed for now.
type closer interface {
	denies(op model.Digest) (why string, closed bool)
}

// Closed reports whether a guard in force has closed an operation, and what the
// model is told. The firing that closed it was recorded when it did.
func (s *Set) Closed(op model.Digest) (why string, closed bool) {
	for i := range s.entries {
		if e := &s.entries[i]; e.mode == Enforce {
			if c, ok := e.g.(closer); ok {
				if why, closed = c.denies(op); closed {
					return why, true
				}
			}
		}
	}
	return "", false
}
