package canon

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Env says where a client runs: what its home, cwd, tmp and host normalisers look
// for. Paths are absolute, in the form of the client's system; empty = unknown.
type Env struct {
	Home string
	Cwd  string // working directory
	Tmp  string // directory for temporary files; empty = /tmp

	// As uname says them; empty = unknown, which is not looked for.
	Hostname string // -n
	Release  string // -r, of the kernel: 6.1.0-18-amd64
	Version  string // -v, of the kernel: #1 SMP Debian 6.1.76-1
	Machine  string // -m, its architecture: x86_64
}

// Normaliser replaces one kind of volatile text by a token <NAME>, drops a member, or
// sorts results, so that a replay elsewhere or later compares equal. Only declared ones are applied, and
// each strike is counted.
type Normaliser struct {
	decl  string // as declared
	name  string
	rank  int // order of application
	paths []spelling
	re    *regexp.Regexp
	must  []string                // see needles
	find  func(s string) []strike // of host, date and uuid
	drop  []string                // reference tokens of the member that goes
	order bool                    // it sorts results
}

// String returns the declaration, as Normalisers takes it. A header keeps a list
// of these; paths are not part of it: a replay puts in its own.
func (n Normaliser) String() string { return n.decl }

// strike is a piece of a text to replace.
type strike struct {
	from, to int
	by       string
	name     string // counted under; "" = a part of the strike before
}

const (
	rankCustom = iota // patterns are written against texts as they are
	rankPath
	rankHost // a kernel's version may hold a date
	rankDate
	rankUUID
)

var customName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// own are the names of normalisers that have their own meaning.
var own = []string{"home", "cwd", "tmp", "host", "date", "uuid", "drop", resultOrder}

// Normalisers makes the declared normalisers; their order does not matter, and one
// declared again is one. Names:
//
//	home    the user's home directory
//	cwd     the working directory
//	tmp     the directory for temporary files, and random names right below it
//	host    host name, kernel release, kernel version and machine, see Env
//	date    ISO dates and times, RFC 1123 and RFC 850 dates, those of date(1) and
//	        JavaScript, and "November 30, 2026"
//	uuid    8-4-4-4-12 hex digits
//	NAME=RE what the RE2 pattern RE matches: its first group if it has one, else
//	        the whole match. NAME is lower-case letters, digits, - and _
//	drop=/POINTER
//	        the member of the request at this RFC 6901 pointer; * stands for every
//	        element of a list. A part cannot be dropped, but what is in it can
//	result-order
//	        the results of parallel calls, which clients send as they finish: those
//	        of one batch (Messages: tool_result blocks of the user message; Chat: tool
//	        messages; Responses: ..._output items in a row) are sorted into the order
//	        of the calls before them. A result of an unknown call stays where it is,
//	        those of one call keep their order. It strikes once a batch
//	PRESET  what an agent's requests need, a list of the above: see Presets
//
// Paths are found at path boundaries only, also JSON-escaped within a text and
// percent-encoded; where several begin at one place the longest counts. home and
// cwd are also found as one name in a path that has - for every character but
// ASCII letters and digits (/work/my.app as -work-my-app).
func Normalisers(names []string, env Env) ([]Normaliser, error) {
	var out []Normaliser
	for _, name := range names {
		for _, decl := range expand(name) {
			n, err := declared(decl, env)
			if err != nil {
				return nil, fmt.Errorf("normaliser %q: %w", decl, err)
			}
			switch i := slices.IndexFunc(out, func(o Normaliser) bool { return o.name == n.name }); {
			case i < 0:
				out = append(out, n)
			case out[i].decl != decl:
				return nil, fmt.Errorf("normaliser %q: %s is declared twice, also as %q", decl, n.name, out[i].decl)
			}
		}
	}
	slices.SortFunc(out, func(a, b Normaliser) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), strings.Compare(a.name, b.name))
	})
	return out, nil
}

