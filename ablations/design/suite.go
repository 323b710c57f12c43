package design

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

// SuiteSchema is the value of a suite's schema key.
const SuiteSchema = "harnessbench/suite/v1"

// Suite is a suite file. docs/suites.md explains every key by example.
type Suite struct {
	strictyaml.Pos
	Schema      string       `yaml:"schema,required" doc:"harnessbench/suite/v1" enum:"harnessbench/suite/v1"`
	Name        string       `yaml:"name,required" doc:"letters, digits, '-', '_' and '.'; names run folders"`
	Summary     string       `yaml:"summary" doc:"what the suite is for, one line"`
	Scenarios   []string     `yaml:"scenarios" doc:"builtin/NAME or builtin/*, or folders and .txtar files relative to the suite file; * and ** are globs; default builtin/* when tags are given"`
	Tags        []string     `yaml:"tags" doc:"keep only scenarios that have one of these tags"`
	ExcludeTags []string     `yaml:"exclude_tags" doc:"drop scenarios that have one of these tags"`
	Models      []string     `yaml:"models" doc:"provider/name; default: those that arms and factors name"`
	Fallback    []string     `yaml:"fallback" doc:"the models that the guard fallback may turn to, in their order, in arms that name none"`
	Arms        []ArmSpec    `yaml:"arms" doc:"harness configurations, each a profile with changes"`
	Design      *Design      `yaml:"design" doc:"how more arms are made: explicit (none), or a mapping with kind"`
	Factors     []Factor     `yaml:"factors" doc:"what one-at-a-time, full-factorial and fractional vary"`
	Comparisons []Comparison `yaml:"comparisons" doc:"arms to be compared, besides those of the design"`
	Gates       []Gate       `yaml:"gates" doc:"bounds that the results must keep"`
	Repetitions int          `yaml:"repetitions" doc:"trials of each scenario, model and arm; default 1" min:"1" max:"100000"`
	Seed        uint64       `yaml:"seed" doc:"of the order of execution and of all luck; default 1" min:"0"`
	Concurrency int          `yaml:"concurrency" doc:"trials at a time; default 0: twice the number of CPUs" min:"0" max:"100000"`
	Coupling    string       `yaml:"coupling" doc:"shared-prefix (default): arms share model answers while their requests are equal; independent: no sharing" enum:"shared-prefix|independent"`
	Limits      Limits       `yaml:"limits" doc:"bounds of every trial; they only tighten those of the scenarios"`
	Budgets     Budgets      `yaml:"budgets" doc:"what the whole run may spend"`
	Errors      Errors       `yaml:"errors" doc:"how many errored trials are put up with"`

	// Digest is the SHA-256 of the suite file, hex.
	Digest string `yaml:"-"`

	node   *strictyaml.Node // the file, for places of mistakes
	folder string           // where relative scenarios and prompts begin
	others []string         // models that only a fallback asks, sorted
	cards  *cards           // of models that are not simulated; nil = none was looked up
}

// Bounds of a suite.
const (
	MaxArms   = 4096       // of one suite, those of its design included
	MaxTrials = 10_000_000 // of one suite

	maxSuiteBytes = strictyaml.MaxBytes
	maxNameBytes  = 100
)

