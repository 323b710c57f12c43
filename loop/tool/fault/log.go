package fault

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
)

// Injection is one call that a fault struck and changed.
type Injection struct {
	Fault int // its place among the faults of its tool
	Kind  Kind
	Tool  string
	Lane  string
	Turn  int           // from 1
	Index int           // in its batch
	Nth   int           // calls of this tool before it in the lane
	Ran   bool          // whether the wrapped tool was run
	Delay time.Duration // by which the call takes longer than the tool took: declared, or waited for while its context lasted
	Was   model.Digest  // of what the wrapped tool gave; zero when it was not run
	Gave  model.Digest  // of what the caller got
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

// Injections returns what was injected so far, ordered by lane, turn and place in
// the batch, whatever ran beside what.
func (l *Log) Injections() []Injection {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := slices.Clone(l.list)
	slices.SortStableFunc(out, func(a, b Injection) int {
		return cmp.Or(cmp.Compare(a.Lane, b.Lane), cmp.Compare(a.Turn, b.Turn), cmp.Compare(a.Index, b.Index),
			cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Nth, b.Nth))
	})
	return out
}

// Digest is the SHA-256 digest of all that a call gave. An observer around a
// wrapper computes it and compares it with the log.
func Digest(res tool.Result) model.Digest {
	var b []byte
	field := func(s string) { b = append(binary.BigEndian.AppendUint64(b, uint64(len(s))), s...) }
	number := func(n int64) { b = binary.BigEndian.AppendUint64(b, uint64(n)) }
	flag := func(set bool) {
		if b = append(b, 0); set {
			b[len(b)-1] = 1
		}
	}
	field(string(res.Outcome))
	field(res.Text)
	number(int64(res.Took))
	flag(res.Declared)
	if flag(res.Exit != nil); res.Exit != nil {
		number(int64(*res.Exit))
	}
	for i := range res.Delta {
		d := &res.Delta[i]
		field(d.Op)
		field(d.Path)
		b = append(append(b, d.Before[:]...), d.After[:]...)
		number(d.Size)
		number(int64(d.Mode))
		field(string(d.Content))
	}
	return model.Sum(b)
}
