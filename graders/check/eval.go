package check

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Files is a tree of regular files. Paths are relative, with slashes.
//
// An error that wraps fs.ErrNotExist (nothing is there) or fs.ErrInvalid
// (something is there that is no regular file: a folder, a link, a FIFO) is what
// the agent left and fails a predicate. Any other error is the checker's own
// trouble.
type Files interface {
	// ReadFile returns at most limit bytes from the start of a file.
	ReadFile(path string, limit int64) ([]byte, error)
	// Walk visits every file of the graded tree in sorted order and stops at
	// fn's error.
	Walk(fn func(path string, size int64) error) error
}

// Subject is what a predicate is decided about.
type Subject interface {
	Files
	// Answer is the final answer's text as it was given.
	Answer() string
}

// Result is what a predicate says.
type Result struct {
	OK bool
	// Reason says what is missing, as an instruction to a model: it does not
	// give a wanted value away, except for texts that must be contained. Empty
	// when OK. At most MaxReason bytes, no control characters.
	Reason string
	// Evidence is for the record: what was found and what was wanted, cut and
	// cleaned likewise.
	Evidence string
}

func failed(evidence, reason string, args ...any) (Result, error) {
	return Result{Reason: fmt.Sprintf(reason, args...), Evidence: evidence}, nil
}

func passed(evidence string) (Result, error) { return Result{OK: true, Evidence: evidence}, nil }

// Check decides the list in order and returns the first failure, or a Result
// that is OK.
func (a Acceptance) Check(sub Subject) (Result, error) {
	for i := range a {
		r, err := Eval(&a[i], sub)
		if err != nil {
			return Result{}, fmt.Errorf("acceptance check %d (%s): %w", i+1, a[i].Kind, err)
		}
		if !r.OK {
			return r, nil
		}
	}
	return Result{OK: true}, nil
}

// Eval decides a predicate. An error is the checker's own trouble: a spec that
// is no predicate, a tree that cannot be read.
func Eval(s *Spec, sub Subject) (Result, error) {
	r, err := eval(s, sub)
	if err != nil {
		return Result{}, err
	}
	if !r.OK && s.Hint != "" {
		r.Reason = s.Hint
	}
	r.Reason, r.Evidence = Clean(r.Reason), Clean(r.Evidence)
	return r, nil
}

func eval(s *Spec, sub Subject) (Result, error) {
	switch s.Kind {
	case Equals, Contains, Regex:
		return evalAnswer(s, sub)
	case FileExists:
		return evalExist([]string{s.Path}, sub)
	case FilesExist:
		return evalExist(s.Paths, sub)
	case FileEquals, FileContains, FileMatches:
		return evalFile(s, sub)
	case JSONEquals:
		return evalJSON(s, sub)
	case NumberWithin:
		return evalNumber(s, sub)
	case TreeEquals:
		return evalTree(s, sub)
	case All, Any:
		return evalGroup(s, sub)
	case Weighted, TrajectoryKind:
		return Result{}, fmt.Errorf("%s is a grader and no predicate", s.Kind)
	default:
		return Result{}, fmt.Errorf("unknown check type %q", s.Kind)
	}
}

func evalAnswer(s *Spec, sub Subject) (Result, error) {
	got := sub.Answer()
	if len(got) > MaxFile {
		return failed("", "The final answer is longer than %d bytes.", MaxFile)
	}
	evidence := "answer: " + quoted(strings.TrimSpace(got))
	switch s.Kind {
	case Equals:
		if !s.sameText(got, s.Want) {
			return failed(evidence+", wanted "+quoted(s.Want), "The final answer is not what the task asks for.")
		}
	case Contains:
		if !s.holds(strings.TrimSpace(got)) {
			return failed(evidence, "The final answer does not contain %s.", quoted(s.Want))
		}
	default:
		re, err := s.regexp()
		if err != nil {
			return Result{}, err
		}
		if !re.MatchString(strings.TrimSpace(got)) {
			return failed(evidence, "The final answer does not match the pattern %s.", cut(s.Pattern, 200))
		}
	}
	return passed(evidence)
}