// LoadSuite reads a suite file.
func LoadSuite(path string) (*Suite, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: no such file; name a suite file, the folder of a scenario, or one of %s", path, strings.Join(BuiltinSuites(), ", "))
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSuiteBytes {
		return nil, fmt.Errorf("%s: a suite is a YAML file of at most %d bytes", path, maxSuiteBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return ParseSuite(path, data)
}

// ParseSuite reads a suite. file is its name for messages; scenarios and prompt
// files are relative to its folder. Prompt files are read here, scenarios by
// [Suite.Resolve].
func ParseSuite(file string, data []byte) (*Suite, error) {
	n, err := strictyaml.Parse(file, data)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	s := &Suite{Repetitions: 1, Seed: 1, Coupling: SharedPrefix, Digest: hex.EncodeToString(sum[:]),
		node: n, folder: filepath.Dir(file)}
	if n.Kind == strictyaml.Null {
		return nil, n.Errorf("write at least schema, name, scenarios, models and arms", "the file is empty")
	}
	if strings.HasPrefix(file, BuiltinPrefix) {
		s.folder = "" // no folder at all
	}
	if err := decodeBounded(n, s); err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	if _, _, err := s.Expand(); err != nil {
		return nil, err
	}
	return s, nil
}

// Folder is where the suite's relative scenarios begin: the folder of its file,
// as an absolute path; empty for an embedded suite. It is a fact of the machine
// and stands in no lock; [PlanFromLock] needs it.
func (s *Suite) Folder() string {
	if s.folder == "" {
		return ""
	}
	if abs, err := filepath.Abs(s.folder); err == nil {
		return abs
	}
	return s.folder // the current folder is gone; then nothing relative is found
}

// at is the place of a key of the suite, or of an entry of a key's list; the
// suite's own when it is not written.
func (s *Suite) at(key string, entry ...int) strictyaml.Pos {
	n := s.node.Get(key)
	if n == nil {
		return s.Pos
	}
	if len(entry) > 0 && n.Kind == strictyaml.List && entry[0] < len(n.Items) {
		n = n.Items[entry[0]]
	}
	return n.Pos
}

// check holds the keys that stand for themselves against what they may be.
func (s *Suite) check() error {
	switch {
	case s.Schema != SuiteSchema:
		return s.at("schema").Errorf("write "+SuiteSchema, "schema is %.60q", s.Schema)
	case !plainName(s.Name):
		return s.at("name").Errorf("use letters, digits, '-', '_' and '.'", "the name %.60q cannot name a folder", s.Name)
	case strings.ContainsAny(s.Summary, "\r\n"):
		return s.at("summary").Errorf("shorten it", "the summary has several lines")
	case s.Coupling != SharedPrefix && s.Coupling != Independent:
		return s.at("coupling").Errorf("write "+SharedPrefix+" or "+Independent, "no coupling %.60q", s.Coupling)
	case len(s.Scenarios) == 0 && len(s.Tags) == 0:
		return s.at("scenarios").Errorf("name at least one, for example builtin/*", "no scenarios")
	case len(s.Scenarios) == 0:
		s.Scenarios = []string{BuiltinPrefix + "*"}
	}
	for _, list := range []struct {
		key, what string
		names     []string
	}{{"scenarios", "scenarios", s.Scenarios}, {"tags", "tag", s.Tags}, {"exclude_tags", "tag", s.ExcludeTags}, {"models", "model", s.Models}, {"fallback", "model", s.Fallback}} {
		if i := firstDuplicate(list.names); i >= 0 {
			return s.at(list.key, i).Errorf("name it once", "the %s %.60q stand twice", list.what, list.names[i])
		}
	}
	for i, tag := range s.ExcludeTags {
		if slices.Contains(s.Tags, tag) {
			return s.at("exclude_tags", i).Errorf("remove it from one", "the tag %.60q is wanted and excluded", tag)
		}
	}
	if err := s.checkModels(); err != nil {
		return err
	}
	return s.checkFallback()
}

// checkModels gathers the models that arms and factors name, or holds them
// against those of the suite.
func (s *Suite) checkModels() error {
	if s.Design != nil && s.Design.Kind == FiringDesign {
		if len(s.Models) > 0 {
			return s.at("models").Errorf("remove it", "a design of kind %s says itself which models run", FiringDesign)
		}
		s.Models = firingModels(s.Design)
		return nil
	}
	for i, m := range s.Models {
		if !isModel(m) {
			return badModel(s.at("models", i), m)
		}
	}
	closed := len(s.Models) > 0
	take := func(at strictyaml.Pos, m string) error {
		switch {
		case !isModel(m):
			return badModel(at, m)
		case slices.Contains(s.Models, m):
			return nil
		case closed:
			return at.Errorf("add it to the suite's models, or leave those out", "the model %.60q is none of the suite's models", m)
		}
		s.Models = append(s.Models, m)
		return nil
	}
	for _, a := range s.Arms {
		if i := firstDuplicate(a.Models); i >= 0 {
			return a.Errorf("name it once", "arm %s: the model %.60q stands twice", a.Name, a.Models[i])
		}
		for _, m := range a.Models {
			if err := take(a.Pos, m); err != nil {
				return err
			}
		}
	}
	for _, f := range s.Factors {
		for _, m := range f.Models {
			if err := take(f.Pos, m); err != nil {
				return err
			}
		}
	}
	if len(s.Models) == 0 {
		return s.at("models").Errorf("name at least one, for example sim/weak", "no models")
	}
	return nil
}

func isModel(id string) bool {
	provider, name, ok := strings.Cut(id, "/")
	odd := func(r rune) bool { return r <= ' ' || r >= 0x7f }
	return ok && provider != "" && name != "" && len(id) <= maxNameBytes && !strings.ContainsFunc(id, odd)
}

func badModel(at strictyaml.Pos, id string) error {
	return at.Errorf("write provider/name, for example sim/weak", "%.60q names no model", id)
}

// firstDuplicate is the position of the first entry that stands twice; -1 =
// none does.
func firstDuplicate(list []string) int {
	seen := make(map[string]bool, len(list))
	for i, v := range list {
		if seen[v] {
			return i
		}
		seen[v] = true
	}
	return -1
}

// plainName reports whether s can be a part of a file name anywhere.
func plainName(s string) bool {
	if s == "" || len(s) > maxNameBytes || s[0] == '.' || s[0] == '-' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == ""
}
