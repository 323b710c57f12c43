package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/ablations/models"
	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/provider"
	"github.com/harnessbench/harnessbench/loop/model/limit"
)

// modelsFlag adds --models.
func modelsFlag(fl *pflag.FlagSet, file *string) {
	fl.StringVar(file, "models", "", "models file for models that are not simulated (default: $"+models.EnvFile+", else openai/... by $OPENAI_BASE_URL and $OPENAI_API_KEY)")
}

// useModels looks the suite's models up in the models file and returns what the
// suite uses of it; nil when all its models are simulated. Without a model to
// look up, only a file that was named is read.
func useModels(suite *design.Suite, file string) (*models.File, error) {
	if file == "" && simulatedOnly(suite) {
		return nil, nil
	}
	f, err := models.Open(file, os.Getenv)
	if err != nil {
		return nil, cli.WithCode(cli.Wrong, err)
	}
	used, err := suite.Use(f)
	if err != nil {
		return nil, &cli.Exit{Code: cli.Wrong, Err: err, Hint: lookedUp(file)}
	}
	return used, nil
}

// lookedUp says which models file a command works with.
func lookedUp(file string) string {
	switch env := os.Getenv(models.EnvFile); {
	case file != "":
		return "the models file is " + file
	case env != "":
		return "the models file is " + env + ", which $" + models.EnvFile + " names"
	}
	return "without a models file only openai/... is known; name one with --models or $" + models.EnvFile
}

func simulatedOnly(suite *design.Suite) bool {
	for _, m := range suite.Asked() {
		if !trial.IsSimulated(m) {
			return false
		}
	}
	return true
}

// resumeModels is the models file of a run that is taken up: what it kept, or the
// file that is named, which must say the same of the models. Accounts may have
// moved to another address meanwhile.
func resumeModels(plan *design.Plan, kept *models.File, file string) (*models.File, error) {
	switch {
	case simulatedOnly(plan.Suite):
		return nil, nil
	case file != "":
		f, err := models.Load(file)
		if err != nil {
			return nil, cli.WithCode(cli.Wrong, err)
		}
		if err := plan.Same(f); err != nil {
			return nil, cli.WithCode(cli.Wrong, fmt.Errorf("%s: %w", file, err))
		}
		used, err := plan.Suite.Use(f)
		return used, cli.WithCode(cli.Wrong, err)
	case kept == nil:
		return nil, cli.Usagef("name the models file of the run: --models FILE", "the run folder does not say where its models are reached")
	}
	return kept, nil
}

// reach makes what asks the models of a run; nil when all are simulated. A key
// that the environment does not have is an error with exit 3, before anything is
// run.
func reach(used *models.File) (*provider.Provider, error) {
	if used == nil {
		return nil, nil
	}
	p, err := provider.New(used, os.Getenv)
	if err != nil {
		return nil, cli.WithCode(cli.Wrong, err)
	}
	for _, m := range used.Models {
		err := p.Check(m.ID)
		var missing *provider.MissingError
		if errors.As(err, &missing) {
			return nil, &cli.Exit{Code: cli.CannotJudge, Err: fmt.Errorf("model %s: %w", m.ID, err), Hint: "export it and try again; nothing was run"}
		}
		if err != nil {
			return nil, cli.WithCode(cli.Wrong, err)
		}
	}
	return p, nil
}

// places says how many trials on models of a provider can run at a time: as many
// as its account takes requests.
func places(used *models.File) func(string) int {
	return func(name string) int {
		if used != nil {
			for _, p := range used.Providers {
				if p.ID == name && p.Limits.Concurrency > 0 {
					return p.Limits.Concurrency
				}
			}
		}
		return models.DefaultConcurrency
	}
}

// accountsEvery is how often a run looks how its accounts stand.
const accountsEvery = 15 * time.Second

// watchAccounts says on stderr when a provider holds the run back, until the
// returned function is called.
func watchAccounts(bar *cli.Progress, p *provider.Provider) (stop func()) {
	if p == nil {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(accountsEvery)
		defer tick.Stop()
		calls, throttled := map[string]int64{}, map[string]int64{}
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			for _, a := range p.Accounts() {
				if n := a.Throttled - throttled[a.Provider]; n > 0 || a.Breaker != limit.Closed {
					bar.Note("provider %s: %.0f requests/min, %d in flight, %d waiting, %s in the last %s, breaker %s", a.Provider,
						float64(a.Calls-calls[a.Provider])/accountsEvery.Minutes(), a.InFlight, a.Waiting, cli.Count(int(n), "429"), accountsEvery, a.Breaker)
				}
				calls[a.Provider], throttled[a.Provider] = a.Calls, a.Throttled
			}
		}
	}()
	return func() { close(done) }
}

// printAccounts says how much a run's accounts held it back, where they did.
func printAccounts(a *app, p *provider.Provider) {
	if p == nil {
		return
	}
	for _, x := range p.Accounts() {
		if x.Throttled > 0 || x.Opened > 0 {
			fmt.Fprintf(a.stderr, "provider %s: %d requests, %d refused with 429; all were held back for %.1f s, and the breaker opened %d times\n",
				x.Provider, x.Calls, x.Throttled, x.Paused.Seconds(), x.Opened)
		}
	}
}