// read reads a whole file. A Result that is not OK says why the file itself
// fails the predicate.
func read(path string, sub Subject) ([]byte, Result, error) {
	data, err := sub.ReadFile(path, MaxFile+1)
	if err != nil {
		reason, own := missing(path, err)
		return nil, Result{Reason: reason, Evidence: path + ": not readable as a file"}, own
	}
	if len(data) > MaxFile {
		return nil, Result{Reason: fmt.Sprintf("The file %s is larger than %d MiB.", path, MaxFile>>20), Evidence: path + ": too large"}, nil
	}
	return data, Result{OK: true}, nil
}

// missing says what an error of reading means to the model, or returns it as
// the checker's own.
func missing(path string, err error) (string, error) {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("The file %s does not exist. Create it.", path), nil
	case errors.Is(err, fs.ErrInvalid):
		return fmt.Sprintf("%s is not a regular file. Replace it by one.", path), nil
	default:
		return "", fmt.Errorf("read %s: %w", path, err)
	}
}

func evalExist(paths []string, sub Subject) (Result, error) {
	var gone []string
	for _, p := range paths {
		_, err := sub.ReadFile(p, 1)
		if err == nil {
			continue
		}
		reason, own := missing(p, err)
		if own != nil {
			return Result{}, own
		}
		if errors.Is(err, fs.ErrInvalid) || len(paths) == 1 {
			return failed(p+": not there as a file", "%s", reason)
		}
		gone = append(gone, p)
	}
	switch len(gone) {
	case 0:
		return passed(names(paths) + ": there")
	case 1:
		return failed(gone[0]+": not there", "The file %s does not exist. Create it.", gone[0])
	default:
		return failed(names(gone)+": not there", "These files do not exist: %s. Create them.", names(gone))
	}
}

func evalFile(s *Spec, sub Subject) (Result, error) {
	data, r, err := read(s.Path, sub)
	if err != nil || !r.OK {
		return r, err
	}
	evidence := fmt.Sprintf("%s (%d bytes): %s", s.Path, len(data), quoted(string(data[:min(len(data), 200)])))
	switch {
	case s.Kind == FileEquals && s.SHA256 != "":
		if d := hexSum(data); d != s.SHA256 {
			return failed(fmt.Sprintf("%s: sha256 %s, wanted %s", s.Path, d, s.SHA256), "The content of %s is not what the task asks for.", s.Path)
		}
	case s.Kind == FileEquals:
		if !s.sameText(string(data), s.Want) {
			return failed(evidence+", wanted "+quoted(s.Want), "The content of %s is not what the task asks for.", s.Path)
		}
	case s.Kind == FileContains:
		if !s.holds(string(data)) {
			return failed(evidence, "%s does not contain %s.", s.Path, quoted(s.Want))
		}
	default:
		re, err := s.regexp()
		if err != nil {
			return Result{}, err
		}
		if !re.Match(data) {
			return failed(evidence, "The content of %s does not match the pattern %s.", s.Path, cut(s.Pattern, 200))
		}
	}
	return passed(evidence)
}

// evalGroup decides all and any. The reason of any is its first member's.
func evalGroup(s *Spec, sub Subject) (Result, error) {
	var first *Result
	for i := range s.Of {
		r, err := Eval(&s.Of[i], sub)
		if err != nil {
			return Result{}, fmt.Errorf("member %d (%s): %w", i+1, s.Of[i].Kind, err)
		}
		if r.OK == (s.Kind == Any) { // decided
			return r, nil
		}
		if first == nil {
			first = &r
		}
	}
	if first == nil {
		return Result{}, fmt.Errorf("%s is empty", s.Kind)
	}
	return *first, nil
}
