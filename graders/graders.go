package graders

import (
	"context"
	"fmt"

	"github.com/harnessbench/harnessbench/graders/check"
)

// What a grader or the whole list can say.
const (
	Pass     = "pass"
	Fail     = "fail"
	Ungraded = "ungraded"
)

// Finished sums up a session that has ended.
type Finished struct {
	Answer   string // the final answer's text
	Stop     string // the stop reason
	Calls    []Call // of all lanes, in the order in which they were committed
	Turns    int    // over all lanes
	Attempts int    // model calls, those that did not stand included
	// Files is the tree that was left. Nil means that it is not known: graders
	// that look at files are then ungraded.
	Files check.Files
}

// Call is one tool call of a session.
type Call struct {
	Lane    string
	Turn    int    // from 1
	Index   int    // in its batch, from 0
	Tool    string // as the model named it
	Args    string // canonical JSON; the raw text when it is no JSON
	Outcome string // terminal outcome
}

// Verdict is what one grader says.
type Verdict struct {
	Index    int    // of the grader in the scenario's list, from 0; parts of a group share it
	Grader   string // id, unique in the scenario; parts are named group/part
	Type     string
	Version  int    // of the type
	Digest   string // SHA-256 of the canonical declaration, hex
	Gate     bool
	Primary  bool    // the trial's verdict depends on it directly
	Verdict  string  // Pass, Fail or Ungraded
	Score    float64 // 0 to 1; 0 when ungraded
	Reason   string  // why, one line; empty for a pass
	Evidence string  // what was looked at, cut
}

// Overall is what the graders say together.
type Overall struct {
	Verdict string  // Pass, Fail or Ungraded
	Score   float64 // 0 to 1; 0 when ungraded
	Reason  string  // of the grader that decided; empty for a pass
	Grader  string  // its id; empty for a pass
}

// versions says how often the meaning of a type has changed. Raise one when a
// session could get another verdict than before.
var versions = map[check.Kind]int{}

// Version returns the behaviour version of a grader type, from 1.
func Version(k check.Kind) int { return 1 + versions[k] }

// Grade decides all graders about a finished session. Verdicts come in the
// order of the list, each group followed by its parts. It never panics and has
// no error of its own: what cannot be decided is ungraded. When ctx ends, what is
// left is ungraded.
func Grade(ctx context.Context, specs check.Graders, f *Finished) (Overall, []Verdict) {
	g := grading{ctx: ctx, f: f}
	var tops []Verdict
	for i, name := range check.Names(specs) {
		tops = append(tops, g.grade(&specs[i], i, name, specs[i].Decides()))
	}
	return overall(specs, tops), g.out
}

// grading is one call of Grade.
type grading struct {
	ctx context.Context
	f   *Finished
	out []Verdict
}

// grade decides one grader and appends its verdict, and its parts' after it.
func (g *grading) grade(s *check.Spec, index int, name string, primary bool) Verdict {
	at := len(g.out)
	g.out = append(g.out, Verdict{
		Index: index, Grader: name, Type: string(s.Kind), Version: Version(s.Kind),
		Digest: s.Digest(), Gate: s.Gate, Primary: primary,
	})
	var r ruling
	switch s.Kind {
	case check.All, check.Any, check.Weighted:
		r = g.group(s, index, name)
	default:
		r = g.single(s)
	}
	if r.verdict == Fail && s.Hint != "" {
		r.reason = s.Hint
	}
	v := &g.out[at]
	v.Verdict, v.Score = r.verdict, r.score
	v.Reason, v.Evidence = check.Clean(r.reason), check.Clean(r.evidence)
	return *v
}

// ruling is a verdict without the grader's data.
type ruling struct {
	verdict          string
	score            float64
	reason, evidence string
}

func ungraded(format string, args ...any) ruling {
	return ruling{verdict: Ungraded, reason: fmt.Sprintf(format, args...)}
}

