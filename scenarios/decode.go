package scenarios

import (
	"path"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/harnessbench/harnessbench/graders/check"
	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

// The file as it is written.
type scenarioFile struct {
	Pos         strictyaml.Pos
	Schema      string          `yaml:"schema,required"`
	ID          string          `yaml:"id,required"`
	Summary     string          `yaml:"summary,required"`
	Tags        []string        `yaml:"tags"`
	Stresses    []string        `yaml:"stresses"`
	Controls    []string        `yaml:"controls"`
	Hurts       []hurtFile      `yaml:"hurts"`
	Cache       string          `yaml:"cache"`
	Limits      limitsFile      `yaml:"limits"`
	Tools       []toolFile      `yaml:"tools"`
	Faults      []faultFile     `yaml:"faults"`
	Permissions permissionsFile `yaml:"permissions"`
	Approvals   []approvalFile  `yaml:"approvals"`
	Secrets     []string        `yaml:"secrets"`
	User        userFile        `yaml:"user"`
	Acceptance  acceptanceFile  `yaml:"acceptance"`
	Seals       []string        `yaml:"seals"`
	Graders     gradersFile     `yaml:"graders"`
	Lint        lintFile        `yaml:"lint"`
	Generate    []namedGenerate `yaml:"generate"`
}

type limitsFile struct {
	Pos           strictyaml.Pos
	Turns         int      `yaml:"turns"`
	ToolCalls     int      `yaml:"tool_calls"`
	Tokens        int64    `yaml:"tokens"`
	CostUSD       float64  `yaml:"cost_usd"`
	Wall          duration `yaml:"wall"`
	ContextWindow int      `yaml:"context_window"`
	MaxTokens     int      `yaml:"max_tokens"`
}

type faultFile struct {
	Pos        strictyaml.Pos
	Tool       string   `yaml:"tool"`
	Model      bool     `yaml:"model"`
	Kind       string   `yaml:"kind,required"`
	AtCall     counts   `yaml:"at_call"`
	AtTurn     counts   `yaml:"at_turn"`
	AtAttempt  counts   `yaml:"at_attempt"`
	Purpose    string   `yaml:"purpose"`
	Status     int      `yaml:"status"`
	RetryAfter duration `yaml:"retry_after"`
	Takes      duration `yaml:"takes"`
	Text       string   `yaml:"text"`
	Bytes      size     `yaml:"bytes"`
	P          float64  `yaml:"p"`
}

type permissionsFile struct {
	Pos      strictyaml.Pos
	Read     []string `yaml:"read"`
	Write    []string `yaml:"write"`
	Deny     []string `yaml:"deny"`
	Commands []string `yaml:"commands"`
	Network  string   `yaml:"network"`
}

type userFile struct {
	Script []struct {
		When pattern `yaml:"when"`
		Say  string  `yaml:"say,required"`
	} `yaml:"script"`
}

type lintFile struct {
	Pos    strictyaml.Pos
	Oracle string `yaml:"oracle"`
	Noop   string `yaml:"noop"`
	Spam   string `yaml:"spam"`
}

type namedGenerate struct {
	Pos  strictyaml.Pos
	Path string `yaml:"path,required"`
	generateFile
}

// UnmarshalNode implements strictyaml.Unmarshaler: the path beside the keys of a
// generator.
func (g *namedGenerate) UnmarshalNode(n *strictyaml.Node) error {
	var f struct {
		Pos    strictyaml.Pos
		Path   string       `yaml:"path,required"`
		Lines  int          `yaml:"lines,required"`
		Line   string       `yaml:"line,required"`
		Seed   uint64       `yaml:"seed"`
		Insert []insertFile `yaml:"insert"`
	}
	if err := strictyaml.Decode(n, &f); err != nil {
		return err
	}
	g.Pos, g.Path, g.generateFile = f.Pos, f.Path, generateFile{f.Pos, f.Lines, f.Line, f.Seed, f.Insert}
	return nil
}

type acceptanceFile check.Acceptance

// UnmarshalNode implements strictyaml.Unmarshaler.
func (a *acceptanceFile) UnmarshalNode(n *strictyaml.Node) error {
	return n.External((*check.Acceptance)(a))
}

type gradersFile check.Graders

// UnmarshalNode implements strictyaml.Unmarshaler.
func (g *gradersFile) UnmarshalNode(n *strictyaml.Node) error {
	return n.External((*check.Graders)(g))
}

// duration is written as Go does: 50ms, 2m30s.
type duration time.Duration

// UnmarshalNode implements strictyaml.Unmarshaler.
func (d *duration) UnmarshalNode(n *strictyaml.Node) error {
	v, err := time.ParseDuration(n.Value)
	if n.Kind != strictyaml.String || err != nil || v < 0 || v > 1000*24*time.Hour {
		return n.Errorf("write it like 50ms, 90s or 2m30s", "%.40q is no duration", n.Value)
	}
	*d = duration(v)
	return nil
}

// size is a number of bytes: 512, 24KiB, 2MiB.
type size int64

// UnmarshalNode implements strictyaml.Unmarshaler.
func (s *size) UnmarshalNode(n *strictyaml.Node) error {
	text, unit := n.Value, int64(1)
	for suffix, u := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20} {
		if t, ok := strings.CutSuffix(text, suffix); ok && n.Kind == strictyaml.String {
			text, unit = t, u
		}
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v < 0 || v > (1<<30)/unit || n.Kind != strictyaml.Int && unit == 1 {
		return n.Errorf("write it like 512, 24KiB or 2MiB", "%.40q is no size", n.Value)
	}
	*s = size(v * unit)
	return nil
}

// counts is one number from 1, or a list of them.
type counts []int

// UnmarshalNode implements strictyaml.Unmarshaler.
func (c *counts) UnmarshalNode(n *strictyaml.Node) error {
	items := []*strictyaml.Node{n}
	if n.Kind == strictyaml.List {
		items = n.Items
	}
	if len(items) == 0 || len(items) > maxCounts {
		return n.Errorf("name them, or leave the key out", "1 to %d numbers are needed here", maxCounts)
	}
	for _, it := range items {
		v, err := strconv.Atoi(it.Value)
		if it.Kind != strictyaml.Int || err != nil || v < 1 || v > 1_000_000 {
			return it.Errorf("count from 1", "%.40q is no number from 1", it.Value)
		}
		*c = append(*c, v)
	}
	sort.Ints(*c)
	return nil
}

// ranges are calls: 3, "3-5", "3-", or a list of them.
type ranges []Range

// UnmarshalNode implements strictyaml.Unmarshaler.
func (r *ranges) UnmarshalNode(n *strictyaml.Node) error {
	items := []*strictyaml.Node{n}
	if n.Kind == strictyaml.List {
		items = n.Items
	}
	if len(items) == 0 || len(items) > maxCounts {
		return n.Errorf("name them, or leave the key out", "1 to %d calls are needed here", maxCounts)
	}
	for _, it := range items {
		from, to, ranged := strings.Cut(it.Value, "-")
		x := Range{}
		var err, err2 error
		x.First, err = strconv.Atoi(from)
		switch {
		case !ranged:
			x.Last = x.First
		case to != "":
			x.Last, err2 = strconv.Atoi(to)
		}
		if it.Kind != strictyaml.Int && it.Kind != strictyaml.String || err != nil || err2 != nil ||
			x.First < 1 || x.Last != 0 && x.Last < x.First || x.Last > 1_000_000 {
			return it.Errorf(`write 3, "3-5" or "3-", counted from 1`, "%.40q names no calls", it.Value)
		}
		*r = append(*r, x)
	}
	return nil
}

const maxCounts = 1000

// pattern is an RE2 that compiles.
type pattern string

// UnmarshalNode implements strictyaml.Unmarshaler.
func (p *pattern) UnmarshalNode(n *strictyaml.Node) error {
	s, err := n.Text()
	if err != nil {
		return err
	}
	if len(s) > 4096 {
		return n.Errorf("shorten it", "the pattern has %d bytes, the limit is 4096", len(s))
	}
	if _, err := regexp.Compile(s); err != nil {
		return n.Errorf("correct it (RE2 syntax)", "%v", err)
	}
	*p = pattern(s)
	return nil
}

var idPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)
var namePattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// decode reads scenario.yaml into s, whose files are there already.
func (s *Scenario) decode(file string, data []byte) error {
	n, err := strictyaml.Parse(file, data)
	if err != nil {
		return err
	}
	if v := n.Get("schema"); v != nil && v.Value != Schema {
		return v.Errorf("this version reads "+Schema, "schema %.60q is not known", v.Value)
	}
	var f scenarioFile
	if n.Kind == strictyaml.Null {
		return n.Errorf("write at least schema, id and summary", "the file is empty")
	}
	if err := strictyaml.Decode(n, &f); err != nil {
		return err
	}
	s.node = n
	if !idPattern.MatchString(f.ID) {
		return n.Get("id").Errorf("use lower-case letters, digits and -, at most 64", "%.80q is no id", f.ID)
	}
	if strings.ContainsAny(f.Summary, "\n\r") {
		return n.Get("summary").Errorf("shorten it", "the summary has several lines")
	}
	s.ID, s.Summary, s.Tags, s.Seals = f.ID, f.Summary, f.Tags, f.Seals
	s.Stresses, s.Controls = f.Stresses, f.Controls
	s.Acceptance, s.Graders = check.Acceptance(f.Acceptance), check.Graders(f.Graders)
	if len(s.Graders) == 0 {
		return f.Pos.Errorf("add a list of graders", "nothing would judge this scenario")
	}
	for _, step := range []func(*scenarioFile) error{s.names, s.hurts, s.limits, s.tools, s.faults, s.rest, s.generate} {
		if err := step(&f); err != nil {
			return err
		}
	}
	return nil
}

