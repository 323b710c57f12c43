package agent

import (
	"testing"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
	"github.com/harnessbench/harnessbench/loop/workspace"
	"github.com/harnessbench/harnessbench/replayer/replaytest"
)

// The loop written by hand: ten lines make a recorded session its test.
func TestAnswer(t *testing.T) {
	m := replaytest.Model(t, "testdata/answer.session.jsonl", ask)
	got, err := Answer(t.Context(), m, "What do a kilo of apples and a kilo of pears cost?")
	if err != nil {
		t.Fatal(err)
	}
	if want := "Apples are 1.20 a kilo, pears 2.50 a kilo."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// questions are the sessions of testdata/shop, by name.
var questions = map[string]string{
	"plums":   "What does a kilo of plums cost?",
	"durians": "What does a kilo of durians cost?",
}

// Package loop with a tool of one's own: every session of the folder is replayed,
// its guards and its end included.
func TestShop(t *testing.T) {
	replaytest.Test(t, "testdata/shop/*.session.jsonl", func(t testing.TB, name string) *replaytest.Loop {
		return &replaytest.Loop{
			Settings: Shop(modelID, questions[name]),
			Tools:    func(workspace.Workspace) (*tool.Set, error) { return Tools() },
			Model:    func() (model.Model, error) { return ask() },
		}
	})
}
