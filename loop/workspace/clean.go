package workspace

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// Bounds of a path, the same on every platform so that a session recorded on one
// replays on another.
const (
	MaxPath = 4096 // bytes of a relative path
	MaxName = 255  // bytes of one component
)

// tempName is where Dir writes a file before it is moved into place. No path
// may name it and no listing shows it.
const tempName = ".harness.tmp"

// ErrEscape is wrapped by the error for a path that leads outside of Root.
var ErrEscape = errors.New("path leads outside of " + Root)

// ErrBadPath is wrapped by the error for a text that is no path: empty, too
// long, or with characters that a path cannot hold.
var ErrBadPath = errors.New("not a usable path")

// Clean turns any spelling of a path into its canonical relative form, or
// refuses it. It is lexical: no file is looked at, and the answer is the same on
// every platform.
//
//	/workspace/x      x
//	./a/../b//c/      b/c
//	/workspace        "" (the root)
//
// It refuses: the empty path; ".." that climbs above the root, even when the
// path comes back; absolute paths that do not begin with Root; NUL and other
// control characters, bytes that are no UTF-8, and backslashes (a separator on
// Windows, so they would mean two things); components over MaxName and paths
// over MaxPath bytes; and the one reserved name. Errors wrap ErrEscape or
// ErrBadPath. Clean is idempotent, and Clean(Abs(rel)) gives rel back.
func Clean(path string) (rel string, err error) {
	if err := checkText(path); err != nil {
		return "", err
	}
	if canonical(path) {
		return path, nil
	}
	rest := path
	if rest[0] == '/' {
		rest, err = underRoot(path)
		if err != nil {
			return "", err
		}
	}
	out := make([]byte, 0, len(rest))
	for rest != "" {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		switch name {
		case "", ".":
			continue
		case "..":
			if len(out) == 0 {
				return "", &Error{Path: show(path), What: "leads outside of " + Root, Err: ErrEscape}
			}
			out = out[:max(0, lastSlash(out))]
			continue
		}
		if len(name) > MaxName {
			return "", &Error{Path: show(path), What: "has a name longer than 255 bytes", Err: ErrBadPath}
		}
		if len(out) > 0 {
			out = append(out, '/')
		}
		out = append(out, name...)
	}
	rel = string(out)
	if err := checkResult(rel); err != nil {
		return "", err
	}
	return rel, nil
}

// Abs returns the path as the agent knows it: Root for the empty path, else
// Root/rel.
func Abs(rel string) string {
	if rel == "" {
		return Root
	}
	return Root + "/" + rel
}

// InHarness reports whether a clean path is HarnessDir or lies below it.
func InHarness(rel string) bool {
	return strings.HasPrefix(rel, HarnessDir) && (len(rel) == len(HarnessDir) || rel[len(HarnessDir)] == '/')
}

// checkText refuses what no path may hold.
func checkText(path string) error {
	switch {
	case path == "":
		return &Error{What: "a path must not be empty", Err: ErrBadPath}
	case len(path) > MaxPath+len(Root)+1:
		return &Error{Path: show(path), What: longPath, Err: ErrBadPath}
	}
	ascii := true
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c < 0x20 || c == 0x7f:
			return &Error{Path: show(path), What: "holds a control character", Err: ErrBadPath}
		case c == '\\':
			return &Error{Path: show(path), What: "holds a backslash; folders are separated by /", Err: ErrBadPath}
		case c >= 0x80:
			ascii = false
		}
	}
	if !ascii && !utf8.ValidString(path) {
		return &Error{Path: show(path), What: "is not valid UTF-8", Err: ErrBadPath}
	}
	return nil
}

// canonical reports whether a text that passed checkText is a clean path
// already, which most are on their second look.
func canonical(path string) bool {
	if len(path) > MaxPath || strings.HasPrefix(path, tempName) {
		return false
	}
	start := 0
	for i := 0; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		name := path[start:i]
		if name == "" || name == "." || name == ".." || len(name) > MaxName {
			return false
		}
		start = i + 1
	}
	return true
}

// underRoot cuts Root off an absolute path.
func underRoot(path string) (string, error) {
	rest := path
	for rest != "" {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		if name == "" || name == "." {
			continue
		}
		if name == Root[1:] {
			return rest, nil
		}
		break
	}
	return "", &Error{Path: show(path), What: "lies outside of " + Root, Err: ErrEscape}
}

const longPath = "is longer than 4096 bytes"

func checkResult(rel string) error {
	if len(rel) > MaxPath {
		return &Error{Path: show(Abs(rel)), What: longPath, Err: ErrBadPath}
	}
	if rel == tempName || strings.HasPrefix(rel, tempName+"/") {
		return &Error{Path: Abs(rel), What: "is a reserved name", Err: ErrBadPath}
	}
	return nil
}

func lastSlash(b []byte) int {
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] == '/' {
			return i
		}
	}
	return -1
}

// show makes a refused path safe to print: it is cut, and what is no printable
// text is replaced.
func show(path string) string {
	const limit = 200
	cut := false
	if len(path) > limit {
		path, cut = path[:limit], true
	}
	path = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || r == utf8.RuneError {
			return '?'
		}
		return r
	}, path)
	if cut {
		path += "..."
	}
	return path
}