// single decides a grader that is no group. Whatever breaks in it is the
// grader's own trouble.
func (g *grading) single(s *check.Spec) (r ruling) {
	defer func() {
		if p := recover(); p != nil {
			r = ungraded("the grader broke down: %v", p)
		}
	}()
	if err := g.ctx.Err(); err != nil {
		return ungraded("grading was stopped: %v", err)
	}
	var res check.Result
	var err error
	if s.Kind == check.TrajectoryKind {
		res, err = trajectory(s.Trajectory, g.f)
	} else {
		res, err = check.Eval(s, subject{g.f})
	}
	switch {
	case err != nil:
		return ungraded("the grader could not decide: %v", err)
	case res.OK:
		return ruling{verdict: Pass, score: 1, evidence: res.Evidence}
	default:
		return ruling{verdict: Fail, reason: res.Reason, evidence: res.Evidence}
	}
}

// group decides a group from its members.
func (g *grading) group(s *check.Spec, index int, name string) ruling {
	if len(s.Of) == 0 {
		return ungraded("the group is empty")
	}
	var parts []Verdict
	for i, part := range check.Names(s.Of) {
		parts = append(parts, g.grade(&s.Of[i], index, name+"/"+part, false))
	}
	if i := find(parts, func(v Verdict) bool { return v.Gate && v.Verdict == Fail }); i >= 0 {
		return ruling{verdict: Fail, reason: parts[i].Reason, evidence: "gate " + parts[i].Grader}
	}
	if i := find(parts, func(v Verdict) bool { return v.Verdict == Ungraded }); i >= 0 {
		return ungraded("%s is ungraded: %s", parts[i].Grader, parts[i].Reason)
	}
	score := mean(s.Of, parts)
	need := 1.0
	if s.PassAt != nil {
		need = *s.PassAt
	}
	ok := score >= need-1e-12 // the mean of scores that are all 1 may fall short by rounding
	failing := find(parts, func(v Verdict) bool { return v.Verdict == Fail })
	switch s.Kind {
	case check.All:
		ok = failing < 0
	case check.Any:
		ok = find(parts, func(v Verdict) bool { return v.Verdict == Pass }) >= 0
		score = 0
		for _, p := range parts {
			score = max(score, p.Score)
		}
	}
	r := ruling{verdict: Pass, score: score, evidence: fmt.Sprintf("%d of %d passed", passes(parts), len(parts))}
	if !ok {
		r.verdict = Fail
		if failing >= 0 {
			r.reason = parts[failing].Reason
		}
	}
	return r
}

// overall makes the trial's verdict; see the package comment.
func overall(specs []check.Spec, vs []Verdict) Overall {
	if len(vs) == 0 {
		return Overall{Verdict: Ungraded, Reason: "the scenario has no grader"}
	}
	decided := func(verdict string, i int) Overall {
		return Overall{Verdict: verdict, Reason: vs[i].Reason, Grader: vs[i].Grader}
	}
	if i := find(vs, func(v Verdict) bool { return v.Gate && v.Verdict == Fail }); i >= 0 {
		return decided(Fail, i)
	}
	if i := find(vs, func(v Verdict) bool { return v.Primary && v.Verdict == Ungraded }); i >= 0 {
		return decided(Ungraded, i)
	}
	o := Overall{Verdict: Pass}
	if i := find(vs, func(v Verdict) bool { return v.Primary && v.Verdict == Fail }); i >= 0 {
		o = decided(Fail, i)
	} else if find(vs, func(v Verdict) bool { return v.Primary }) < 0 {
		return Overall{Verdict: Ungraded, Reason: "no grader decides: every one has a weight"}
	}
	o.Score = mean(specs, vs)
	return o
}

// mean is the weighted mean of the scores that were given.
func mean(specs []check.Spec, vs []Verdict) float64 {
	var sum, weights float64
	for i, v := range vs {
		if v.Verdict == Ungraded {
			continue
		}
		w := 1.0
		if specs[i].Weight != nil {
			w = *specs[i].Weight
		}
		sum += w * v.Score
		weights += w
	}
	if weights == 0 {
		return 0
	}
	return sum / weights
}

func passes(vs []Verdict) int {
	n := 0
	for _, v := range vs {
		if v.Verdict == Pass {
			n++
		}
	}
	return n
}

// find returns the index of the first verdict that ok accepts, or -1.
func find(vs []Verdict, ok func(Verdict) bool) int {
	for i, v := range vs {
		if ok(v) {
			return i
		}
	}
	return -1
}
