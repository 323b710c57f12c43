package design

import (
	"embed"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/harnessbench/harnessbench/scenarios"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

//go:embed suites/*.yaml
var suites embed.FS

// BuiltinPrefix stands before the names of embedded suites and scenarios.
const BuiltinPrefix = "builtin/"

// DefaultSuite is what run runs without an argument.
const DefaultSuite = BuiltinPrefix + "starter"

// BuiltinSuites returns the names of the embedded suites, sorted.
func BuiltinSuites() []string {
	entries, err := suites.ReadDir("suites")
	if err != nil {
		panic(err) // the files are in the binary
	}
	var out []string
	for _, e := range entries {
		out = append(out, BuiltinPrefix+strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return out
}

// OpenSuite finds a suite by what a user calls it: builtin/NAME, a suite file,
// or the folder (or .txtar file) of one scenario, which is then run as the
// default suite runs its own.
func OpenSuite(name string) (*Suite, []*scenarios.Scenario, error) {
	if b, ok := strings.CutPrefix(name, BuiltinPrefix); ok {
		data, err := suites.ReadFile(path.Join("suites", b+".yaml"))
		if err != nil {
			return nil, nil, fmt.Errorf("no embedded suite %q; there are %s", name, strings.Join(BuiltinSuites(), ", "))
		}
		return finish(ParseSuite(name, data))
	}
	if isScenario(name) {
		if err := isNoScenario(name); err != nil {
			return nil, nil, err
		}
		return scenarioSuite(name)
	}
	return finish(LoadSuite(name))
}

// finish resolves the scenarios of a suite.
func finish(s *Suite, err error) (*Suite, []*scenarios.Scenario, error) {
	if err != nil {
		return nil, nil, err
	}
	list, err := s.Resolve()
	return s, list, err
}

// isScenario reports whether name is a scenario rather than a suite.
func isScenario(name string) bool {
	if strings.HasSuffix(name, ".txtar") {
		return true
	}
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// isNoScenario says of a folder without a scenario what it is instead.
func isNoScenario(name string) error {
	there := func(file string) bool {
		_, err := os.Stat(filepath.Join(name, file))
		return err == nil
	}
	switch {
	case strings.HasSuffix(name, ".txtar") || there("scenario.yaml"):
		return nil
	case there(LockFile):
		return fmt.Errorf("%s is a run folder: take it up with run --resume, or print it with report", name)
	}
	return fmt.Errorf("%s is neither a suite file nor the folder of a scenario: it has no scenario.yaml", name)
}

// scenarioSuite runs one scenario as the default suite runs its own.
func scenarioSuite(name string) (*Suite, []*scenarios.Scenario, error) {
	sc, err := loadScenario(name)
	if err != nil {
		return nil, nil, err
	}
	s, _, err := OpenSuite(DefaultSuite)
	if err != nil {
		return nil, nil, err
	}
	s.Name, s.Scenarios, s.Tags, s.ExcludeTags = sc.ID, []string{name}, nil, nil
	s.folder = filepath.Dir(filepath.Clean(name))
	return s, []*scenarios.Scenario{sc}, nil
}

func loadScenario(name string) (*scenarios.Scenario, error) {
	if !strings.HasSuffix(name, ".txtar") {
		return scenarios.Load(name)
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	const most = 64 << 20
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, fmt.Errorf("%s: a scenario archive is a file of at most %d bytes", name, most)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return scenarios.LoadTxtar(name, data)
}

// Resolve loads the scenarios that the suite names, sorted by id, without those
// that its tags leave out. Patterns are builtin/NAME or builtin/* (globs), or
// folders and .txtar files relative to the suite's own folder (globs, ** crosses
// folders).
func (s *Suite) Resolve() ([]*scenarios.Scenario, error) {
	byID := map[string]*scenarios.Scenario{}
	for i, pattern := range s.Scenarios {
		at := s.at("scenarios", i)
		found, err := s.match(at, pattern)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, at.Errorf("see: harnessbench scenario list", "no scenario matches %.200q", pattern)
		}
		for _, sc := range found {
			if other := byID[sc.ID]; other != nil && other.Digest != sc.Digest {
				return nil, at.Errorf("rename one", "two scenarios have the id %q: %s and %s", sc.ID, other.Source, sc.Source)
			}
			byID[sc.ID] = sc
		}
	}
	out := make([]*scenarios.Scenario, 0, len(byID))
	for _, sc := range byID {
		out = append(out, sc)
	}
	slices.SortFunc(out, func(a, b *scenarios.Scenario) int { return strings.Compare(a.ID, b.ID) })
	return s.tagged(out)
}

// tagged keeps the scenarios that the suite's tags want. A tag that none of them
// has is an error: it would silently change what is measured.
func (s *Suite) tagged(list []*scenarios.Scenario) ([]*scenarios.Scenario, error) {
	have := map[string]bool{}
	for _, sc := range list {
		for _, tag := range sc.Tags {
			have[tag] = true
		}
	}
	for _, key := range []struct {
		name string
		tags []string
	}{{"tags", s.Tags}, {"exclude_tags", s.ExcludeTags}} {
		for i, tag := range key.tags {
			if !have[tag] {
				names := slices.Sorted(maps.Keys(have))
				return nil, s.at(key.name, i).Errorf("correct or remove it; their tags are "+strings.Join(names, ", "), "none of the scenarios has the tag %.60q", tag)
			}
		}
	}
	any := func(sc *scenarios.Scenario, tags []string) bool { return slices.ContainsFunc(tags, sc.Tagged) }
	kept := slices.DeleteFunc(list, func(sc *scenarios.Scenario) bool {
		return len(s.Tags) > 0 && !any(sc, s.Tags) || any(sc, s.ExcludeTags)
	})
	if len(kept) == 0 {
		return nil, s.at("exclude_tags").Errorf("exclude fewer", "the tags leave no scenario")
	}
	return kept, nil
}

func (s *Suite) match(at strictyaml.Pos, pattern string) ([]*scenarios.Scenario, error) {
	if b, ok := strings.CutPrefix(pattern, BuiltinPrefix); ok {
		return matchBuiltin(at, b)
	}
	plain := filepath.FromSlash(pattern)
	glob := plain
	if !filepath.IsAbs(plain) {
		if s.folder == "" {
			return nil, at.Errorf("write "+BuiltinPrefix+"NAME", "an embedded suite has no folder for %.200q", pattern)
		}
		glob = filepath.Join(globSafe.Replace(s.folder), plain)
		plain = filepath.Join(s.folder, plain)
	}
	paths, err := doublestar.FilepathGlob(glob)
	if err != nil {
		return nil, at.Errorf("** crosses folders, * does not", "the pattern %q is wrong: %v", pattern, err)
	}
	var out []*scenarios.Scenario
	for _, p := range scenarioPaths(plain, paths) {
		sc, err := loadScenario(p)
		if err != nil {
			return nil, err
		}
		out = append(out, sc)
	}
	return out, nil
}

// globSafe escapes what a folder's own name means to a glob. Where the separator
// is a backslash there is no escaping it.
var globSafe = func() *strings.Replacer {
	if filepath.Separator == '\\' {
		return strings.NewReplacer()
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`)
}()

// scenarioPaths keeps what a pattern found that is a scenario: a path that is
// written out is meant, whatever it is; a glob also meets other files, and those
// inside of scenarios.
func scenarioPaths(pattern string, found []string) []string {
	folders := map[string]bool{}
	for _, p := range found {
		if _, err := os.Stat(filepath.Join(p, "scenario.yaml")); err == nil {
			folders[p] = true
		}
	}
	within := func(p string) bool {
		for up := filepath.Dir(p); up != filepath.Dir(up); up = filepath.Dir(up) {
			if folders[up] {
				return true
			}
		}
		return false
	}
	var out []string
	for _, p := range found {
		if p == pattern || !within(p) && (folders[p] || strings.HasSuffix(p, ".txtar")) {
			out = append(out, p)
		}
	}
	return out
}

func matchBuiltin(at strictyaml.Pos, pattern string) ([]*scenarios.Scenario, error) {
	all, err := builtin.All()
	if err != nil {
		return nil, err
	}
	var out []*scenarios.Scenario
	for _, sc := range all {
		ok, err := path.Match(pattern, sc.ID)
		if err != nil {
			return nil, at.Errorf("use * and ?", "the pattern %q is wrong: %v", BuiltinPrefix+pattern, err)
		}
		if ok {
			out = append(out, sc)
		}
	}
	return out, nil
}
