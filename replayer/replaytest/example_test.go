package replaytest_test

import (
	"os"
	"testing"

	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/openai"
	"github.com/harnessbench/harnessbench/loop/tool"
	"github.com/harnessbench/harnessbench/loop/tool/builtin"
	"github.com/harnessbench/harnessbench/loop/workspace"
	"github.com/harnessbench/harnessbench/replayer/replaytest"
)

// A test of a loop of package loop over files, with the built-in tools. The
// examples folder has a whole module.
func ExampleTest() {
	_ = func(t *testing.T) { // func TestNotes(t *testing.T)
		replaytest.Test(t, "testdata/*.session.jsonl", func(t testing.TB, name string) *replaytest.Loop {
			return &replaytest.Loop{
				Settings: loop.Settings{
					System: "You keep notes.", Task: "Copy a.txt to b.txt.",
					Params: model.Params{Model: "openai/gpt-4o-mini"},
					Guards: guard.MustProfile(guard.ProfileDefault), Limits: guard.Backstop{Turns: 20},
				},
				Files: map[string]string{"a.txt": "milk\n"},
				Tools: func(ws workspace.Workspace) (*tool.Set, error) { return tool.NewSet(builtin.Tools(ws)...) },
				Model: newModel,
			}
		})
	}
}

// newModel makes the real model: only -update asks for it.
func newModel() (model.Model, error) {
	return openai.New(openai.Options{ID: "openai/gpt-4o-mini", Key: os.Getenv("OPENAI_API_KEY")})
}
