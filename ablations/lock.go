package ablations

import (
	"fmt"
	"os"

	"github.com/goccy/go-yaml"

	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

// Lock is a suite as it was run, every digest included: the content of
// suite.lock.yaml. Two runs with equal locks on simulated models give equal
// sessions and results.
type Lock struct {
	Schema      string         `yaml:"schema"`
	Name        string         `yaml:"name"`
	Seed        uint64         `yaml:"seed"`
	Repetitions int            `yaml:"repetitions"`
	Models      []string       `yaml:"models"`
	Scenarios   []LockScenario `yaml:"scenarios"`
	Arms        []LockArm      `yaml:"arms"`
	Comparisons []Comparison   `yaml:"comparisons"`
}

// LockSchema is the value of a lock's schema key.
const LockSchema = "harnessbench/suite-lock/v1"

// LockScenario names a scenario and what it was.
type LockScenario struct {
	ID     string `yaml:"id"`
	Digest string `yaml:"digest"` // SHA-256, hex
	Source string `yaml:"source"` // as the suite found it
}

// LockArm is one arm with every guard setting, as canonical JSON.
type LockArm struct {
	Name   string `yaml:"name"`
	Guards string `yaml:"guards"`
}

// Lock describes the plan.
func (p *Plan) Lock() Lock {
	l := Lock{Schema: LockSchema, Name: p.Suite.Name, Seed: p.Suite.Seed, Repetitions: p.Suite.Repetitions,
		Models: p.Suite.Models, Comparisons: p.Comparisons}
	for _, s := range p.Scenarios {
		l.Scenarios = append(l.Scenarios, LockScenario{s.ID, s.Digest, s.Source})
	}
	for _, a := range p.Arms {
		l.Arms = append(l.Arms, LockArm{a.Name, string(a.Guards.AppendJSON(nil))})
	}
	return l
}

// Encode writes the lock as YAML; equal locks give equal bytes.
func (l Lock) Encode() ([]byte, error) { return yaml.Marshal(l) }

// ReadLock reads a lock file and returns it with its bytes.
func ReadLock(path string) (Lock, []byte, error) {
	var l Lock
	info, err := os.Stat(path)
	if err != nil {
		return l, nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxLockBytes {
		return l, nil, fmt.Errorf("%s: a lock is a file of at most %d bytes", path, maxLockBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return l, nil, err
	}
	if err := strictyaml.Unmarshal(path, data, &l); err != nil {
		return l, nil, err
	}
	if l.Schema != LockSchema {
		return l, nil, fmt.Errorf("%s: schema is %q, not %s", path, l.Schema, LockSchema)
	}
	return l, data, nil
}

const maxLockBytes = 16 << 20
