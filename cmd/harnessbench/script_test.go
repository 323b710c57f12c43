package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"harnessbench": main, "testagent": testAgent})
}

// The scripts in testdata/script run the program as a user does. With
// UPDATE_SCRIPTS=1 the files they compare with are rewritten.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
			"spoil": spoil,
		},
	})
}

// exits runs a program and compares its exit code: exits 2 harnessbench frob.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARG...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if err != nil {
		// the error reads "exit status N"
		code = err.Error()[strings.LastIndexByte(err.Error(), ' ')+1:]
	}
	if code != args[0] {
		ts.Fatalf("exit %s (%v), want %s", code, err, args[0])
	}
}

// spoil cuts every file of a folder in half: spoil answers.
func spoil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: spoil FOLDER")
	}
	files, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	for _, f := range files {
		path := filepath.Join(ts.MkAbs(args[0]), f.Name())
		info, err := f.Info()
		ts.Check(err)
		ts.Check(os.Truncate(path, info.Size()/2))
	}
}

// Building the command tree and printing help is what every command line pays.
func BenchmarkHelp(b *testing.B) {
	for b.Loop() {
		var out strings.Builder
		if code := run(context.Background(), &out, &out, []string{"--help"}); code != 0 {
			b.Fatal(code)
		}
	}
}

// What a command line holds reaches the terminal neutralised.
func TestHostileArguments(t *testing.T) {
	for _, args := range [][]string{{"z\x1b[31m"}, {"version", "--\x1b]0;x\x07"}, {"completion", "\u202ebash"}} {
		var out, errs strings.Builder
		if code := run(context.Background(), &out, &errs, args); code != 2 {
			t.Errorf("%q: exit %d", args, code)
		}
		if s := out.String() + errs.String(); s == "" || strings.ContainsAny(s, "\x1b\x07\u202e") {
			t.Errorf("%q: %q", args, s)
		}
	}
}

// Every command says what it does, how it is called, and takes --help.
func TestCommandsAreDocumented(t *testing.T) {
	root := newRoot(&app{})
	for _, c := range root.Commands() {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") || c.Args == nil || c.RunE == nil && !c.HasSubCommands() {
			t.Errorf("%s needs Short (no full stop), Args (through cli.Args) and RunE", c.Name())
		}
	}
}
