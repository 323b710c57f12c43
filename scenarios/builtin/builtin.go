// Package builtin holds the embedded scenarios.
//
//  1. Each is a txtar archive NAME.txtar beside this file, where NAME is its id;
//     what is large in it is generated.
//  2. [All] loads them once, sorted by id; [Get] finds one.
//
// They measure harnesses, not models: each is built so that one guard, or one
// mistake, decides it. The scripts in them drive simulated models only.
package builtin

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/harnessbench/harnessbench/scenarios"
)

//go:embed *.txtar
var archives embed.FS

var load = sync.OnceValues(func() ([]*scenarios.Scenario, error) {
	entries, err := archives.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var out []*scenarios.Scenario
	for _, e := range entries {
		data, err := archives.ReadFile(e.Name())
		if err != nil {
			return nil, err
		}
		id := strings.TrimSuffix(e.Name(), path.Ext(e.Name()))
		s, err := scenarios.LoadTxtar("builtin/"+id, data)
		if err != nil {
			return nil, err
		}
		if s.ID != id {
			return nil, fmt.Errorf("builtin/%s: its id is %q; name the archive after it", id, s.ID)
		}
		out = append(out, s)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out, nil
})

// All returns the embedded scenarios, sorted by id. The slice is the caller's,
// the scenarios are shared.
func All() ([]*scenarios.Scenario, error) {
	all, err := load()
	return append([]*scenarios.Scenario(nil), all...), err
}

// near names the scenarios that an id may mean: those that hold a word of it.
func near(id string, names []string) string {
	var like []string
	for _, name := range names {
		if slices.ContainsFunc(strings.Split(name, "-"), func(w string) bool { return len(w) > 3 && strings.Contains(id, w) }) && len(like) < 5 {
			like = append(like, name)
		}
	}
	if len(like) == 0 {
		return fmt.Sprintf("; there are %d, such as %s", len(names), names[0])
	}
	return "; there are " + strings.Join(like, ", ")
}

// Get returns the embedded scenario with an id, with or without "builtin/".
func Get(id string) (*scenarios.Scenario, error) {
	all, err := load()
	if err != nil {
		return nil, err
	}
	id = strings.TrimPrefix(id, "builtin/")
	names := make([]string, len(all))
	for i, s := range all {
		if s.ID == id {
			return s, nil
		}
		names[i] = s.ID
	}
	return nil, fmt.Errorf("no embedded scenario %.60q%s", id, near(id, names))
}

// Files returns the files of an embedded scenario, by its id, as a folder would
// hold them.
func Files(id string) ([]scenarios.File, error) {
	data, err := archives.ReadFile(id + ".txtar")
	if err != nil {
		return nil, err
	}
	return scenarios.Unpack(data), nil
}
