package replayer_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/cache"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

func replaysExactly(t *testing.T, what string, whole []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x"+session.Suffix)
	if err := os.WriteFile(path, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	rep, err := replayer.File(context.Background(), path, replayer.Options{})
	if err != nil || rep.Verdict != replayer.Exact {
		t.Errorf("%s: %+v, %v", what, rep, err)
	}
}

// Sessions in which another model was asked, arguments were repaired, or answers
// came from a cache replay without that model and that cache, and are resumed
// after every line.
func TestRecoveredSessions(t *testing.T) {
	for _, tt := range []struct{ id, guard, model, shows string }{
		{"dead-endpoint", "fallback", "sim/trap-fallback", `"model":"sim/oracle"`},
		{"withdrawn-model", "fallback", "sim/trap-fallback", `asking sim/oracle`},
		{"fenced-arguments", "argument_repair", "sim/trap-argument_repair", `"act":"repair"`},
		{"cut-minutes", "argument_repair", "sim/trap-argument_repair", `"act":"explain"`},
		{"asked-before", "response_cache", "sim/weak", `"cache":"hit"`},
	} {
		for _, mode := range []guard.Mode{guard.Enforce, guard.Shadow, guard.Off} {
			sc, err := builtin.Get(tt.id)
			if err != nil {
				t.Fatal(err)
			}
			set, err := guard.MustProfile(guard.ProfileDefault).With(tt.guard, mode)
			if err != nil {
				t.Fatal(err)
			}
			spec := trial.Spec{Scenario: sc, Model: tt.model, Arm: "default", Guards: set, Seed: 1, Fallbacks: []string{"sim/oracle", tt.model}}
			whole, lines := finished(t, spec)
			if mode == guard.Enforce && !bytes.Contains(whole, []byte(tt.shows)) {
				t.Errorf("%s: no %s in the session", tt.id, tt.shows)
			}
			replaysExactly(t, tt.id+" "+string(mode), whole)
			if mode == guard.Off {
				continue
			}
			for n := 1; n < len(lines)-1; n++ {
				if bytes.Contains(lines[n-1], []byte(`"effect":"external"`)) {
					continue // it may have happened: TestResumeDoesNotPayTwice
				}
				if got, _, _ := resumeFrom(t, spec, bytes.Join(lines[:n], nil)); !bytes.Equal(got, whole) {
					t.Errorf("%s, %s: cut after line %d: the session differs", tt.id, mode, n)
				}
			}
		}
	}
}

// broken is a cache that never works.
type broken struct{}

func (broken) Get(cache.Key) (*model.Response, error) { return nil, errors.New("no medium") }

func (broken) Put(cache.Key, *model.Response) error { return errors.New("read-only") }

// A failing cache changes nothing of a trial but the notes that name it, also
// beside errors and dropped answers.
func TestAFailingCacheOnlySaysSo(t *testing.T) {
	for _, id := range []string{"flaky-endpoint", "truncated-empty"} {
		sc, err := builtin.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		set, err := guard.MustProfile(guard.ProfileDefault).With("response_cache", guard.Enforce)
		if err != nil {
			t.Fatal(err)
		}
		spec := trial.Spec{Scenario: sc, Model: "sim/weak", Arm: "default", Guards: set, Seed: 1}
		want, _ := finished(t, spec)
		got, _ := recordedBy(t, spec, trial.Options{Cache: broken{}})
		replaysExactly(t, id, got)
		notes, calls := bytes.Count(got, []byte(`"what":"response cache: it could not be read: no medium`)), bytes.Count(got, []byte(`"t":"request"`))
		if notes != calls || calls == 0 {
			t.Errorf("%s: %d notes for %d model calls", id, notes, calls)
		}
		if a, b := stripped(t, want), stripped(t, got); a != b {
			t.Errorf("%s: the sessions differ\n%s\n%s", id, a, b)
		}
	}
}

// stripped is what a session says, without what stands there for a failing cache
// and without what depends on it: places, digests of lines and inputs.
func stripped(t *testing.T, whole []byte) string {
	t.Helper()
	var b strings.Builder
	rd := session.NewReader(bytes.NewReader(whole))
	for {
		l, err := rd.Next()
		if err != nil {
			return b.String()
		}
		if l.Type == session.TypeNote || l.Type == session.TypeState || l.Type == session.TypeFooter {
			continue
		}
		text := string(l.Payload())
		if at := strings.Index(text, `,"cache_failed":"`); at >= 0 {
			end := at + len(`,"cache_failed":"`)
			end += strings.IndexByte(text[end:], '"') + 1
			text = text[:at] + text[end:]
		}
		b.WriteString(string(l.Type) + " " + text + "\n")
	}
}
