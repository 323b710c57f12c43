package mutate

import (
	"cmp"
	"container/heap"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer"
)

// Options say how much is tried.
type Options struct {
	// Sample is how many changes of each class are tried over all sessions; 0 =
	// every change of every session.
	Sample int
	Seed   uint64 // of the choice
	Jobs   int    // sessions at a time; 0 = 1
	// Tried, when set, hears of every change and its outcome, one at a time and in
	// no order.
	Tried func(*Tried)

	replay replayFunc // stands in for the replay in tests
}

type replayFunc func(ctx context.Context, rd *session.Reader, blobs session.Blobs, name string) (*replayer.Report, error)

func strict(ctx context.Context, rd *session.Reader, blobs session.Blobs, name string) (*replayer.Report, error) {
	return replayer.Reader(ctx, rd, blobs, name, replayer.Options{})
}

// Corpus tries changes of sessions. Sessions that do not replay as they are
// cannot be judged and are listed in the result; the error is only for a
// cancelled ctx.
func Corpus(ctx context.Context, paths []string, o Options) (*Result, error) {
	if o.replay == nil {
		o.replay = strict
	}
	c := &corpus{o: o, res: newResult(o)}
	chosen, usable, err := c.choose(ctx, paths)
	if err != nil {
		return nil, err
	}
	err = c.each(ctx, usable, func(path string) {
		orig, err := load(path)
		if err != nil {
			c.unjudged(path, err.Error())
			return
		}
		orig.replay = o.replay
		run := func(ch *Change) {
			if ctx.Err() == nil {
				t := orig.try(ctx, ch)
				c.mu.Lock()
				c.res.add(&t)
				if c.o.Tried != nil {
					c.o.Tried(&t)
				}
				c.mu.Unlock()
			}
		}
		if chosen == nil {
			if err := orig.each(run); err != nil {
				c.unjudged(path, err.Error())
			}
			return
		}
		for _, ch := range chosen[path] {
			run(ch)
		}
	})
	if err != nil {
		return nil, err
	}
	c.res.finish()
	return c.res, nil
}

// corpus is one run.
type corpus struct {
	o   Options
	mu  sync.Mutex
	res *Result
}

func (c *corpus) unjudged(path, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.res.Unjudged = append(c.res.Unjudged, Unjudged{path, reason})
}

