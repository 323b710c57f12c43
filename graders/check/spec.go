package check

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
)

// Kind is the type of a predicate or grader, as written in a scenario.
type Kind string

// Predicates about the final answer.
const (
	Equals   Kind = "equals"   // the answer is Want
	Contains Kind = "contains" // the answer contains Want
	Regex    Kind = "regex"    // Pattern matches somewhere in the answer
)

// Predicates about files. json_equals and number_within look at the answer
// when they have no path.
const (
	FileExists   Kind = "file_exists"   // a regular file is at Path
	FilesExist   Kind = "files_exist"   // regular files are at all of Paths
	FileEquals   Kind = "file_equals"   // its content is Want, or has the digest SHA256
	FileContains Kind = "file_contains" // its content contains Want
	FileMatches  Kind = "file_matches"  // Pattern matches somewhere in its content
	JSONEquals   Kind = "json_equals"   // it is JSON, and the value at Pointer equals Want
	NumberWithin Kind = "number_within" // it says a number near Want
	TreeEquals   Kind = "tree_equals"   // the tree holds exactly Files, Ignore left out
)

// Groups. All and Any are predicates; Weighted is for graders only.
const (
	All      Kind = "all"      // every one of Of passes
	Any      Kind = "any"      // at least one of Of passes
	Weighted Kind = "weighted" // the weighted mean score of Of reaches PassAt
)

// Trajectories look at what was done, not at what was left. They are for
// graders only and are evaluated by package graders.
const TrajectoryKind Kind = "trajectory"

// Trim says how two texts are made comparable.
type Trim string

// The trims; the empty Trim is the kind's default (see the package comment).
const (
	TrimNone    Trim = "none"    // bytes as they are
	TrimNewline Trim = "newline" // one final line break of each side is dropped
	TrimSpace   Trim = "space"   // white space at both ends of each side is dropped
)

// Limits on specs and on what they look at.
const (
	MaxFile    = 8 << 20 // bytes of a file that a predicate reads; a larger one fails
	MaxText    = 1 << 20 // bytes of one text in a spec
	MaxPattern = 4 << 10 // bytes of one pattern
	MaxEntries = 1000    // entries of one list in a spec
	MaxNesting = 8       // groups within groups
	MaxDepth   = 512     // nesting of a JSON value, in a spec or in a file
	MaxTree    = 100_000 // files of a tree that tree_equals visits
	MaxReason  = 500     // bytes of a Reason or Evidence
)

// Spec declares one predicate or grader. Which fields count depends on Kind;
// the others are zero. Specs that were decoded are valid; one built in Go is
// checked by Validate.
type Spec struct {
	Kind Kind

	// Attributes any kind may have.
	ID     string   // names a grader in its scenario; empty = see Names
	Hint   string   // replaces the reason of a failure
	Gate   bool     // graders only: failing this one fails the trial
	Weight *float64 // graders only, > 0: counts in a weighted score; nil = 1

	// Parameters.
	Path       string   // relative to the workspace, slashes
	Paths      []string // of files_exist
	Want       string   // text; canonical JSON of json_equals; number of number_within
	SHA256     string   // 64 hex digits: the digest of the wanted content
	Trim       Trim     // of equals, file_equals and tree_equals
	IgnoreCase bool     // of equals, contains, file_equals, file_contains
	Pattern    string   // RE2
	Pointer    string   // RFC 6901
	Tolerance  string   // JSON number >= 0, absolute; empty = 0
	Relative   string   // JSON number >= 0, a share of |Want|; empty = 0
	Files      []File   // of tree_equals, sorted by path
	Ignore     []string // globs (** crosses folders) that tree_equals leaves out
	Of         []Spec   // members of a group
	PassAt     *float64 // of weighted, in 0..1; nil = 1
	Trajectory *Trajectory

	Pos Pos // where it was written; no part of what it says

	re *regexp.Regexp // Pattern, compiled
}

// Pos is a place in a scenario file. The zero Pos is unknown.
type Pos struct{ Line, Column int }

// File is one file that tree_equals wants: either a content or a digest.
type File struct {
	Path    string
	Content string // used when SHA256 is empty
	SHA256  string // 64 hex digits
}

// Trajectory demands something of the calls and counts of a session. All that
// is set must hold. Calls of every lane count, in the order of their commits.
type Trajectory struct {
	Use      []Match  // each matches at least one call
	Forbid   []Match  // none matches any call
	Order    []Match  // they match calls in this order, others may stand between
	Exact    bool     // Order matches the whole list of calls, one each
	Counts   []Count  // how many calls match
	Calls    *Range   // how many tool calls there were
	Turns    *Range   // how many turns
	Attempts *Range   // how many model calls, failed ones included
	Stop     []string // the session ended for one of these reasons
}

// Match selects tool calls. All that is set must hold.
type Match struct {
	Tool    string            // name, or * for any
	Args    map[string]string // argument name, or RFC 6901 pointer, to an RE2 pattern
	Outcome string            // terminal outcome, such as success

	res map[string]*regexp.Regexp // Args, compiled
}

// Count bounds how many calls match.
type Count struct {
	Match
	Range
}

// Range bounds a count; nil is no bound.
type Range struct{ Min, Max *int }

// Acceptance lists what must hold before a session may end as completed. They
// are checked in order; the first failure is the one the model hears of.
type Acceptance []Spec

// Graders lists the graders of a scenario.
type Graders []Spec

// Digest returns the SHA-256 digest of the canonical JSON of s, in hex.
func (s *Spec) Digest() string {
	d := sha256.Sum256(s.AppendJSON(nil))
	return hex.EncodeToString(d[:])
}

// DefaultTrim returns the trim in force when a spec of this kind names none.
func (k Kind) DefaultTrim() Trim {
	switch k {
	case Equals:
		return TrimSpace
	case FileEquals:
		return TrimNewline
	default:
		return TrimNone
	}
}

// trim returns the trim in force.
func (s *Spec) trim() Trim {
	if s.Trim == "" {
		return s.Kind.DefaultTrim()
	}
	return s.Trim
}

// Predicate reports whether Eval can decide the kind: it needs no session.
func (k Kind) Predicate() bool { return k != TrajectoryKind && k != Weighted && kinds[k].known }

// Known reports whether there is such a kind.
func (k Kind) Known() bool { return kinds[k].known }
