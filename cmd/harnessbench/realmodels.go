package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/ablations/models"
	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
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
	for _, m := range suite.Models {
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

// reach makes what asks the models of a run. A key that the environment does not
// have is an error with exit 3, before anything is run.
func reach(used *models.File) (trial.Provider, error) {
	if used == nil {
		return nil, nil
	}
	p, err := newProvider(used, os.Getenv)
	return p, cli.WithCode(cli.CannotJudge, err)
}

// newProvider is what package provider gives.
var newProvider = func(*models.File, func(string) string) (trial.Provider, error) {
	return nil, errors.New("no adapter")
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
