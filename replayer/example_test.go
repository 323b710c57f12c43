package replayer_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// parrot says what it was told last.
type parrot struct{}

func (parrot) ID() string { return "demo/parrot" }

func (parrot) Generate(_ context.Context, req *model.Request, _ func(model.Delta)) (*model.Response, error) {
	last := req.Parts[len(req.Parts)-1].Message
	return &model.Response{Finish: model.FinishStop, Items: last.Items, Model: "demo/parrot"}, nil
}

// tell asks a model as a loop of one's own would.
func tell(m model.Model, text string) (string, error) {
	req := model.NewRequest(model.Params{Model: m.ID()}, nil,
		[]model.Message{{Role: model.User, Items: []model.Item{{Type: model.Text, Text: text}}}})
	resp, err := m.Generate(context.Background(), req, nil)
	if err != nil {
		return "", err
	}
	return model.TextOf(resp.Items), nil
}

// Any model can be recorded, and served without it. In a test, replaytest.Model
// does both.
func ExampleModel() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "parrot.session.jsonl")

	recorded, err := recorder.Model(parrot{}, path)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(tell(recorded, "Hello!"))
	if err := recorded.Close(); err != nil {
		fmt.Println(err)
	}

	served, err := replayer.Model(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(tell(served, "Hello!"))
	fmt.Println(served.Report().Verdict)

	served, _ = replayer.Model(path)
	_, err = tell(served, "Good bye!")
	var miss *replayer.MissError
	if errors.As(err, &miss) {
		d := miss.Report.Divergence
		fmt.Println(miss.Report.Verdict, d.Pointer, d.Recorded, "/", d.Actual)
	}
	// Output:
	// Hello! <nil>
	// Hello! <nil>
	// EXACT
	// DIVERGED /parts/0/content/0/text Hello! / Good bye!
}

// A fork says what another setting would have done to a session, and what that
// costs beyond what is known already.
func ExampleFork() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	parent, child := filepath.Join(dir, "parent.session.jsonl"), filepath.Join(dir, "child.session.jsonl")
	sc, err := builtin.Get("retry-trap")
	if err != nil {
		fmt.Println(err)
		return
	}
	spec := trial.Spec{Scenario: sc, Model: "sim/weak", Guards: guard.MustProfile(guard.ProfileDefault), Seed: 1}
	if _, err := trial.Run(context.Background(), spec, trial.Options{Session: parent}); err != nil {
		fmt.Println(err)
		return
	}
	f, err := replayer.Fork(context.Background(), parent, replayer.ForkOptions{
		Record: child,
		Change: func(s *loop.Settings) (err error) {
			s.Guards, err = s.Guards.WithParam("stuck", "nudge", "4")
			return err
		},
		Live: replayer.LiveTrial(func(*session.Header) (*trial.Spec, error) { return &spec, nil }, nil),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v: %d of %d turns shared, %d calls served, %d made\n", f.Fork.Set, f.Fork.Turns, f.Parent.Turns, f.Served, f.Asked)
	fmt.Printf("%s after %d turns instead of %d\n", f.End.Reason, f.End.Turns, f.Parent.Turns)
	// Output:
	// [guard.stuck.nudge=4]: 3 of 5 turns shared, 3 calls served, 3 made
	// completed after 6 turns instead of 5
}
