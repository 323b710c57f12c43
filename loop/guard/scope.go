package guard

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/internal/mutant"
)

// Permissions bound what operations may touch. Globs are over workspace paths (see
// [NewScope]); an empty list allows everything in the workspace.
type Permissions struct {
	Read     []string
	Write    []string
	Deny     []string // wins over the two
	Commands []string // command lines; * stands for any text without the shell's operators
	Network  bool     // any host; else none
}

// root is where the agent sees the workspace (workspace.Root), and harness the
// harness's own folder in it: what was spilled there stays readable.
const (
	root    = "/workspace"
	harness = ".harness"
)

// Scope judges canonical operations by permissions. It is immutable and safe for
// concurrent use. The nil Scope allows everything.
type Scope struct {
	read, write, deny globs
	commands          []string
	runs              []*regexp.Regexp
	network           bool
}

// NewScope compiles permissions.
//
// A glob has * and ? within a name and ** for any number of names; it covers what
// it matches and all below. deny takes upper and lower case for one, since a file
// system may.
func NewScope(p Permissions) (*Scope, error) {
	s := &Scope{commands: p.Commands, network: p.Network}
	var err error
	for _, l := range []struct {
		to   *globs
		what string
		list []string
	}{{&s.read, "read", p.Read}, {&s.write, "write", p.Write}, {&s.deny, "deny", p.Deny}} {
		if *l.to, err = newGlobs(l.list, l.what == "deny"); err != nil {
			return nil, fmt.Errorf("permissions, %s: %w", l.what, err)
		}
	}
	for _, c := range p.Commands {
		if strings.TrimSpace(c) == "" || len(c) > maxGlob {
			return nil, fmt.Errorf("permissions, commands: %.80q is no command; write it like make test or git log *, in at most %d bytes", c, maxGlob)
		}
		pattern := strings.ReplaceAll(regexp.QuoteMeta(squeeze(c)), `\*`, "[^;&|<>$`\\n(){}]*")
		s.runs = append(s.runs, regexp.MustCompile("^"+pattern+"$"))
	}
	return s, nil
}

// HidesFiles reports whether some workspace files may not be read.
func (s *Scope) HidesFiles() bool { return s != nil && len(s.read)+len(s.deny) > 0 }

// Judge says why an operation with this effect on these canonical resources is
// outside, in words for the model, and which rule says so; "" = it is not. A
// reading operation on a folder is allowed where something below it may be read:
// listings and searches skip the rest (see [Scope.Shows]).
func (s *Scope) Judge(effect event.Effect, resources []string) (why, rule string) {
	if s == nil || mutant.Is("scope") {
		return "", ""
	}
	for _, res := range resources {
		switch {
		case strings.HasPrefix(res, event.CommandPrefix):
			why, rule = s.command(res[len(event.CommandPrefix):])
		case strings.HasPrefix(res, event.HostPrefix):
			if !s.network {
				why, rule = "no host may be reached: "+Head(res[len(event.HostPrefix):], 200), "network none"
			}
		default:
			rel, ok := strings.CutPrefix(res, root)
			if ok && (rel == "" || rel[0] == '/') {
				why, rule = s.path(effect, strings.TrimPrefix(rel, "/"))
			}
		}
		if why != "" {
			return why, rule
		}
	}
	return "", ""
}

// path judges one clean path.
func (s *Scope) path(effect event.Effect, rel string) (why, rule string) {
	verb, list := "read", s.read
	if effect == event.Write {
		verb, list = "write", s.write
	}
	if verb == "read" && inHarness(rel) {
		return "", ""
	}
	shown := Head(strings.TrimSuffix(root+"/"+rel, "/"), 300)
	if by, _ := s.deny.covers(rel); by != nil {
		return fmt.Sprintf("%s may not be touched; %s is off limits. Do the task without it, or say that it cannot be done", shown, by.text), "deny " + by.text
	}
	if len(list) == 0 {
		return "", ""
	}
	by, below := list.covers(rel)
	if by != nil || below && verb == "read" {
		return "", ""
	}
	return fmt.Sprintf("you may not %s %s. You may %s: %s", verb, shown, verb, list), verb + " " + list.String()
}

func (s *Scope) command(line string) (why, rule string) {
	if len(s.runs) == 0 {
		return "", ""
	}
	for _, re := range s.runs {
		if re.MatchString(line) {
			return "", ""
		}
	}
	may := Head(strings.Join(s.commands, ", "), 400)
	return fmt.Sprintf("you may not run %q. You may run: %s", Head(line, 200), may), "commands " + may
}

// Shows reports whether a listing or a search may show a path of the workspace; of
// a folder, whether something below it may be shown.
func (s *Scope) Shows(rel string, dir bool) bool {
	if s == nil || inHarness(rel) {
		return true
	}
	if by, _ := s.deny.covers(rel); by != nil {
		return false
	}
	if len(s.read) == 0 {
		return true
	}
	by, below := s.read.covers(rel)
	return by != nil || dir && below
}

func inHarness(rel string) bool { return rel == harness || strings.HasPrefix(rel, harness+"/") }

// squeeze makes each run of white space one space.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }
