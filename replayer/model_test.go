package replayer_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/harnessbench/harnessbench/recorder"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer"
)

// A recording that is damaged anywhere, or not whole, is refused and never served
// in part.
func TestModelDamaged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "parrot"+session.Suffix)
	m, err := recorder.Model(parrot{}, path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "two"} {
		if _, err := tell(m, text); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := replayer.Model(path + session.PartialSuffix); err == nil {
		t.Error("an unfinished recording is served")
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := recorder.Model(parrot{}, path); err == nil {
		t.Error("a recording is replaced without a word")
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(dir, "bad"+session.Suffix)
	try := func(b []byte, what string, at int) {
		if err := os.WriteFile(bad, b, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := replayer.Model(bad); err == nil {
			t.Errorf("%s at byte %d: served", what, at)
		}
	}
	for i := 0; i < len(whole)-1; i += 7 {
		try(whole[:i], "cut", i)
		b := append([]byte(nil), whole...)
		b[i] ^= 1
		try(b, "flipped", i)
	}
}
