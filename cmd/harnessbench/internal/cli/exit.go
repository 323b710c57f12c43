package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Code is an exit code of the program.
type Code int

// The exit codes.
const (
	OK          Code = 0   // done, and the answer is yes
	No          Code = 1   // done, and the answer is no: diverged, gate failed, lint failed
	Wrong       Code = 2   // usage, or an input file that is wrong
	CannotJudge Code = 3   // corrupt, too new, nothing replayed, missing key or isolation
	Errored     Code = 4   // trials errored for infrastructure reasons beyond what is allowed
	Interrupted Code = 130 // stopped by the operator; state saved
)

// Exit is an error with an exit code.
type Exit struct {
	Code Code
	Err  error  // nil: the output has said everything
	Hint string // what to do about it, one line; may be empty
}

// Error says what is wrong, without the hint.
func (e *Exit) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *Exit) Unwrap() error { return e.Err }

// Status ends the program with a code and prints nothing more. OK is nil.
func Status(c Code) error {
	if c == OK {
		return nil
	}
	return &Exit{Code: c}
}

// Usagef makes an error of usage: exit 2.
func Usagef(hint, format string, args ...any) error {
	return &Exit{Code: Wrong, Err: fmt.Errorf(format, args...), Hint: hint}
}

// WithCode gives an error a code, unless it is nil or has one.
func WithCode(c Code, err error) error {
	var e *Exit
	if err == nil || errors.As(err, &e) {
		return err
	}
	return &Exit{Code: c, Err: err}
}

// CodeOf returns the code that err ends the program with. An error without a
// code means that nothing can be judged.
func CodeOf(err error) Code {
	var e *Exit
	switch {
	case err == nil:
		return OK
	case errors.As(err, &e):
		return e.Code
	default:
		return CannotJudge
	}
}

// Worst returns the worse of the codes, 130 > 2 > 4 > 3 > 1 > 0.
func Worst(codes ...Code) Code {
	worst := OK
	for _, c := range codes {
		if rank(c) > rank(worst) {
			worst = c
		}
	}
	return worst
}

func rank(c Code) int {
	for i, o := range [...]Code{OK, No, CannotJudge, Errored, Wrong, Interrupted} {
		if c == o {
			return i
		}
	}
	return 3 // an unknown code is as bad as an infrastructure error
}

// Report prints an error as the program's last words: one line that says what
// is wrong (more only where the error has more), then the hint.
func Report(w io.Writer, err error) {
	var e *Exit
	if err == nil || errors.As(err, &e) && e.Err == nil {
		return
	}
	fmt.Fprintf(w, "harnessbench: %s\n", Sanitize(strings.TrimRight(err.Error(), "\n")))
	if e != nil && e.Hint != "" {
		fmt.Fprintf(w, "  %s\n", Sanitize(e.Hint))
	}
}
