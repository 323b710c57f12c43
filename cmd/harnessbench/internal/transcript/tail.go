package transcript

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/harnessbench/harnessbench/recorder/session"
)

// Tail reads a session file while it is written. At the end of what is there it
// waits for more; its own end is when the file got its name, is gone, or the
// reader was told to stop.
type Tail struct {
	f       *os.File
	partial string // the name it has while it is written
	stop    <-chan struct{}
	poll    time.Duration
	gone    bool // the partial file is no more: what is there is all
}

// Poll is how often a tail looks for more.
const Poll = 100 * time.Millisecond

// OpenTail opens the session at path, which may be named as it will be or as it
// is while it is written. A finished one is read to its end. stop may be nil.
func OpenTail(path string, stop <-chan struct{}, poll time.Duration) (*Tail, error) {
	name := strings.TrimSuffix(path, session.PartialSuffix)
	if strings.HasSuffix(name, session.ZstdSuffix) {
		return nil, fmt.Errorf("session %s: a compressed session cannot be followed: its lines come late", path)
	}
	t := &Tail{partial: name + session.PartialSuffix, stop: stop, poll: poll}
	for _, p := range []string{t.partial, name} {
		st, err := os.Stat(p)
		if err != nil {
			continue
		}
		if !st.Mode().IsRegular() {
			return nil, fmt.Errorf("session %s: is no regular file", p)
		}
		// It may get its name between two looks: then the next one finds it.
		if t.f, err = os.Open(p); err == nil {
			return t, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("session: %w", err)
		}
	}
	return nil, fmt.Errorf("session %s: there is neither this file nor one that is being written to get this name", name)
}

// Read implements io.Reader.
func (t *Tail) Read(b []byte) (int, error) {
	for {
		n, err := t.f.Read(b)
		if n > 0 || err != nil && !errors.Is(err, io.EOF) {
			return n, err
		}
		if t.gone {
			return 0, io.EOF
		}
		// Look again once it has its name: the last lines may have come between.
		if t.gone = !t.written(); t.gone {
			continue
		}
		select {
		case <-t.stop:
			return 0, io.EOF
		case <-time.After(t.poll):
		}
	}
}

// written reports whether the open file is still being written.
func (t *Tail) written() bool {
	now, err := os.Stat(t.partial)
	if err != nil {
		return false
	}
	mine, err := t.f.Stat()
	return err == nil && os.SameFile(now, mine)
}

// Close closes the file.
func (t *Tail) Close() error { return t.f.Close() }
