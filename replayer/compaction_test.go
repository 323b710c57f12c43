package replayer_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/recorder/verify"
	"github.com/harnessbench/harnessbench/replayer"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// compacted is a trial in which the conversation is rewritten.
func compacted(t *testing.T, id, profile string) trial.Spec {
	t.Helper()
	sc, err := builtin.Get(id)
	if err != nil {
		t.Fatal(err)
	}
	return trial.Spec{Scenario: sc, Model: "sim/weak", Arm: profile, Guards: guard.MustProfile(profile), Seed: 1}
}

// asks counts the requests of a session by purpose, and those that are not
// implied.
func purposes(t *testing.T, whole []byte) (of map[model.Purpose]int, explicit int) {
	t.Helper()
	of = map[model.Purpose]int{}
	for rd := session.NewReader(bytes.NewReader(whole)); ; {
		l, err := rd.Next()
		if err != nil {
			return of, explicit
		}
		if l.Type != session.TypeRequest {
			continue
		}
		r, err := l.Request()
		if err != nil {
			t.Fatal(err)
		}
		of[r.Purpose]++
		if r.Explicit {
			explicit++
		}
	}
}

// A session whose conversation was rewritten replays exactly, verifies, and is
// resumed wherever it was cut, also between the question for a summary and
// what was made of it.
func TestResumeCompaction(t *testing.T) {
	for id, want := range map[string]struct{ summaries, explicit int }{
		"trail-walk":        {2, 4},
		"ledger-no-summary": {2, 4},
		"price-dump":        {0, 1},
		"window-is-smaller": {1, 2},
	} {
		spec := compacted(t, id, guard.ProfileDefault)
		whole, lines := finished(t, spec)
		of, explicit := purposes(t, whole)
		if of[model.ForSummary] != want.summaries || explicit != want.explicit {
			t.Errorf("%s: asked %v, %d explicitly, want %+v", id, of, explicit, want)
		}
		path := filepath.Join(t.TempDir(), "x"+session.Suffix)
		if err := os.WriteFile(path, whole, 0o644); err != nil {
			t.Fatal(err)
		}
		if rep, err := replayer.File(context.Background(), path, replayer.Options{}); err != nil || rep.Verdict != replayer.Exact {
			t.Errorf("%s: %+v %v", id, rep, err)
		}
		if rep, err := verify.File(context.Background(), path, verify.Options{}); err != nil || rep.Verdict != verify.OK {
			t.Errorf("%s: %+v %v", id, rep, err)
		}
		lines = lines[:len(lines)-1]
		for n := 1; n <= len(lines); n++ {
			near := bytes.Join(lines[max(n-8, 0):min(n+2, len(lines))], nil)
			if n%9 != 0 && n != len(lines) && !bytes.Contains(near, []byte(`"purpose"`)) && !bytes.Contains(near, []byte(`"compacted"`)) {
				continue // TestResumeAfterEveryLine cuts such ones
			}
			got, live, served := resumeFrom(t, spec, bytes.Join(lines[:n], nil))
			if !bytes.Equal(got, whole) {
				t.Errorf("%s: cut after line %d: the session differs", id, n)
			}
			if all := of[""] + of[model.ForSummary]; live+served != all {
				t.Errorf("%s: cut after line %d: %d live calls and %d served ones, %d in all", id, n, live, served, all)
			}
		}
	}
}