func declared(decl string, env Env) (Normaliser, error) {
	n := Normaliser{decl: decl, name: decl}
	var err error
	switch name, value, custom := strings.Cut(decl, "="); {
	case custom && name == "drop":
		n.drop, err = pointerToDrop(value)
	case custom:
		n.name, n.rank = name, rankCustom
		n.re, err = customPattern(name, value)
		n.must = needles(value)
	case name == "home":
		n.rank = rankPath
		n.paths, err = spellingsOf(name, env.Home, true)
	case name == "cwd":
		n.rank = rankPath
		n.paths, err = spellingsOf(name, env.Cwd, true)
	case name == "tmp":
		n.rank = rankPath
		n.paths, err = spellingsOf(name, cmp.Or(env.Tmp, "/tmp"), false)
	case name == "host":
		n.rank, n.find = rankHost, hostFinder(env)
	case name == resultOrder:
		n.order = true
	case name == "date":
		n.rank, n.find = rankDate, findDates
	case name == "uuid":
		n.rank, n.find = rankUUID, findUUIDs
	default:
		err = fmt.Errorf("is unknown; use home, cwd, tmp, host, date, uuid, result-order, NAME=PATTERN, drop=/POINTER or a preset (%s)",
			strings.Join(Presets(), ", "))
	}
	return n, err
}

func customPattern(name, pattern string) (*regexp.Regexp, error) {
	if !customName.MatchString(name) {
		return nil, fmt.Errorf("the name must be lower-case letters, digits, - and _, and begin with a letter")
	}
	if slices.Contains(own, name) || presets[name] != nil {
		return nil, fmt.Errorf("%s has its own meaning; choose another name", name)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	if re.MatchString("") {
		return nil, fmt.Errorf("the pattern matches the empty text; make it ask for at least one character")
	}
	return re, nil
}

// striker applies normalisers to the texts of one request. A nil striker has none.
type striker struct {
	steps   []step
	drops   []Normaliser
	order   bool // results are sorted
	applied map[string]int
}

// step finds all strikes of one kind in a text, in order and apart.
type step func(s string) []strike

func newStriker(list []Normaliser) *striker {
	if len(list) == 0 {
		return nil
	}
	st := &striker{}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Normaliser) int { return cmp.Compare(a.rank, b.rank) })
	var paths []spelling
	for _, n := range list {
		switch {
		case n.re != nil:
			st.steps = append(st.steps, n.findPattern)
		case n.paths != nil:
			paths = append(paths, n.paths...)
		case n.drop != nil:
			st.drops = append(st.drops, n)
		case n.order:
			st.order = true
		}
	}
	if paths != nil {
		st.steps = append(st.steps, func(s string) []strike { return findPaths(s, paths) })
	}
	for _, n := range list {
		if n.find != nil {
			st.steps = append(st.steps, n.find)
		}
	}
	return st
}

func (n Normaliser) findPattern(s string) (out []strike) {
	if n.must != nil && !containsAny(s, n.must) {
		return nil
	}
	for _, at := range n.re.FindAllStringSubmatchIndex(s, -1) {
		from, to := at[0], at[1]
		if len(at) > 2 && at[2] >= 0 {
			from, to = at[2], at[3]
		}
		if from < to {
			out = append(out, strike{from, to, "<" + n.name + ">", n.name})
		}
	}
	return out
}

func (st *striker) count(name string, n int) {
	if st.applied == nil {
		st.applied = map[string]int{}
	}
	st.applied[name] += n
}

func (st *striker) counts() map[string]int {
	if st == nil {
		return nil
	}
	return st.applied
}

// verbatim are the members whose texts are no texts: what the API itself reads,
// and content that only the provider can read. In a user's own data they are like
// any other.
var verbatim = map[string]bool{"type": true, "role": true, "id": true, "call_id": true, "tool_call_id": true, "tool_use_id": true,
	"encrypted_content": true, "signature": true, "thought_signature": true, "data": true, "file_data": true}

// node applies all normalisers to the texts of a part and reports whether one
// struck.
func (st *striker) node(n *node) bool { return st.walk(n, false) }

func (st *striker) walk(n *node, own bool) (struck bool) {
	if n.kind == '"' {
		s := st.text(n.text)
		struck, n.text = s != n.text, s
		return struck
	}
	for i := range n.arr {
		struck = st.walk(&n.arr[i], own) || struck
	}
	for i := range n.obj {
		if m := &n.obj[i]; own || !verbatim[m.name] {
			struck = st.walk(&m.node, own || free[m.name]) || struck
		}
	}
	return struck
}

func (st *striker) text(s string) string {
	if strings.HasPrefix(s, "data:") { // a picture or file
		return s
	}
	for _, find := range st.steps {
		strikes := find(s)
		if len(strikes) == 0 {
			continue
		}
		var b strings.Builder
		b.Grow(len(s))
		at := 0
		for _, k := range strikes {
			b.WriteString(s[at:k.from])
			b.WriteString(k.by)
			at = k.to
			if k.name != "" {
				st.count(k.name, 1)
			}
		}
		b.WriteString(s[at:])
		s = b.String()
	}
	return s
}
