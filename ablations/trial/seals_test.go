package trial

import (
	"fmt"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/workspace"
	"github.com/harnessbench/harnessbench/scenarios"
)

// On every workspace the same files are sealed with the same digests: one that is
// not laid, one on disk, one in memory.
func TestSealer(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 40_000) // more than a piece
	files := []scenarios.File{{Path: "README"}, {Path: "src/a.txt", Data: []byte("a")}, {Path: "tests/big.bin", Data: []byte(big)},
		{Path: "tests/deep/b.txt", Data: []byte("b")}, {Path: "tests/empty"}}
	mem, err := workspace.NewMem(entriesOf(files), func(model.Digest) ([]byte, error) { return nil, fmt.Errorf("nobody reads a file to seal it") })
	if err != nil {
		t.Fatal(err)
	}
	unlaid := &watched{temp: t.TempDir(), files: files}
	laid := &watched{temp: t.TempDir(), files: files}
	if _, err := laid.get(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		globs []string
		want  string
	}{
		{[]string{"tests/**"}, "tests/big.bin tests/deep/b.txt tests/empty"},
		{[]string{"tests/*", "README"}, "README tests/big.bin tests/empty"},
		{[]string{"**/*.txt"}, "src/a.txt tests/deep/b.txt"},
		{[]string{"nothing/**"}, ""},
	} {
		for name, ws := range map[string]workspace.Workspace{"unlaid": unlaid, "laid": laid, "memory": mem} {
			got, err := Sealer(tt.globs, ws)()
			if err != nil {
				t.Fatal(err)
			}
			var paths []string
			for _, s := range got {
				paths = append(paths, s.Path)
				for _, f := range files {
					if f.Path == s.Path && model.Sum(f.Data) != s.Digest {
						t.Errorf("%s: the digest of %s is wrong", name, s.Path)
					}
				}
			}
			if strings.Join(paths, " ") != tt.want {
				t.Errorf("%s, %v: %v", name, tt.globs, paths)
			}
		}
	}
	if unlaid.laid.Load() {
		t.Error("looking at seals has laid the tree")
	}
	if Sealer(nil, mem) != nil {
		t.Error("nothing is sealed, and somebody looks")
	}
	if _, err := laid.Remove("README"); err != nil {
		t.Fatal(err)
	}
	if got, err := Sealer([]string{"README"}, laid)(); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}
