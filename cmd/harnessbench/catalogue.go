package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/sim"
	"github.com/harnessbench/harnessbench/scenarios"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// catalogue knows scenarios by their tasks, for simulated models that answer over
// the wire.
type catalogue struct {
	list   []*scenarios.Scenario // those given first, then the embedded ones
	byTask map[model.Digest]*scenarios.Scenario
	byName map[string]*scenarios.Scenario
}

// newCatalogue loads the embedded scenarios and those at paths.
func newCatalogue(paths []string) (*catalogue, error) {
	c := &catalogue{byTask: map[model.Digest]*scenarios.Scenario{}, byName: map[string]*scenarios.Scenario{}}
	for _, path := range paths {
		sc, err := loadScenario(path)
		if err != nil {
			return nil, cli.WithCode(cli.Wrong, err)
		}
		if sc.Oracle == nil {
			return nil, cli.Usagef("add an oracle.yaml: it says how the task is done", "%s: simulated models do not know how to solve it", path)
		}
		c.list = append(c.list, sc)
	}
	embedded, err := builtin.All()
	if err != nil {
		return nil, err
	}
	c.list = append(c.list, embedded...)
	for _, sc := range c.list {
		task := model.SumString(strings.TrimSpace(sc.Instruction))
		if c.byTask[task] == nil {
			c.byTask[task] = sc
		}
		c.byName[sc.Digest] = sc
	}
	return c, nil
}

// shortTask is the length from which a task is looked for within a longer text:
// agents wrap the task in words of their own.
const shortTask = 24

// find returns the scenario whose task a text is: by its digest, white space
// around it apart, else the one with the longest task that the text contains.
func (c *catalogue) find(text string) (string, bool) {
	text = strings.TrimSpace(text)
	if sc := c.byTask[model.SumString(text)]; sc != nil {
		return sc.Digest, true
	}
	var best *scenarios.Scenario
	longest := shortTask - 1
	for _, sc := range c.list {
		task := strings.TrimSpace(sc.Instruction)
		if len(task) > longest && strings.Contains(text, task) {
			best, longest = sc, len(task)
		}
	}
	if best == nil {
		return "", false
	}
	return best.Digest, true
}

// model makes the model of a repetition of a scenario that find named.
func (c *catalogue) model(name, profile string, luck uint64) (*sim.Model, error) {
	sc := c.byName[name]
	if sc == nil {
		return nil, fmt.Errorf("no scenario %s", name)
	}
	return trial.Simulated(sc, profile, luck)
}

// loadScenario loads a scenario from its folder or its txtar archive.
func loadScenario(path string) (*scenarios.Scenario, error) {
	if !strings.HasSuffix(path, ".txtar") {
		return scenarios.Load(path)
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: there is no such archive", path)
	}
	if err != nil {
		return nil, err
	}
	const most = 64 << 20
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, fmt.Errorf("%s: a scenario archive is a file of at most %d bytes", path, most)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return scenarios.LoadTxtar(path, data)
}