// What a recording says was asked is what the loop asked, occurrences and purpose
// included: so arms of a block share summaries like any answer.
func TestAnswersOfSummaries(t *testing.T) {
	spec := compacted(t, "branch-stock", guard.ProfileDefault)
	spec.Model = "sim/oracle" // no error on the way: those are not shared
	type key struct {
		chain, params model.Digest
		purpose       model.Purpose
		occurrence    int
		turn, attempt int
	}
	var asked, read []key
	path := filepath.Join(t.TempDir(), "x"+session.Suffix)
	_, err := trial.Run(context.Background(), spec, trial.Options{Session: path, Sync: session.SyncNever, Watch: watch(func(ev event.Event) {
		if q, ok := ev.(*event.Request); ok {
			asked = append(asked, key{q.Req.Chain(), q.Req.ParamsDigest, q.Req.Purpose, q.Req.Occurrence, q.Req.Turn, q.Req.Attempt})
		}
	})})
	if err != nil {
		t.Fatal(err)
	}
	err = replayer.Answers(path, func(q *model.Request, _ *model.Response) {
		read = append(read, key{q.Chain(), q.ParamsDigest, q.Purpose, q.Occurrence, q.Turn, q.Attempt})
	})
	if err != nil || len(read) != len(asked) {
		t.Fatalf("%d answers of %d requests, %v", len(read), len(asked), err)
	}
	for i := range asked {
		if asked[i] != read[i] {
			t.Errorf("request %d: %+v, read %+v", i, asked[i], read[i])
		}
	}
}

type watch func(event.Event)

func (w watch) Emit(ev event.Event) error { w(ev); return nil }

// The stable prefix (tool specs, system prompt, task) is the same bytes in every
// request of a session, compacted or not, and a part is recorded once.
func TestStablePrefix(t *testing.T) {
	spec := compacted(t, "trail-walk", guard.ProfileDefault)
	var prefix []byte
	requests, summaries := 0, 0
	whole, _ := recordedBy(t, spec, trial.Options{Watch: watch(func(ev event.Event) {
		q, ok := ev.(*event.Request)
		if !ok {
			return
		}
		requests++
		if q.Req.Purpose == model.ForSummary {
			summaries++
		}
		var b []byte
		for _, p := range q.Req.Parts[:len(spec.Scenario.Tools)+2] {
			if p.Tool != nil {
				b = append(b, model.NewToolPart(*p.Tool).JSON...)
				continue
			}
			b = append(b, model.NewMessagePart(*p.Message).JSON...)
		}
		if prefix == nil {
			prefix = b
		}
		if !bytes.Equal(b, prefix) {
			t.Errorf("turn %d: the prefix changed", q.Turn)
		}
	})})
	if requests < 30 || summaries == 0 {
		t.Fatalf("%d requests, %d summaries", requests, summaries)
	}
	seen := map[session.ShortDigest]int{}
	for rd := session.NewReader(bytes.NewReader(whole)); ; {
		l, err := rd.Next()
		if err != nil {
			break
		}
		if l.Type != session.TypePart {
			continue
		}
		p, err := l.Part()
		if err != nil {
			t.Fatal(err)
		}
		if seen[p.Digest]++; seen[p.Digest] > 1 {
			t.Errorf("line %d: part %s is recorded again", l.No, p.Digest)
		}
	}
}

// A compacted session stays within the budget of bytes: what was said, once, and
// 500 a turn and 400 a call.
func TestCompactedSessionsAreSmall(t *testing.T) {
	for _, id := range []string{"branch-stock", "trail-walk", "price-dump", "contract-again"} {
		whole, _ := finished(t, compacted(t, id, guard.ProfileDefault))
		said, turns, calls := 0, 0, 0
		for rd := session.NewReader(bytes.NewReader(whole)); ; {
			l, err := rd.Next()
			if err != nil {
				break
			}
			switch l.Type {
			case session.TypeHeader, session.TypeFooter:
				said += len(l.Raw) // once a session
			case session.TypePart:
				if l.Turn == 0 {
					said += len(l.Raw)
					continue
				}
				p, err := l.Part()
				if err != nil {
					t.Fatal(err)
				}
				said += len(p.Body)
			case session.TypeResponse, session.TypeToolResult:
				for _, name := range []string{"items", "text"} {
					v, _ := l.Field(name)
					said += len(v)
				}
				if l.Type == session.TypeToolResult {
					calls++
				}
			case session.TypeGuard:
				calls++ // its firing and the parts of its own
			case session.TypeState:
				turns++
			}
		}
		if most := said + 500*turns + 400*calls; len(whole) > most {
			t.Errorf("%s: %d bytes for %d said in %d turns with %d calls; budget %d", id, len(whole), said, turns, calls, most)
		}
	}
}