func (s *Scenario) names(f *scenarioFile) error {
	for _, list := range []struct {
		what  string
		names []string
	}{{"tags", f.Tags}, {"stresses", f.Stresses}, {"controls", f.Controls}} {
		for i, name := range list.names {
			if !namePattern.MatchString(name) {
				return s.At(list.what, i).Errorf("use lower-case letters, digits and _", "%s: %.60q is no name", list.what, name)
			}
			if slices.Contains(list.names[:i], name) {
				return s.At(list.what, i).Errorf("remove one of the two", "%s: %q is there twice", list.what, name)
			}
		}
	}
	for i, g := range f.Stresses {
		if slices.Contains(f.Controls, g) {
			return s.At("stresses", i).Errorf("remove it from one", "guard %q cannot be stressed and controlled", g)
		}
	}
	return nil
}

func (s *Scenario) limits(f *scenarioFile) error {
	l := f.Limits
	bad := func(what string, most int64) error {
		return l.Pos.Errorf("correct it", "limits: %s must be 0 (unset) to %d", what, most)
	}
	switch {
	case l.Turns < 0 || l.Turns > 100_000:
		return bad("turns", 100_000)
	case l.ToolCalls < 0 || l.ToolCalls > 1_000_000:
		return bad("tool_calls", 1_000_000)
	case l.Tokens < 0:
		return bad("tokens", 1<<62)
	case !(l.CostUSD >= 0 && l.CostUSD <= 1e6):
		return bad("cost_usd", 1_000_000)
	case l.ContextWindow < 0 || l.ContextWindow > 1<<30:
		return bad("context_window", 1<<30)
	case l.MaxTokens < 0 || l.MaxTokens > 1<<30:
		return bad("max_tokens", 1<<30)
	}
	s.Limits = Limits{
		Turns: l.Turns, ToolCalls: l.ToolCalls, Tokens: l.Tokens, CostMicroUSD: int64(l.CostUSD*1e6 + .5),
		Wall: time.Duration(l.Wall), ContextWindow: l.ContextWindow, MaxTokens: l.MaxTokens,
	}
	if s.Limits.Turns == 0 {
		s.Limits.Turns = 50
	}
	if s.Limits.ToolCalls == 0 {
		s.Limits.ToolCalls = 200
	}
	if s.Limits.Wall == 0 {
		s.Limits.Wall = 30 * time.Minute
	}
	return nil
}

