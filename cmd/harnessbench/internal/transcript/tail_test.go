package transcript_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/transcript"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// slow is a writer that tells how much came.
type slow struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *slow) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(b)
}

func (s *slow) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// wait waits until what came holds a text.
func (s *slow) wait(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if strings.Contains(s.String(), text) {
			return
		}
	}
	t.Fatalf("%q never came:\n%s", text, s.String())
}

// follow shows a session while it is written.
func follow(t *testing.T, path string, stop <-chan struct{}) (*slow, <-chan error) {
	t.Helper()
	tail, err := transcript.OpenTail(path, stop, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	out, done := &slow{}, make(chan error, 1)
	go func() {
		err := transcript.Show(out, session.NewReader(tail), transcript.Options{Live: true})
		tail.Close()
		done <- err
	}()
	return out, done
}

// A session is shown line by line as it is written, half lines included, and to
// its end when it gets its name.
func TestFollow(t *testing.T) {
	raw, _ := simulate(t, "sim/oracle", "default", set(t))
	path := filepath.Join(t.TempDir(), "x"+session.Suffix)
	f, err := os.Create(path + session.PartialSuffix)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	put := func(b []byte) {
		t.Helper()
		if _, err := f.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	third := bytes.Index(raw, []byte(`"turn":3`))
	put(raw[:third]) // within a line
	out, done := follow(t, path, nil)
	out.wait(t, "turn 2")
	if strings.Contains(out.String(), "turn 3") {
		t.Error("turn 3 was shown before it was written")
	}
	put(raw[third:])
	out.wait(t, "completed")
	select {
	case <-done:
		t.Error("it ended before the file got its name")
	case <-time.After(20 * time.Millisecond):
	}
	if err := os.Rename(path+session.PartialSuffix, path); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	var whole strings.Builder
	if err := transcript.Show(&whole, reader(raw), transcript.Options{}); err != nil || out.String() != whole.String() {
		t.Errorf("%v: following shows something else:\n%s\n%s", err, out.String(), whole.String())
	}
	// A finished one is read to its end.
	out, done = follow(t, path, nil)
	if err := <-done; err != nil || out.String() != whole.String() {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// Following ends when the operator says so, and when the file is taken away.
func TestFollowStops(t *testing.T) {
	raw, _ := simulate(t, "sim/oracle", "default", set(t))
	for name, end := range map[string]func(path string, stop chan struct{}) error{
		"stopped": func(_ string, stop chan struct{}) error { close(stop); return nil },
		"removed": func(path string, _ chan struct{}) error { return os.Remove(path) },
		"another file of the name": func(path string, _ chan struct{}) error {
			if err := os.WriteFile(path+"2", nil, 0o600); err != nil {
				return err
			}
			return os.Rename(path+"2", path)
		},
	} {
		path, stop := filepath.Join(t.TempDir(), "x"+session.Suffix), make(chan struct{})
		if err := os.WriteFile(path+session.PartialSuffix, raw[:len(raw)/2], 0o600); err != nil {
			t.Fatal(err)
		}
		out, done := follow(t, path, stop)
		out.wait(t, "turn 1")
		if err := end(path+session.PartialSuffix, stop); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil || !strings.Contains(out.String(), "The session has no end") {
			t.Errorf("%s: %v\n%s", name, err, out.String())
		}
	}
}

func TestFollowNothing(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"none" + session.Suffix, "x" + session.Suffix + session.ZstdSuffix, ""} {
		if _, err := transcript.OpenTail(filepath.Join(dir, name), nil, time.Millisecond); err == nil {
			t.Errorf("%q was opened", name)
		}
	}
}
