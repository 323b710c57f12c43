package replayer_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/loop/model"
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

// What a loop of one's own asks otherwise has a code, and what is left over or
// lacking too.
func TestModelCodes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "talk"+session.Suffix)
	said := func(role model.Role, text string) model.Message {
		return model.Message{Role: role, Items: []model.Item{{Type: model.Text, Text: text}}}
	}
	type asked struct {
		params model.Params
		tools  []model.ToolSpec
		talk   []model.Message
	}
	base := func() *asked {
		return &asked{model.Params{Model: "demo/parrot", MaxTokens: 9}, []model.ToolSpec{{Name: "look", Schema: `{}`}},
			[]model.Message{said(model.System, "Be brief."), said(model.User, "How long?"), said(model.Assistant, "Let me look."), said(model.ToolRole, "3 m on 2026-03-01")}}
	}
	ask := func(m model.Model, a *asked) error {
		_, err := m.Generate(context.Background(), model.NewRequest(a.params, a.tools, a.talk), nil)
		return err
	}
	rec, err := recorder.Model(parrot{}, path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(ask(rec, base()), rec.Close()); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[replayer.Code]func(*asked){
		replayer.CodeParams:       func(a *asked) { a.params.MaxTokens = 8 },
		replayer.CodeToolSpec:     func(a *asked) { a.tools = nil },
		replayer.CodeSystemPrompt: func(a *asked) { a.talk[0] = said(model.System, "Be long.") },
		replayer.CodeMessage:      func(a *asked) { a.talk[1] = said(model.User, "How wide?") },
		replayer.CodeAnswer:       func(a *asked) { a.talk[2] = said(model.Assistant, "I look.") },
		replayer.CodeObservation:  func(a *asked) { a.talk[3] = said(model.ToolRole, "3 m on 2026-03-02") },
		replayer.CodeConversation: func(a *asked) { a.talk = append(a.talk, said(model.User, "Well?")) },
	} {
		m, err := replayer.Model(path)
		if err != nil {
			t.Fatal(err)
		}
		a := base()
		change(a)
		var miss *replayer.MissError
		if !errors.As(ask(m, a), &miss) || m.Report() != miss.Report || miss.Report.Code != want || miss.Report.Divergence.Code != want {
			t.Errorf("%s: %+v", want, m.Report())
		} else if hint := miss.Report.Divergence.Hint; (want == replayer.CodeObservation) != strings.Contains(hint, "a date") {
			t.Errorf("%s: hint %q", want, hint)
		}
	}
	m, err := replayer.Model(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []replayer.Code{replayer.CodeUnused, "", replayer.CodeExhausted} {
		if got := m.Report().Code; got != want && want != replayer.CodeExhausted {
			t.Errorf("%q, want %q", got, want)
		}
		_ = ask(m, base()) // the last one is a miss
	}
	if got := m.Report().Code; got != replayer.CodeExhausted {
		t.Errorf("%q", got)
	}
}
