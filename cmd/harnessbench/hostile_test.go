package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/harnessbench/harnessbench/recorder/session"
)

// sound records one small session and returns its bytes.
func sound(t *testing.T, dir string) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(context.Background(), &out, &errs, []string{"run", "-q", "-o", filepath.Join(dir, "run"), "--repetitions", "1", "--fsync", "never"}); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	b, err := os.ReadFile(filepath.Join(dir, "run", "sessions", "retry-trap.sim_weak.default.0.session.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// hostileSessions are files that pretend to be sessions.
func hostileSessions(t *testing.T, good []byte) map[string][]byte {
	t.Helper()
	lines := bytes.SplitAfter(good, []byte("\n"))
	last := len(lines) - 2 // SplitAfter leaves an empty piece
	bomb := func(n int) []byte {
		var b bytes.Buffer
		zw, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		zero := bytes.Repeat([]byte{' '}, 1<<20)
		for range n {
			if _, err := zw.Write(zero); err != nil {
				t.Fatal(err)
			}
		}
		if err := zw.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	return map[string][]byte{
		"cut in a line":      good[:len(good)/2],
		"cut after a line":   bytes.Join(lines[:last/2], nil),
		"no footer":          bytes.Join(lines[:last], nil),
		"a line doubled":     bytes.Join(append(append([][]byte{}, lines[:5]...), lines[4:]...), nil),
		"a line missing":     bytes.Join(append(append([][]byte{}, lines[:5]...), lines[6:]...), nil),
		"lines swapped":      bytes.Join(append([][]byte{lines[0], lines[2], lines[1]}, lines[3:]...), nil),
		"a line after":       append(append([]byte{}, good...), lines[1]...),
		"text after":         append(append([]byte{}, good...), "more\n"...),
		"65 MiB line":        append(append([]byte(`{"seq":1,"t":"header","v":"`), bytes.Repeat([]byte{'x'}, 65<<20)...), "\"}\n"...),
		"65 MiB, no LF":      bytes.Repeat([]byte{'['}, 65<<20),
		"100,000 deep":       []byte(`{"seq":1,"t":"header","v":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + "}\n"),
		"duplicate keys":     []byte(`{"seq":1,"t":"header","v":"harnessbench/session/1","v":"harnessbench/session/1","h":"00000000000000000000000000000000"}` + "\n"),
		"NaN":                []byte(`{"seq":NaN,"t":"header","h":"00000000000000000000000000000000"}` + "\n"),
		"huge number":        []byte(`{"seq":` + strings.Repeat("9", 1000) + `,"t":"header","h":"00000000000000000000000000000000"}` + "\n"),
		"escape sequences":   []byte("\x1b]0;owned\x07\x1b[2J{\"seq\":1}\n"),
		"escapes in version": []byte(`{"seq":1,"t":"header","v":"\u001b]0;owned\u0007","h":"00000000000000000000000000000000"}` + "\n"),
		"invalid UTF-8":      []byte("{\"seq\":1,\"t\":\"header\",\"v\":\"\xff\xfe\",\"h\":\"00000000000000000000000000000000\"}\n"),
		"NULs":               make([]byte, 4096),
		"zstd bomb":          bomb(2048),
		"zstd garbage":       append([]byte("\x28\xb5\x2f\xfd"), good...),
		"zstd cut":           bomb(64)[:200],
	}
}

// TestHostileSessions gives every command that reads sessions every kind of
// broken one: a clear answer with an exit code that is not 0, nothing that moves
// a cursor, no panic.
func TestHostileSessions(t *testing.T) {
	dir := t.TempDir()
	good := sound(t, dir)
	for name, data := range hostileSessions(t, good) {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, strings.ReplaceAll(name, " ", "_")+session.Suffix)
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
			defer os.Remove(path)
			for _, cmd := range []string{"replay", "show", "diff"} {
				args := []string{cmd, "-q", path}
				if cmd == "diff" {
					args = append(args, filepath.Join(dir, "run", "sessions", "retry-trap.sim_weak.default.0.session.jsonl"))
				}
				var out, errs bytes.Buffer
				code := run(context.Background(), &out, &errs, args)
				checkHostile(t, cmd, code, out.String(), errs.String())
			}
		})
	}
}

func checkHostile(t *testing.T, cmd string, code int, out, errs string) {
	t.Helper()
	all := out + errs
	if code != 1 && code != 3 && (cmd != "show" || code != 0 || !strings.Contains(all, "nfinished") && !strings.Contains(all, "torn")) {
		t.Errorf("%s: exit %d\n%s", cmd, code, cut(all))
	}
	if strings.ContainsAny(all, "\x1b\x07\x00") {
		t.Errorf("%s: a control character reached the terminal", cmd)
	}
	if len(all) > 200<<10 {
		t.Errorf("%s: %d bytes of output", cmd, len(all))
	}
	if strings.TrimSpace(all) == "" {
		t.Errorf("%s: exit %d and not a word", cmd, code)
	}
}

func cut(s string) string { return fmt.Sprintf("%.400s", s) }

// TestHostileYAML gives run suites and scenarios that are too large, too deep, or
// want to leave their folder: exit 2, one clear line, no run folder.
func TestHostileYAML(t *testing.T) {
	head := "schema: harnessbench/suite/v1\nname: x\nmodels: [sim/weak]\narms: [{name: a}]\n"
	scenario := "schema: harnessbench/scenario/v1\nid: x\nsummary: x\ntools: [read_file]\n"
	files := map[string]map[string]string{
		"suite of 2 MiB":         {"s.yaml": head + "scenarios: [" + strings.Repeat("builtin/x, ", 200_000) + "]\n"},
		"suite 100,000 deep":     {"s.yaml": head + "scenarios: " + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + "\n"},
		"suite is binary":        {"s.yaml": "\x00\x01\x02\xff"},
		"suite is empty":         {"s.yaml": ""},
		"suite, escapes in key":  {"s.yaml": head + "\"\\e[2J\": 1\n"},
		"suite, two documents":   {"s.yaml": head + "scenarios: [builtin/*]\n---\na: 1\n"},
		"suite, infinite number": {"s.yaml": head + "scenarios: [builtin/*]\nrepetitions: .inf\n"},
		"suite, name with ../":   {"s.yaml": strings.Replace(head, "name: x", "name: ../x", 1) + "scenarios: [builtin/*]\n"},
		"arm name with ../":      {"s.yaml": strings.Replace(head, "name: a", "name: ../a", 1) + "scenarios: [builtin/*]\n"},
		"scenario outside":       {"sc/scenario.yaml": scenario + "graders: [{type: file_exists, path: ../../etc/passwd}]\n", "sc/instruction.md": "x"},
		"scenario bomb":          {"sc/scenario.yaml": scenario + "graders: [{type: contains, want: x}]\nsummary2: &a [*a]\n", "sc/instruction.md": "x"},
		"scenario without task":  {"sc/scenario.yaml": scenario + "graders: [{type: contains, want: x}]\n"},
		"oracle is wrong":        {"sc/scenario.yaml": scenario + "graders: [{type: contains, want: x}]\n", "sc/instruction.md": "x", "sc/oracle.yaml": "rules: [{id: a, need: [nothing], do: {say: x}}]\n"},
		"pattern too costly":     {"sc/scenario.yaml": scenario + "graders: [{type: regex, pattern: '((((a{1000}){1000}){1000}))'}]\n", "sc/instruction.md": "x"},
	}
	for name, tree := range files {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			arg := filepath.Join(dir, "sc")
			for path, text := range tree {
				full := filepath.Join(dir, path)
				if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				if strings.HasSuffix(path, "s.yaml") {
					arg = full
				}
			}
			out := filepath.Join(dir, "out")
			var stdout, stderr bytes.Buffer
			code := run(context.Background(), &stdout, &stderr, []string{"run", "-q", "-o", out, arg})
			if code != 2 || stdout.Len() > 0 || !strings.HasPrefix(stderr.String(), "harnessbench: ") || stderr.Len() > 2000 {
				t.Errorf("exit %d, stdout %q, stderr %s", code, cut(stdout.String()), cut(stderr.String()))
			}
			if strings.ContainsAny(stderr.String(), "\x1b\x00") {
				t.Error("a control character reached the terminal")
			}
			if _, err := os.Stat(out); err == nil {
				t.Error("a run folder was made for a suite that cannot run")
			}
		})
	}
}