func (s *Scenario) faults(f *scenarioFile) error {
	for i := range f.Faults {
		x := &f.Faults[i]
		kinds := FaultKinds
		switch {
		case x.Model == (x.Tool != ""):
			return x.Pos.Errorf("write tool: NAME or model: true", "a fault strikes either a tool or the model")
		case x.Model && x.AtCall != nil:
			return x.Pos.Errorf("use at_turn and at_attempt", "at_call belongs to tools")
		case !x.Model && (x.AtTurn != nil || x.AtAttempt != nil || x.Status != 0 || x.RetryAfter != 0):
			return x.Pos.Errorf("use at_call", "at_turn, at_attempt, status and retry_after belong to the model")
		case x.Purpose != "" && (!x.Model || x.Purpose != "summary"):
			return x.Pos.Errorf("use summary, with model: true", "a fault for the purpose %.40q is not known", x.Purpose)
		case x.Bytes != 0 && x.Kind != "truncate":
			return x.Pos.Errorf("remove it", "bytes belongs to truncate")
		case !(x.P >= 0 && x.P <= 1) || x.P != 0 && (x.Kind != "flaky" || x.Model):
			return x.Pos.Errorf("give it to a flaky tool, 0 to 1", "p is the probability of flaky")
		case x.Status != 0 && (x.Status < 400 || x.Status > 599):
			return x.Pos.Errorf("use 400 to 599", "status %d is no error", x.Status)
		case x.Model:
			kinds = ModelFaultKinds
		case !slices.ContainsFunc(s.Tools, func(t Tool) bool { return t.Name == x.Tool }):
			return x.Pos.Errorf("name one of the tools", "the scenario has no tool %.60q", x.Tool)
		}
		if !slices.Contains(kinds, x.Kind) {
			return x.Pos.Errorf("use one of "+strings.Join(kinds, ", "), "fault kind %.60q is not known here", x.Kind)
		}
		s.Faults = append(s.Faults, Fault{
			Tool: x.Tool, Model: x.Model, Kind: x.Kind, AtCall: x.AtCall, AtTurn: x.AtTurn, AtAttempt: x.AtAttempt, Purpose: x.Purpose,
			Status: x.Status, RetryAfter: time.Duration(x.RetryAfter), Takes: time.Duration(x.Takes), Text: x.Text,
			Bytes: int(x.Bytes), P: x.P, Pos: x.Pos,
		})
	}
	return nil
}

