package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// load lists the module's packages.
func load(t *testing.T) (root string, pkgs []pkg) {
	t.Helper()
	gomod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatalf("go env GOMOD: %v", err)
	}
	root = filepath.Dir(strings.TrimSpace(string(gomod)))
	watchTree(t, root)
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Deps,Dir,GoFiles,IgnoredGoFiles", "./...")
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	dec := json.NewDecoder(bytes.NewReader(out))
	for {
		var p struct {
			ImportPath, Dir                        string
			Imports, Deps, GoFiles, IgnoredGoFiles []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return root, pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		path, ok := internal(p.ImportPath)
		if !ok {
			t.Fatalf("%s lies outside the module", p.ImportPath)
		}
		files := slices.Clone(p.GoFiles)
		for _, f := range p.IgnoredGoFiles { // for other systems or under a build tag
			if !strings.HasSuffix(f, "_test.go") {
				files = append(files, f)
			}
		}
		pkgs = append(pkgs, pkg{path: path, imports: p.Imports, deps: p.Deps, dir: p.Dir, files: files})
	}
}

// watchTree opens every folder, so that a cached result of this test ends when
// a file is added: go test does not see what the go command read.
func watchTree(t *testing.T, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == ".git" || d.Name() == "runs") {
			return filepath.SkipDir
		}
		if errors.Is(err, fs.ErrNotExist) { // a temporary file went away meanwhile
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestImports(t *testing.T) {
	_, pkgs := load(t)
	if len(pkgs) < 10 {
		t.Fatalf("go list found only %d packages", len(pkgs))
	}
	for _, b := range check(pkgs) {
		t.Error(b)
	}
}

func TestSources(t *testing.T) {
	root, pkgs := load(t)
	for _, p := range pkgs {
		documented := len(p.files) == 0
		for _, name := range p.files {
			path := filepath.Join(p.dir, name)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			rel, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			s, err := parse(p.path, filepath.ToSlash(rel), string(text))
			if err != nil {
				t.Fatal(err)
			}
			documented = documented || s.file.Doc != nil
			for _, b := range checkSource(s) {
				t.Error(b)
			}
		}
		if !documented {
			t.Errorf("%s: the package has no doc comment", p.path)
		}
	}
}

// Folders at the root are a fixed list: everything else nests below them.
// Hidden ones other than .ci belong to tools and are none of the tree.
func TestTopLevel(t *testing.T) {
	root, _ := load(t)
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() && !strings.HasPrefix(name, ".") && name != "runs" && !slices.Contains(topLevel, name) {
			t.Errorf("%s/: no such folder belongs at the top level", name)
		}
		if !e.IsDir() && strings.HasSuffix(name, ".go") {
			t.Errorf("%s: the module has no package at its root", name)
		}
	}
}