// each calls fn for each path, several at a time.
func (c *corpus) each(ctx context.Context, paths []string, fn func(path string)) error {
	next := make(chan string)
	var wg sync.WaitGroup
	for range min(max(c.o.Jobs, 1), max(len(paths), 1)) {
		wg.Go(func() {
			for path := range next {
				fn(path)
			}
		})
	}
feed:
	for _, path := range paths {
		select {
		case next <- path:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	wg.Wait()
	return ctx.Err()
}

// each calls fn with every change of the session.
func (o *original) each(fn func(*Change)) error {
	for i, l := range o.lines {
		var next *session.Line
		if i+1 < len(o.lines) {
			next = o.lines[i+1]
		}
		if err := each(o.path, l, next, fn); err != nil {
			return err
		}
	}
	return nil
}

// choose replays every session as it is, and draws the changes to try; the map
// is nil when all are tried.
func (c *corpus) choose(ctx context.Context, paths []string) (map[string][]*Change, []string, error) {
	classes := map[string]*draw{}
	var usable []string
	var mu sync.Mutex
	err := c.each(ctx, paths, func(path string) {
		if isWire(path) {
			c.mu.Lock()
			c.res.Skipped = append(c.res.Skipped, path)
			c.mu.Unlock()
			return
		}
		if reason := c.sound(ctx, path); reason != "" {
			c.unjudged(path, reason)
			return
		}
		drawn, err := c.drawFile(path)
		if err != nil {
			c.unjudged(path, err.Error())
			return
		}
		mu.Lock()
		defer mu.Unlock()
		usable = append(usable, path)
		for class, d := range drawn {
			if classes[class] == nil {
				classes[class] = &draw{most: c.o.Sample}
			}
			classes[class].merge(d)
		}
	})
	slices.Sort(usable)
	if err != nil || c.o.Sample == 0 {
		return nil, usable, err
	}
	chosen := map[string][]*Change{}
	for _, d := range classes {
		for _, t := range d.tickets {
			chosen[t.change.Path] = append(chosen[t.change.Path], t.change)
		}
	}
	used := usable[:0:0]
	for _, path := range usable {
		if len(chosen[path]) > 0 {
			used = append(used, path)
		}
	}
	return chosen, used, nil
}

// isWire reports whether a file is recorded traffic.
func isWire(path string) bool {
	s, err := session.Open(path)
	if err != nil {
		return false
	}
	defer s.Close()
	l, err := s.Next()
	if err != nil {
		return false
	}
	h, err := l.Header()
	return err == nil && h.IsWire()
}

// sound says why a session cannot be judged: it does not replay as it is.
func (c *corpus) sound(ctx context.Context, path string) string {
	rep, err := replayer.File(ctx, path, replayer.Options{})
	switch {
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case err != nil:
		return err.Error()
	case rep.Verdict.Exit() != 0:
		return fmt.Sprintf("does not replay as it is: %s %s", rep.Verdict, rep.Reason)
	}
	return ""
}

// drawFile draws from the changes of one session, reading it line by line.
func (c *corpus) drawFile(path string) (map[string]*draw, error) {
	drawn := map[string]*draw{}
	if c.o.Sample == 0 {
		return drawn, nil
	}
	s, err := session.Open(path)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	take := func(ch *Change) {
		d := drawn[ch.class()]
		if d == nil {
			d = &draw{most: c.o.Sample}
			drawn[ch.class()] = d
		}
		d.put(ticket{c.ticket(ch), ch})
	}
	var last *session.Line
	for {
		l, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if l.Offset > MaxSession {
			return nil, fmt.Errorf("has more than %d MiB: too large to be changed line by line", MaxSession>>20)
		}
		if last != nil {
			if err := each(path, last, l, take); err != nil {
				return nil, err
			}
		}
		last = l.Clone()
	}
	if last != nil {
		err = each(path, last, nil, take)
	}
	return drawn, err
}

// ticket numbers a change: the smallest of each class are tried. It depends on
// seed, class, and where the change is, so a choice can be repeated.
func (c *corpus) ticket(ch *Change) uint64 {
	b := binary.BigEndian.AppendUint64(nil, c.o.Seed)
	b = fmt.Appendf(b, "%s\x00%s\x00%d\x00%s", ch.class(), ch.Path, ch.Line, ch.Pointer)
	sum := sha256.Sum256(b)
	return binary.BigEndian.Uint64(sum[:])
}

type ticket struct {
	number uint64
	change *Change
}

func (t ticket) compare(u ticket) int {
	return cmp.Or(cmp.Compare(t.number, u.number), cmp.Compare(t.change.Path, u.change.Path),
		cmp.Compare(t.change.Line, u.change.Line), cmp.Compare(t.change.Pointer, u.change.Pointer))
}

// draw keeps the smallest tickets of a class: a heap, the largest on top.
type draw struct {
	most    int
	tickets []ticket
}

func (d *draw) Len() int           { return len(d.tickets) }
func (d *draw) Less(i, j int) bool { return d.tickets[i].compare(d.tickets[j]) > 0 }
func (d *draw) Swap(i, j int)      { d.tickets[i], d.tickets[j] = d.tickets[j], d.tickets[i] }
func (d *draw) Push(x any)         { d.tickets = append(d.tickets, x.(ticket)) }
func (d *draw) Pop() any {
	last := d.tickets[len(d.tickets)-1]
	d.tickets = d.tickets[:len(d.tickets)-1]
	return last
}

func (d *draw) put(t ticket) {
	if len(d.tickets) == d.most {
		if d.tickets[0].compare(t) <= 0 {
			return
		}
		heap.Pop(d)
	}
	heap.Push(d, t)
}

func (d *draw) merge(o *draw) {
	for _, t := range o.tickets {
		d.put(t)
	}
}
