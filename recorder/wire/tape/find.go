package tape

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/harnessbench/harnessbench/recorder/session"
)

// ErrNone says that a folder holds no recorded traffic.
var ErrNone = errors.New("there is no recorded traffic in it")

// ManyError says that a folder holds more than one recording.
type ManyError struct {
	Dir   string
	Paths []string
}

func (e *ManyError) Error() string {
	return fmt.Sprintf("%s holds %d recordings: name one of them, for example %s", e.Dir, len(e.Paths), e.Paths[0])
}

// Find resolves a path to the file of one recording. A file is what it is. In a
// folder, itself only, it must be the one finished recording or, where there is
// none, the one that was not finished; sessions of loops are passed over.
func Find(path string) (string, error) {
	st, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("recording: %w", err)
	}
	if !st.IsDir() {
		return path, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", fmt.Errorf("recording: %w", err)
	}
	var found [2][]string // finished, partial
	for _, e := range entries {
		name, partial := strings.CutSuffix(e.Name(), session.PartialSuffix)
		if e.IsDir() || !strings.HasSuffix(strings.TrimSuffix(name, session.ZstdSuffix), session.Suffix) {
			continue
		}
		file := filepath.Join(path, e.Name())
		if !isWire(file) {
			continue
		}
		if partial {
			found[1] = append(found[1], file)
		} else {
			found[0] = append(found[0], file)
		}
	}
	list := found[0]
	if len(list) == 0 {
		list = found[1]
	}
	switch len(list) {
	case 0:
		return "", fmt.Errorf("%s: %w", path, ErrNone)
	case 1:
		return list[0], nil
	}
	return "", &ManyError{path, list}
}

// isWire reports whether a file may be recorded traffic: its header says so, or
// cannot be read, which Load will report.
func isWire(path string) bool {
	s, err := session.Open(path)
	if err != nil {
		return false
	}
	defer s.Close()
	l, err := s.Next()
	if err != nil {
		return true
	}
	h, err := l.Header()
	return err != nil || h.IsWire()
}
