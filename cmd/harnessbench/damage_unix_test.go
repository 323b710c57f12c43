//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/recorder/session"
)

// Bounds that no damaged file may exceed, whatever reads it.
const (
	damagedFiles = 1000
	hangs        = 2 * time.Second // of CPU: a busy machine is no hang
	blocks       = time.Minute     // of the wall clock, for all files of a command
	maxResident  = 256 << 20       // bytes
)

// measured is what a child process did.
type measured struct {
	out, errs string // the first MiB
	said      int    // bytes of both
	code      int
	cpu, wall time.Duration
	resident  int64 // bytes, at most
}

// capped keeps the first MiB of what is written.
type capped struct {
	kept bytes.Buffer
	all  int
}

func (c *capped) String() string { return c.kept.String() }

func (c *capped) Write(b []byte) (int, error) {
	c.all += len(b)
	c.kept.Write(b[:min(len(b), max(0, 1<<20-c.kept.Len()))])
	return len(b), nil
}

// measure runs the program and measures it.
func measure(t testing.TB, limit time.Duration, bin string, args ...string) measured {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, args...)
	var out, errs capped
	cmd.Stdout, cmd.Stderr = &out, &errs
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	peak := watchResident(cmd.Process.Pid)
	err := cmd.Wait()
	watched := peak()
	m := measured{out: out.String(), errs: errs.String(), said: out.all + errs.all, wall: time.Since(began)}
	if ctx.Err() != nil {
		t.Errorf("%s: no end within %s", strings.Join(args[:1], " "), limit)
		return m
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	m.code, m.cpu = cmd.ProcessState.ExitCode(), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
	m.resident = cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
	if runtime.GOOS != "darwin" { // there it counts bytes
		m.resident <<= 10
	}
	if watched > 0 {
		m.resident = watched
	}
	return m
}

// watchResident reads again and again what a process has had resident at most.
// The kernel's own figure for a child that has ended is no use on Linux: what this
// process, with its race detector, had when the child was made counts in it. The
// function returned ends the watch; 0 = the system does not tell.
func watchResident(pid int) func() int64 {
	stop, peak := make(chan struct{}), make(chan int64)
	go func() {
		var most int64
		for {
			most = max(most, highWater(pid))
			select {
			case <-stop:
				peak <- most
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	return func() int64 {
		close(stop)
		return <-peak
	}
}

// highWater is the VmHWM of a process on Linux, in bytes; 0 = unknown.
func highWater(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, line, _ := strings.Cut(string(status), "VmHWM:")
	var kib int64
	_, _ = fmt.Sscan(line, &kib)
	return kib << 10
}

// TestDamagedSessions gives replay, verify, show and diff a thousand damaged
// files: the right verdict, no panic, no hang, bounded memory.
func TestDamagedSessions(t *testing.T) {
	dir := t.TempDir()
	bin := program(t, t.TempDir())
	files := newDamager(t, 1).files(damagedFiles)
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.name), f.data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, cmd := range []string{"replay", "verify"} {
		m := measure(t, blocks, bin, cmd, "-q", "--json", dir)
		got := verdicts(t, m)
		wrong := 0
		for _, f := range files {
			v, ok := got[f.name]
			bad := !ok || cmd == "replay" && !slices.Contains(f.want, v) || cmd == "verify" && f.broken && v != "CORRUPT" && v != "TORN" && v != "TOO_NEW"
			if bad && wrong < 20 {
				wrong++
				t.Errorf("%s %s: %s, want one of %v", cmd, f.name, v, f.want)
			}
		}
		if m.code != 3 || m.resident > maxResident || m.cpu > damagedFiles*hangs/100 {
			t.Errorf("%s: exit %d, %d MiB, %s of CPU", cmd, m.code, m.resident>>20, m.cpu)
		}
		t.Logf("%s: %d files, %s, %d MiB at most", cmd, len(got), m.cpu.Round(time.Millisecond), m.resident>>20)
	}
	// The other two read one or two files at a time: in this process, and so
	// without a measure of their own.
	sound := filepath.Join(corpusGood, "brief"+session.Suffix)
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		for _, args := range [][]string{{"show", "-q", path}, {"diff", "-q", path, sound}} {
			var out, errs bytes.Buffer
			code := run(context.Background(), &out, &errs, args)
			all := out.String() + errs.String()
			if code != 0 && code != 1 && code != 3 || strings.TrimSpace(all) == "" || strings.ContainsAny(all, "\x1b\x07\x00") || len(all) > 1<<20 {
				t.Errorf("%s %s: exit %d, %d bytes: %s", args[0], f.name, code, len(all), cut(all))
			}
			if f.broken && code == 0 && !strings.Contains(all, "nfinished") && !strings.Contains(all, "torn") {
				t.Errorf("%s %s: exit 0 and not a word of the damage", args[0], f.name)
			}
		}
	}
}

// verdicts reads the verdicts of replay --json and verify --json by file name.
func verdicts(t testing.TB, m measured) map[string]string {
	t.Helper()
	var got struct {
		Sessions []struct{ Path, Verdict string }
	}
	if err := json.Unmarshal([]byte(m.out), &got); err != nil {
		t.Fatalf("exit %d: %v\n%s", m.code, err, cut(m.errs))
	}
	out := map[string]string{}
	for _, s := range got.Sessions {
		out[filepath.Base(s.Path)] = s.Verdict
	}
	return out
}

// TestHeavySessions reads files that are as large, as deep or as well packed as
// they may be, and a little more, one at a time: memory and time are those of
// each command.
func TestHeavySessions(t *testing.T) {
	bin := program(t, t.TempDir())
	sound := filepath.Join(corpusGood, "brief"+session.Suffix)
	good, err := os.ReadFile(sound)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range heavies {
		t.Run(h.name, func(t *testing.T) {
			path := h.write(t, t.TempDir(), good)
			for _, args := range [][]string{{"replay", "-q", "--json", path}, {"verify", "-q", path}, {"show", "-q", path}, {"diff", "-q", path, sound}} {
				m := measure(t, blocks, bin, args...)
				if strings.Contains(m.errs, "goroutine ") || m.code < 0 || m.code == 2 || m.code > 3 {
					t.Errorf("%s: exit %d: %s", args[0], m.code, cut(m.errs))
				}
				if m.said > 4<<20 {
					t.Errorf("%s: %d bytes said", args[0], m.said)
				}
				if m.resident > maxResident || m.cpu > 2*hangs {
					t.Errorf("%s: %d MiB, %s of CPU", args[0], m.resident>>20, m.cpu.Round(time.Millisecond))
				}
				t.Logf("%s: exit %d, %d MiB, %s, %d bytes said", args[0], m.code, m.resident>>20, m.cpu.Round(time.Millisecond), m.said)
				if args[0] == "replay" {
					if v := verdicts(t, m)[filepath.Base(path)]; !slices.Contains(strings.Fields(h.want), v) {
						t.Errorf("%s: verdict %s, want %s: %s", args[0], v, h.want, cut(m.out))
					}
				}
			}
		})
	}
}

// TestSpecialFiles: pipes, devices, folders and dangling links that are called
// like sessions block nothing, and hide no other file's verdict.
func TestSpecialFiles(t *testing.T) {
	dir := t.TempDir()
	bin := program(t, t.TempDir())
	good, err := os.ReadFile(filepath.Join(corpusGood, "brief"+session.Suffix))
	if err != nil {
		t.Fatal(err)
	}
	name := func(s string) string { return filepath.Join(dir, s+session.Suffix) }
	for _, err := range []error{
		os.WriteFile(name("good"), good, 0o644), syscall.Mkfifo(name("pipe"), 0o644), os.Mkdir(name("folder"), 0o755),
		os.Symlink("good"+session.Suffix, name("link")), os.Symlink("nowhere", name("dangling")), os.Symlink("/dev/zero", name("device")),
		os.Symlink(".", name("loop")), os.Symlink("self"+session.Suffix, name("self")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for cmd, sound := range map[string]string{"replay": "EXACT", "verify": "OK"} {
		m := measure(t, 10*time.Second, bin, cmd, "-q", "--json", dir)
		got := verdicts(t, m)
		want := map[string]string{"good": sound, "link": sound, "pipe": "CORRUPT", "dangling": "CORRUPT", "device": "CORRUPT", "loop": "CORRUPT", "self": "CORRUPT"}
		for n, v := range want {
			if got[n+session.Suffix] != v {
				t.Errorf("%s %s: %s, want %s", cmd, n, got[n+session.Suffix], v)
			}
		}
		if m.code != 3 || len(got) != len(want) {
			t.Errorf("%s: exit %d, %v", cmd, m.code, got)
		}
	}
	for _, n := range []string{"pipe", "folder", "dangling", "device", "self"} {
		for _, args := range [][]string{{"show", name(n)}, {"diff", name(n), name("good")}} {
			if m := measure(t, 10*time.Second, bin, args...); m.code != 2 && m.code != 3 || m.errs == "" {
				t.Errorf("%s %s: exit %d, %q", args[0], n, m.code, m.errs)
			}
		}
	}
}

// TestBlobTricks: a blob that is a link or a pipe is not read.
func TestBlobTricks(t *testing.T) {
	bin := program(t, t.TempDir())
	blobs, err := filepath.Glob(filepath.Join(corpusGood, "blobs", "*"))
	if err != nil {
		t.Fatal(err)
	}
	blobs = slices.DeleteFunc(blobs, func(name string) bool { // those of other sessions
		info, err := os.Stat(name)
		return err != nil || info.Size() != 69300
	})
	if len(blobs) != 1 {
		t.Fatalf("%v", blobs)
	}
	whole, err := filepath.Abs(blobs[0])
	if err != nil {
		t.Fatal(err)
	}
	for what, place := range map[string]func(at string) error{
		"link":  func(at string) error { return os.Symlink(whole, at) },
		"pipe":  func(at string) error { return syscall.Mkfifo(at, 0o644) },
		"dir":   func(at string) error { return os.Mkdir(at, 0o755) },
		"other": func(at string) error { return os.WriteFile(at, bytes.Repeat([]byte("x"), 69300), 0o644) },
	} {
		dir := t.TempDir()
		good, err := os.ReadFile(filepath.Join(corpusGood, "blobs"+session.Suffix))
		if err == nil {
			err = errors.Join(os.WriteFile(filepath.Join(dir, "x"+session.Suffix), good, 0o644), os.Mkdir(filepath.Join(dir, "blobs"), 0o755))
		}
		if err == nil {
			err = place(filepath.Join(dir, "blobs", filepath.Base(whole)))
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, cmd := range []string{"replay", "verify"} {
			if m := measure(t, 10*time.Second, bin, cmd, "-q", dir); m.code != 1 && m.code != 3 {
				t.Errorf("%s with a blob that is a %s: exit %d: %s", cmd, what, m.code, cut(m.out))
			}
		}
	}
}
