package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// namedTest is a test as docs/loop.md names it: `package.TestName`, the package by
// its path within the module.
var namedTest = regexp.MustCompile("`(?:([a-z0-9/]+)\\.)?((?:Test|Fuzz|Benchmark|Example)[A-Z]\\w*)`")

// Every test that docs/loop.md names as a proof exists, in the package it says.
func TestProofsExist(t *testing.T) {
	root, _ := load(t)
	text, err := os.ReadFile(filepath.Join(root, "docs", "loop.md"))
	if err != nil {
		t.Fatal(err)
	}
	have, named := map[string]map[string]bool{}, 0
	for i, line := range strings.Split(string(text), "\n") {
		for _, m := range namedTest.FindAllStringSubmatch(line, -1) {
			named++
			if have[m[1]] == nil {
				have[m[1]] = testsOf(t, filepath.Join(root, filepath.FromSlash(m[1])))
			}
			if m[1] == "" || !have[m[1]][m[2]] {
				t.Errorf("docs/loop.md:%d: there is no test %s", i+1, m[0])
			}
		}
	}
	if named < 40 {
		t.Errorf("docs/loop.md names %d tests only", named)
	}
}

// testsOf are the names of the top-level functions in the test files of a folder.
func testsOf(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				out[fn.Name.Name] = true
			}
		}
	}
	return out
}
