package fault

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
)

// Injection is one call that a fault struck.
type Injection struct {
	Fault   int // its place in Options.Faults
	Kind    Kind
	Model   string // id of the wrapped model
	Lane    string
	Turn    int           // from 1
	Attempt int           // from 0, as in the request
	Purpose model.Purpose // of the request; "" = a turn
	Asked   bool          // whether the wrapped model was asked
	Delay   time.Duration // by which the call takes longer than without the fault: declared, or waited for while its context lasted
	Was     model.Digest  // of what the wrapped model gave; zero when it was not asked
	Gave    model.Digest  // of what the caller got
}

// Log collects injections. The zero Log is ready; it is safe for concurrent use.
// A nil Log takes nothing.
type Log struct {
	mu   sync.Mutex
	list []Injection
}

func (l *Log) add(in Injection) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, in)
}

// Injections returns what was injected so far, ordered by lane, turn, attempt, purpose
// and model, whatever ran beside what.
func (l *Log) Injections() []Injection {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := slices.Clone(l.list)
	slices.SortStableFunc(out, func(a, b Injection) int {
		return cmp.Or(cmp.Compare(a.Lane, b.Lane), cmp.Compare(a.Turn, b.Turn), cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.Purpose, b.Purpose), cmp.Compare(a.Model, b.Model))
	})
	return out
}

// Digest is the SHA-256 digest of all that a model call gave: an answer's items,
// stop signal, usage, model and declared time, or an error. An observer around a
// wrapper computes it and compares it with the log.
func Digest(resp *model.Response, err error) model.Digest {
	var b []byte
	field := func(s string) { b = append(binary.BigEndian.AppendUint64(b, uint64(len(s))), s...) }
	number := func(n int64) { b = binary.BigEndian.AppendUint64(b, uint64(n)) }
	usage := func(u model.Usage) {
		for _, n := range [...]int64{u.InputUncached, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning} {
			number(n)
		}
		field(strconv.FormatBool(u.Unknown))
	}
	if resp != nil {
		for i := range resp.Items {
			field(string(model.AppendItem(nil, &resp.Items[i], true)))
		}
		field(string(resp.Finish))
		field(resp.Model)
		usage(resp.Usage)
		number(int64(resp.Elapsed))
	}
	var e *model.Error
	switch {
	case errors.As(err, &e):
		field(string(e.Kind))
		field(e.Message)
		number(int64(e.Status))
		number(int64(e.RetryAfter))
		number(int64(e.Elapsed))
		usage(e.Usage)
	case err != nil:
		field(err.Error())
	}
	return model.Sum(b)
}