// Each graph breaks one rule; the engine must say so, and be silent on the
// sound one.
func TestEngine(t *testing.T) {
	own := func(paths ...string) []string {
		for i := range paths {
			paths[i] = module + "/" + paths[i]
		}
		return paths
	}
	tests := []struct {
		name string
		pkg  pkg
		want string // within the one breach; empty = sound
	}{
		{"sound loop", pkg{path: "loop", imports: append(own("loop/model", "loop/guard"), "context", "errors")}, ""},
		{"loop reaches an adapter", pkg{path: "loop", imports: own("loop/model/openai")}, "loop must not import loop/model/openai"},
		{"loop imports its subagents", pkg{path: "loop", imports: own("loop/subagent")}, "loop must not import loop/subagent"},
		{"subagents import loop", pkg{path: "loop/subagent", imports: own("loop")}, ""},
		{"loop records", pkg{path: "loop", imports: own("recorder")}, "loop must not import recorder"},
		{"guard reads files", pkg{path: "loop/guard", imports: []string{"os"}}, "loop/guard must not import os: "},
		{"loop uses encoding/json", pkg{path: "loop", imports: []string{"encoding/json"}}, "loop must not import encoding/json"},
		{"event knows tools", pkg{path: "loop/event", imports: own("loop/tool")}, "loop/event must not import loop/tool"},
		{"session knows its writer", pkg{path: "recorder/session", imports: own("recorder")}, "recorder/session must not import recorder"},
		{"results know sessions", pkg{path: "results", imports: own("recorder/session")}, "results must not import recorder/session"},
		{"scenarios know the loop", pkg{path: "scenarios", imports: own("loop")}, "scenarios must not import loop"},
		{"check is a leaf", pkg{path: "graders/check", imports: own("loop/model")}, "graders/check must not import loop/model"},
		{"parquet elsewhere", pkg{path: "results/report", imports: []string{"github.com/parquet-go/parquet-go"}}, "only results/parquet may"},
		{"gonum elsewhere", pkg{path: "results/report", imports: []string{"gonum.org/v1/gonum/stat"}}, "only results/stats may"},
		{"the SDK elsewhere", pkg{path: "loop/middleware", imports: []string{"github.com/sashabaranov/go-openai"}}, "only loop/model/openai may"},
		{"the network elsewhere", pkg{path: "replayer", imports: []string{"net/http"}}, "replayer must not import net/http"},
		{"an adapter may", pkg{path: "loop/model/openai", imports: []string{"net/http", "github.com/sashabaranov/go-openai"}}, ""},
		{"a command may", pkg{path: "cmd/harnessbench", imports: append(own("replayer", "loop/model/openai"), "net/http")}, ""},
		{"the network by detours", pkg{path: "replayer", deps: append(own("loop"), "net/http", "net/http/internal")}, "replayer must not reach net/http"},
		{"an SDK by detours", pkg{path: "ablations", deps: []string{"net/http", "github.com/sashabaranov/go-openai"}}, "ablations must not reach github.com/sashabaranov/go-openai"},
		{"an adapter by detours", pkg{path: "ablations", deps: own("loop/model/openai")}, "ablations must not reach loop/model/openai"},
		{"tables may", pkg{path: "results/parquet", deps: []string{"net/http"}}, ""},
		{"no row", pkg{path: "utils"}, "utils: has no row"},
		{"a package at the root", pkg{path: ""}, "the module's root: has no row"},
		{"randomness", pkg{path: "loop/tool", imports: []string{"math/rand/v2"}}, "ids and jitter come from seeds"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bad := check([]pkg{tt.pkg})
			switch {
			case tt.want == "" && len(bad) > 0:
				t.Errorf("breaches of a sound graph: %q", bad)
			case tt.want != "" && (len(bad) != 1 || !strings.Contains(bad[0], tt.want)):
				t.Errorf("got %q, want one with %q", bad, tt.want)
			}
		})
	}
}

func TestSourceEngine(t *testing.T) {
	tests := []struct{ name, pkg, src, want string }{
		{"sound", "loop", "package x\n\nimport \"time\"\n\n// D is a day.\nconst D = 24 * time.Hour\n", ""},
		{"time.Now", "loop", "package x\n\nimport \"time\"\n\nvar t = time.Now()\n", "x.go:5: time.Now"},
		{"time.Now by value", "loop/guard", "package x\n\nimport \"time\"\n\nvar now = time.Now\n", "time.Now"},
		{"renamed", "loop", "package x\n\nimport clock \"time\"\n\nvar t = clock.Since(clock.Time{})\n", "time.Since"},
		{"the clock may", "loop/clock", "package x\n\nimport \"time\"\n\nvar t = time.Now()\n", ""},
		{"undocumented function", "loop", "package x\n\nfunc F() {}\n", "x.go:3: F has no doc comment"},
		{"undocumented method", "loop", "package x\n\n// T is.\ntype T struct{}\n\nfunc (t *T) M() {}\n", "T.M has no doc comment"},
		{"exempt method", "loop", "package x\n\n// T is.\ntype T struct{}\n\nfunc (t *T) String() string { return \"\" }\n", ""},
		{"method of an unexported type", "loop", "package x\n\ntype t struct{}\n\nfunc (t) M() {}\n", ""},
		{"undocumented type", "loop", "package x\n\ntype T int\n", "T has no doc comment"},
		{"undocumented constant", "loop", "package x\n\nconst (\n\tA = 1\n)\n", "A has no doc comment"},
		{"a group's comment", "loop", "package x\n\n// All.\nconst (\n\tA = 1\n)\n", ""},
		{"a comment beside", "loop", "package x\n\nconst (\n\tA = 1 // one\n)\n", ""},
		{"too long", "loop", "package x\n" + strings.Repeat("\n", maxLines), "601 lines are more than 600"},
		{"generated", "loop", "// Code generated by x. DO NOT EDIT.\n\npackage x\n" + strings.Repeat("\n", maxLines), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := parse(tt.pkg, "x.go", tt.src)
			if err != nil {
				t.Fatal(err)
			}
			bad := checkSource(s)
			switch {
			case tt.want == "" && len(bad) > 0:
				t.Errorf("breaches of sound source: %q", bad)
			case tt.want != "" && (len(bad) != 1 || !strings.Contains(bad[0], tt.want)):
				t.Errorf("got %q, want one with %q", bad, tt.want)
			}
		})
	}
}
