package check

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// regexp returns the compiled pattern; specs built in Go compile here.
func (s *Spec) regexp() (*regexp.Regexp, error) {
	if s.re != nil {
		return s.re, nil
	}
	return compile(s.Pattern)
}

// Regexp returns the compiled pattern of an argument of m.
func (m *Match) Regexp(arg string) (*regexp.Regexp, error) {
	if re := m.res[arg]; re != nil {
		return re, nil
	}
	return compile(m.Args[arg])
}

// source returns the text that a spec with an optional path looks at, and what
// to call it.
func source(s *Spec, sub Subject) (text, name string, r Result, err error) {
	if s.Path == "" {
		a := strings.TrimSpace(sub.Answer())
		if len(a) > MaxFile {
			return "", "", Result{Reason: fmt.Sprintf("The final answer is longer than %d bytes.", MaxFile)}, nil
		}
		return a, "the final answer", Result{OK: true}, nil
	}
	data, r, err := read(s.Path, sub)
	return string(data), s.Path, r, err
}

func evalJSON(s *Spec, sub Subject) (Result, error) {
	want, err := parseJSON([]byte(s.Want))
	if err != nil {
		return Result{}, fmt.Errorf("want is no JSON: %w", err)
	}
	text, name, r, err := source(s, sub)
	if err != nil || !r.OK {
		return r, err
	}
	got, err := parseJSON([]byte(text))
	if err != nil {
		return failed(name+": "+quoted(text), "%s is not valid JSON: %v.", sentence(name), err)
	}
	if got, err = got.at(s.Pointer); err != nil {
		return failed(name+": "+quoted(text), "%s: %v.", sentence(name), err)
	}
	if d := difference(got, want, s.Pointer); d != nil {
		return failed(fmt.Sprintf("%s at %s: %s, wanted %s", name, orRoot(d.pointer), d.got, d.want), "%s: %s.", sentence(name), d.say())
	}
	return passed(fmt.Sprintf("%s at %s: equal", name, orRoot(s.Pointer)))
}

func evalNumber(s *Spec, sub Subject) (Result, error) {
	text, name, r, err := source(s, sub)
	if err != nil || !r.OK {
		return r, err
	}
	lexeme, problem, err := s.findNumber(text)
	if err != nil {
		return Result{}, err
	}
	if problem != "" {
		return failed(name+": "+quoted(text), "%s %s.", sentence(name), problem)
	}
	inside, ok := within(lexeme, s.Want, s.Tolerance, s.Relative)
	if !ok {
		return failed(name+": "+quoted(lexeme), "The number in %s is out of range.", name)
	}
	evidence := fmt.Sprintf("%s: %s, wanted %s", name, cut(lexeme, 60), cut(s.Want, 60))
	if !inside {
		return failed(evidence, "The number in %s is not right.", name)
	}
	return passed(evidence)
}

// findNumber returns the JSON lexeme of the one number that text says, or what
// is wrong with the text.
func (s *Spec) findNumber(text string) (lexeme, problem string, err error) {
	if s.Pointer != "" {
		v, err := parseJSON([]byte(text))
		if err != nil {
			return "", fmt.Sprintf("is not valid JSON: %v", err), nil
		}
		if v, err = v.at(s.Pointer); err != nil {
			return "", fmt.Sprintf("is wrong: %v", err), nil
		}
		if v.kind != numberValue {
			return "", fmt.Sprintf("has no number at %s", s.Pointer), nil
		}
		return v.text, "", nil
	}
	if s.Pattern == "" {
		if lexeme, ok := readNumber(text); ok {
			return lexeme, "", nil
		}
		return "", "is no number; write the number alone", nil
	}
	re, err := s.regexp()
	if err != nil {
		return "", "", err
	}
	return matchNumber(re, text)
}

// matchNumber returns the number that every match of re says. Several that
// differ are no answer: listing candidates must not pass.
func matchNumber(re *regexp.Regexp, text string) (lexeme, problem string, err error) {
	for _, m := range re.FindAllStringSubmatch(text, MaxEntries) {
		n, ok := readNumber(m[len(m)-1])
		switch {
		case !ok:
			return "", fmt.Sprintf("has %s where a number is wanted", quoted(m[len(m)-1])), nil
		case lexeme != "" && !parseDecimal(lexeme).equal(parseDecimal(n)):
			return "", "says several different numbers; say one", nil
		case lexeme == "":
			lexeme = n
		}
	}
	if lexeme == "" {
		return "", fmt.Sprintf("says no number that matches the pattern %s", cut(re.String(), 160)), nil
	}
	return lexeme, "", nil
}

func evalTree(s *Spec, sub Subject) (Result, error) {
	want := make(map[string]*File, len(s.Files))
	for i := range s.Files {
		want[s.Files[i].Path] = &s.Files[i]
	}
	var differ, extra []string
	files := 0
	err := sub.Walk(func(path string, size int64) error {
		if files++; files > MaxTree {
			return errTreeTooLarge
		}
		if s.ignored(path) {
			return nil
		}
		f := want[path]
		if f == nil {
			extra = append(extra, path)
			return nil
		}
		delete(want, path)
		same, err := s.sameFile(f, sub)
		if err != nil {
			return err
		}
		if !same {
			differ = append(differ, path)
		}
		return nil
	})
	if errors.Is(err, errTreeTooLarge) {
		return failed("", "The workspace holds more than %d files.", MaxTree)
	}
	if err != nil {
		return Result{}, fmt.Errorf("walk the tree: %w", err)
	}
	var gone []string
	for i := range s.Files {
		if want[s.Files[i].Path] != nil {
			gone = append(gone, s.Files[i].Path)
		}
	}
	return treeResult(gone, differ, extra, len(s.Files))
}

var errTreeTooLarge = errors.New("too many files")

func treeResult(gone, differ, extra []string, n int) (Result, error) {
	var say []string
	for _, p := range []struct {
		what  string
		paths []string
	}{{"missing", gone}, {"not what the task asks for", differ}, {"not to be there", extra}} {
		if len(p.paths) > 0 {
			say = append(say, p.what+": "+names(p.paths))
		}
	}
	if len(say) == 0 {
		return passed(fmt.Sprintf("%d files, as wanted", n))
	}
	text := strings.Join(say, "; ")
	return failed(text, "The files are not as they should be (%s).", text)
}

// ignored reports whether the globs leave a path out.
func (s *Spec) ignored(path string) bool {
	for _, g := range s.Ignore {
		if ok, _ := doublestar.Match(g, path); ok { // patterns were validated
			return true
		}
	}
	return false
}

func (s *Spec) sameFile(f *File, sub Subject) (bool, error) {
	data, r, err := read(f.Path, sub)
	if err != nil || !r.OK {
		return false, err
	}
	if f.SHA256 != "" {
		return hexSum(data) == f.SHA256, nil
	}
	return s.sameText(string(data), f.Content), nil
}

func hexSum(b []byte) string {
	d := sha256.Sum256(b)
	return hex.EncodeToString(d[:])
}

// sentence starts a sentence with a name.
func sentence(name string) string {
	if name == "the final answer" {
		return "The final answer"
	}
	return name
}

func orRoot(pointer string) string {
	if pointer == "" {
		return "the root"
	}
	return pointer
}