func (s *Scenario) rest(f *scenarioFile) error {
	p := f.Permissions
	if p.Network == "" {
		p.Network = "none"
	}
	if p.Network != "none" && p.Network != "any" {
		return p.Pos.Errorf("use none or any", "network %.40q is not known", p.Network)
	}
	for i, g := range f.Seals {
		if !doublestar.ValidatePattern(g) || g == "" || g[0] == '/' || path.Clean(g) != g || strings.HasPrefix(g, "../") {
			return s.At("seals", i).Errorf("write it like tests/**, relative to the workspace", "seals: %.80q is no glob", g)
		}
	}
	s.Permissions = Permissions{p.Read, p.Write, p.Deny, p.Commands, p.Network}
	if err := s.approvals(f); err != nil {
		return err
	}
	for i, u := range f.User.Script {
		if strings.TrimSpace(u.Say) == "" {
			return s.At("user", "script", i, "say").Errorf("write what the user says", "the user says nothing")
		}
		s.User = append(s.User, Utterance{string(u.When), u.Say})
	}
	if f.Cache != "" && f.Cache != CacheWarm && f.Cache != CacheOther {
		return s.At("cache").Errorf("use "+CacheWarm+" or "+CacheOther, "cache: %.40q is not known", f.Cache)
	}
	s.Cache = f.Cache
	s.Lint = Lint{f.Lint.Oracle, f.Lint.Noop, f.Lint.Spam}
	for _, l := range []struct {
		v        *string
		standard string
	}{{&s.Lint.Oracle, "pass"}, {&s.Lint.Noop, "fail"}, {&s.Lint.Spam, "fail"}} {
		if *l.v == "" {
			*l.v = l.standard
		}
		if *l.v != "pass" && *l.v != "fail" {
			return f.Lint.Pos.Errorf("use pass or fail", "lint: %.40q is no verdict", *l.v)
		}
	}
	return nil
}

// generate adds the computed files to the workspace.
func (s *Scenario) generate(f *scenarioFile) error {
	total := 0
	for _, x := range s.Files {
		total += len(x.Data)
	}
	for i := range f.Generate {
		g := &f.Generate[i]
		if err := checkName(dirWorkspace + g.Path); err != nil {
			return g.Pos.Errorf("", "path %s: %v", shown(g.Path), err)
		}
		if slices.ContainsFunc(s.Files, func(x File) bool { return x.Path == g.Path }) {
			return g.Pos.Errorf("remove one of the two", "%s is there already", shown(g.Path))
		}
		text, err := g.expand()
		if err != nil {
			return err
		}
		if total += len(text); total > MaxBytes {
			return g.Pos.Errorf("generate less", "the workspace has more than %d bytes", MaxBytes)
		}
		s.Files = append(s.Files, File{g.Path, []byte(text)})
	}
	sort.Slice(s.Files, func(i, j int) bool { return s.Files[i].Path < s.Files[j].Path })
	return nil
}
