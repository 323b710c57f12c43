package sim

import (
	"maps"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

// Script says how one scenario is solved. It is immutable.
//
// The YAML, all keys but rules optional:
//
//	facts:
//	  order: {in: tool, from: grep, match: 'order=(\d+)', times: 1}
//	rules:
//	- {id: write, need: [order], not: [written], max: 1, chance: obey,
//	   trap: wrong, heed: 'not done yet', think: 2000,
//	   do: {tool: write_file, args: {path: /workspace/answer.txt, content: "${order}"}},
//	   habit: {tool: write_file, args: {path: /workspace/answer.txt, content: "10417"}}}
//	guess:
//	- {say: "Not found."}
//	best: "The order is ${order}, as far as I have seen."
//
// A fact holds once its pattern (RE2) was found in `times` messages (1) of the
// role `in` (tool, user, system, any) and, for tool results, of the tool `from`.
// Its value is the first capture, or the whole match, of the first match in the
// latest message that has one.
//
// A rule applies while all facts of `need` hold, none of `not` holds, it was done
// fewer than `max` times (0 = any), and, with a `chance`, the draw against the
// rate of that name says so (one draw a trial). The first rule that applies is
// done; else the next guess, the last one again and again.
//
// An action is {tool, args}, {calls: [{tool, args}, ...]} in one batch, {say}, or
// say beside one of the two. ${fact} in a text or in args stands for the fact's
// value.
//
// A `trap` has a kind: repeat (the last calls again), end_early (a narrated plan, no
// call), blank (nothing at all), unknown_tool (names misspelled), malformed (arguments
// broken), wrong (a wrong value; needs a habit), wander (a side quest; needs a habit)
// or down (the model's endpoint fails). It closes by the profile's rate when the rule is first chosen; while it
// is closed `habit` (one action, or a list that is cycled through) is done
// instead, and does not count towards max unless the kind is wrong. `heed`, a
// pattern over user messages or {in: tool, match: ...}, says which later message
// may open it. `think` is how many tokens a profile thinks before it answers
// here, if drawn by its rate; others think an eighth. `broken` says how a trap of
// kind malformed breaks arguments: close (default; the last bracket is missing),
// fence (a Markdown fence round them), comma (a trailing one), quotes (single
// ones), prose (words before them), cut (they break off within their last text), or
// mixed (one of these, drawn for the rule). `fault` is the error of a trap of kind
// down, as the faults of scenarios are named (server). Thought and answer count
// towards max_tokens: beyond it, the answer is cut and empty.
//
// `best` is what a model says that is asked for its last answer, without tools
// (see model.ForFinalSynthesis), if all facts that it names hold. Without it, or
// them, that is what the first rule says that only speaks and whose facts are
// there, or the last thing of the guesses.
type Script struct {
	Name  string // for messages
	facts []fact
	rules []rule
	guess []action
	best  template
	// from lists, for each role, the facts to look for, so that a fold looks at
	// each part once.
	byRole map[model.Role][]int
}

type fact struct {
	name  string
	tool  string
	match *regexp.Regexp
	times int
}

type rule struct {
	id        string
	need, not []int
	max       int
	chance    string
	trap      TrapKind
	heed      heed
	think     int
	broken    string
	fault     FaultKind
	do        action
	habit     []action
}

// Bounds of a script.
const (
	maxFacts   = 64
	maxRules   = 64
	maxActions = 16
	maxPattern = 512
	maxThink   = 1 << 20
	maxTimes   = 1000
)

// The file as it is written.
type scriptFile struct {
	Facts map[string]*factFile `yaml:"facts"`
	Rules []ruleFile           `yaml:"rules,required"`
	Guess []actionFile         `yaml:"guess"`
	Best  string               `yaml:"best"`
}

type factFile struct {
	Pos   strictyaml.Pos
	In    string  `yaml:"in"`
	From  string  `yaml:"from"`
	Match pattern `yaml:"match,required"`
	Times int     `yaml:"times"`
}

type ruleFile struct {
	Pos    strictyaml.Pos
	ID     string      `yaml:"id,required"`
	Need   []string    `yaml:"need"`
	Not    []string    `yaml:"not"`
	Max    int         `yaml:"max"`
	Chance string      `yaml:"chance"`
	Trap   string      `yaml:"trap"`
	Heed   *heedFile   `yaml:"heed"`
	Think  int         `yaml:"think"`
	Broken string      `yaml:"broken"`
	Fault  string      `yaml:"fault"`
	Do     *actionFile `yaml:"do,required"`
	Habit  habitFile   `yaml:"habit"`
}

// pattern is an RE2 that knows where it stands.
type pattern struct{ re *regexp.Regexp }

// UnmarshalNode implements strictyaml.Unmarshaler.
func (p *pattern) UnmarshalNode(n *strictyaml.Node) error {
	s, err := n.Text()
	if err != nil {
		return err
	}
	if len(s) > maxPattern {
		return n.Errorf("shorten it", "the pattern has %d bytes, the limit is %d", len(s), maxPattern)
	}
	if p.re, err = regexp.Compile(s); err != nil {
		return n.Errorf("correct it (RE2 syntax)", "%v", err)
	}
	return nil
}

type heedFile struct{ heed }

// UnmarshalNode implements strictyaml.Unmarshaler: a pattern over user messages,
// or a mapping.
func (h *heedFile) UnmarshalNode(n *strictyaml.Node) error {
	var f struct {
		In    string  `yaml:"in"`
		Match pattern `yaml:"match,required"`
	}
	f.In = "user"
	if n.Kind == strictyaml.Map {
		if err := strictyaml.Decode(n, &f); err != nil {
			return err
		}
	} else if err := f.Match.UnmarshalNode(n); err != nil {
		return err
	}
	switch f.In {
	case "user":
		h.role = model.User
	case "tool":
		h.role = model.ToolRole
	default:
		return n.Errorf("use user or tool", "heed cannot look in %q", f.In)
	}
	h.match = f.Match.re
	return nil
}

// habitFile is one action or a list.
type habitFile []actionFile

// UnmarshalNode implements strictyaml.Unmarshaler.
func (h *habitFile) UnmarshalNode(n *strictyaml.Node) error {
	if n.Kind == strictyaml.List {
		return strictyaml.Decode(n, (*[]actionFile)(h))
	}
	*h = make([]actionFile, 1)
	return strictyaml.Decode(n, &(*h)[0])
}

// ParseScript reads a script. name is the file's name for messages. Errors have
// the form file:line:column: what; what to do.
func ParseScript(name string, data []byte) (*Script, error) {
	var f scriptFile
	n, err := strictyaml.Parse(name, data)
	if err != nil {
		return nil, err
	}
	if n.Kind == strictyaml.Null {
		return nil, n.Errorf("write at least the rules", "the script is empty")
	}
	if err := strictyaml.Decode(n, &f); err != nil {
		return nil, err
	}
	s := &Script{Name: name, byRole: map[model.Role][]int{}}
	index, err := s.addFacts(n.Pos, f.Facts)
	if err != nil {
		return nil, err
	}
	if len(f.Rules) == 0 || len(f.Rules) > maxRules {
		return nil, n.Errorf("write the steps of the solution", "a script has 1 to %d rules, not %d", maxRules, len(f.Rules))
	}
	seen := map[string]bool{}
	for i := range f.Rules {
		r, err := f.Rules[i].compile(index)
		if err != nil {
			return nil, err
		}
		if seen[r.id] {
			return nil, f.Rules[i].Pos.Errorf("give it another id", "rule %q is there already", r.id)
		}
		seen[r.id] = true
		s.rules = append(s.rules, r)
	}
	if s.guess, err = compileActions(n.Pos, f.Guess, index); err != nil {
		return nil, err
	}
	if f.Best != "" {
		if s.best, err = compileTemplate(n.Get("best").Pos, f.Best, false, index); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Script) addFacts(pos strictyaml.Pos, facts map[string]*factFile) (map[string]int, error) {
	if len(facts) > maxFacts {
		return nil, pos.Errorf("remove some", "a script has at most %d facts, not %d", maxFacts, len(facts))
	}
	names := make([]string, 0, len(facts))
	for name := range facts {
		names = append(names, name)
	}
	sort.Strings(names)
	index := make(map[string]int, len(names))
	for _, name := range names {
		f := facts[name]
		if f == nil {
			return nil, pos.Errorf("give it a match", "fact %q is empty", name)
		}
		if !factName.MatchString(name) {
			return nil, f.Pos.Errorf("use lower-case letters, digits and _", "%q is no name of a fact", name)
		}
		c := fact{name: name, tool: f.From, match: f.Match.re, times: max(f.Times, 1)}
		roles := map[string][]model.Role{
			"": {model.ToolRole, model.User, model.System}, "any": {model.ToolRole, model.User, model.System},
			"tool": {model.ToolRole}, "user": {model.User}, "system": {model.System},
		}[f.In]
		switch {
		case roles == nil:
			return nil, f.Pos.Errorf("use tool, user, system or any", "a fact cannot be looked for in %q", f.In)
		case f.From != "" && f.In != "tool":
			return nil, f.Pos.Errorf("add in: tool", "from: %s needs tool results", f.From)
		case f.Times < 0 || f.Times > maxTimes:
			return nil, f.Pos.Errorf("correct it", "times must be 1 to %d", maxTimes)
		}
		index[name] = len(s.facts)
		for _, r := range roles {
			s.byRole[r] = append(s.byRole[r], len(s.facts))
		}
		s.facts = append(s.facts, c)
	}
	return index, nil
}

var factName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)

func (f *ruleFile) compile(index map[string]int) (rule, error) {
	r := rule{id: f.ID, max: f.Max, chance: f.Chance, trap: TrapKind(f.Trap), think: f.Think,
		broken: f.Broken, fault: FaultKind(f.Fault)}
	var err error
	if r.need, err = f.lookup(f.Need, index); err != nil {
		return r, err
	}
	if r.not, err = f.lookup(f.Not, index); err != nil {
		return r, err
	}
	if r.do, err = f.Do.compile(index); err != nil {
		return r, err
	}
	if r.habit, err = compileActions(f.Pos, f.Habit, index); err != nil {
		return r, err
	}
	return r, f.check(&r)
}

func (f *ruleFile) check(r *rule) error {
	if r.chance != "" && rateByName(r.chance) == nil {
		return f.Pos.Errorf("use obey, fix or the name of a trap", "chance %q is no rate", r.chance)
	}
	if r.max < 0 || r.think < 0 || r.think > maxThink {
		return f.Pos.Errorf("correct it", "max and think must be 0 or more, think at most %d", maxThink)
	}
	switch {
	case r.broken != "" && (r.trap != TrapMalformed || breaks[r.broken] == nil && r.broken != brokenMixed):
		return f.Pos.Errorf("use "+strings.Join(slices.Sorted(maps.Keys(breaks)), ", ")+" or mixed, with trap: malformed", "broken: %.40q says nothing here", r.broken)
	case r.fault != "" && (r.trap != TrapDown || (&Fault{Kind: r.fault}).Error() == nil):
		return f.Pos.Errorf("use auth, quota, server or another error, with trap: down", "fault: %.40q says nothing here", r.fault)
	}
	if r.trap == "" {
		if f.Heed != nil || len(r.habit) > 0 {
			return f.Pos.Errorf("add trap or remove them", "heed and habit belong to a trap")
		}
		return nil
	}
	info, ok := traps[r.trap]
	if !ok {
		return f.Pos.Errorf("use repeat, end_early, blank, unknown_tool, malformed, wrong, wander or down", "trap %q is not known", r.trap)
	}
	if r.heed = info.heed; f.Heed != nil {
		r.heed = f.Heed.heed
	}
	switch {
	case r.trap == TrapWrong && len(r.habit) == 0:
		return f.Pos.Errorf("say with habit what the wrong value is", "a trap of kind wrong needs a habit")
	case r.trap == TrapWander && len(r.habit) == 0:
		return f.Pos.Errorf("say with habit what the side quest is", "a trap of kind wander needs a habit")
	case r.trap == TrapDown && len(r.habit) > 0:
		return f.Pos.Errorf("remove it", "a trap of kind down has no habit: nothing is answered")
	case (r.trap == TrapUnknownTool || r.trap == TrapMalformed) && len(r.habit) == 0 && len(r.do.calls) == 0:
		return f.Pos.Errorf("let do call a tool, or add a habit", "a trap of kind %s needs a call", r.trap)
	}
	return nil
}

func (f *ruleFile) lookup(names []string, index map[string]int) ([]int, error) {
	var out []int
	for _, n := range names {
		i, ok := index[n]
		if !ok {
			return nil, f.Pos.Errorf("define it under facts", "rule %q names the unknown fact %q", f.ID, n)
		}
		out = append(out, i)
	}
	return out, nil
}
