package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// SessionSuffix is what the name of a session file ends in; a compressed one
// has .zst after it.
const SessionSuffix = ".session.jsonl"

// IsSession reports whether a file's name is that of a session.
func IsSession(name string) bool {
	return strings.HasSuffix(strings.TrimSuffix(name, ".zst"), SessionSuffix)
}

// Sessions expands arguments to session files, sorted by path and each once:
//
//   - a file is taken whatever its name;
//   - a run folder (it has a sessions folder beside run.json) gives its sessions,
//     any other folder every session file below it;
//   - a glob (** crosses folders) gives the session files and folders that match.
//
// An argument that names nothing is an error of usage; arguments that name no
// session at all leave nothing to judge.
func Sessions(args []string) ([]string, error) {
	set := sessionSet{seen: map[string]bool{}}
	for _, arg := range args {
		if err := set.add(arg); err != nil {
			return nil, err
		}
	}
	if len(set.paths) == 0 {
		return nil, &Exit{
			Code: CannotJudge,
			Err:  fmt.Errorf("no session in %s", SanitizeLine(strings.Join(args, ", "))),
			Hint: "sessions are named *" + SessionSuffix + " or *" + SessionSuffix + ".zst; name a run folder, a folder of sessions, or files",
		}
	}
	slices.Sort(set.paths)
	return set.paths, nil
}

type sessionSet struct {
	paths []string
	seen  map[string]bool
}

func (s *sessionSet) add(arg string) error {
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		return s.folder(arg)
	case err == nil:
		return s.file(arg)
	case !errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(arg, "*?[{"):
		return &Exit{Code: Wrong, Err: err}
	case !strings.ContainsAny(arg, "*?[{"):
		return Usagef("name a run folder, a folder of sessions, session files or a glob", "%s: no such file or folder", arg)
	}
	found, err := doublestar.FilepathGlob(filepath.Clean(arg))
	if err != nil {
		return Usagef("** crosses folders, * does not, [ab] and {a,b} choose", "%s: the glob is wrong: %v", arg, err)
	}
	if len(found) == 0 {
		return &Exit{Code: CannotJudge, Err: fmt.Errorf("%s: nothing matches", arg), Hint: "quote the glob if the shell changes it"}
	}
	for _, p := range found {
		if slices.ContainsFunc(strings.Split(filepath.ToSlash(p), "/"), isWork) {
			continue
		}
		info, err := os.Stat(p)
		switch {
		case err != nil:
			return &Exit{Code: Wrong, Err: err}
		case info.IsDir():
			err = s.folder(p)
		case IsSession(p):
			err = s.file(p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *sessionSet) file(path string) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return &Exit{Code: Wrong, Err: err}
	}
	if !s.seen[abs] {
		s.seen[abs] = true
		s.paths = append(s.paths, filepath.Clean(path))
	}
	return nil
}

func (s *sessionSet) folder(dir string) error {
	if isFile(filepath.Join(dir, "run.json")) && isDir(filepath.Join(dir, "sessions")) {
		dir = filepath.Join(dir, "sessions")
	}
	// the separator makes a link to a folder count as the folder
	err := filepath.WalkDir(dir+string(filepath.Separator), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && isWork(d.Name()) {
			return filepath.SkipDir
		}
		if err != nil || d.IsDir() || !IsSession(path) {
			return err
		}
		return s.file(path)
	})
	return WithCode(Wrong, err)
}

// isWork reports whether a folder is one in which update or import make what they
// then rename; a killed one leaves it behind, and nothing in it was ever finished.
func isWork(name string) bool {
	return strings.HasPrefix(name, ".update-") || strings.HasPrefix(name, ".import-")
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
