package design

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/harnessbench/harnessbench/results"
)

func validText(s string) bool { return utf8.ValidString(s) }

// Blocks are the plan cut where scenario, model or repetition change; each has
// every arm of its model once.
func TestBlocks(t *testing.T) {
	p := planOf(t, full)
	seen := map[results.TrialKey]bool{}
	at := 0
	for _, b := range p.Blocks() {
		if b.First != at {
			t.Fatalf("block at %d, want %d", b.First, at)
		}
		if want := len(p.armsOn(b.Model)); len(b.Trials) != want {
			t.Errorf("%d trials for %s, want %d", len(b.Trials), b.Model, want)
		}
		for i := range b.Trials {
			tr := &b.Trials[i]
			if tr != &p.Trials[at] || tr.Scenario != b.Scenario || tr.Model != b.Model || tr.Repetition != b.Repetition || seen[tr.Key()] {
				t.Fatalf("trial %d: %s in the block of %s", at, tr.Key(), b.Scenario.ID)
			}
			seen[tr.Key()] = true
			at++
		}
	}
	if at != len(p.Trials) || at != 2*3*(5+6) {
		t.Errorf("%d of %d trials", at, len(p.Trials))
	}
}

// The order of execution depends on the seed alone, and mixes the arms.
func TestOrder(t *testing.T) {
	order := func(seed uint64) string {
		s := parse(t, full)
		s.Seed = seed
		list, err := s.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewPlan(s, list)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for i := range p.Trials {
			b.WriteString(p.Trials[i].SessionName() + "\n")
		}
		return b.String()
	}
	one, again := order(1), order(1)
	if one != again {
		t.Error("two plans of one seed differ")
	}
	if one == order(2) {
		t.Error("the seed has no part in the order")
	}
	first := strings.Split(one, "\n")
	if strings.Contains(first[0], ".base.") && strings.Contains(first[5], ".base.") && strings.Contains(first[11], ".base.") {
		t.Error("the arms are not shuffled")
	}
}

// For any n, the shards of a plan are whole blocks, have none in common, and are
// together the plan.
func TestShards(t *testing.T) {
	p := planOf(t, full)
	all := len(p.Blocks())
	rng := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		n := 1 + rng.IntN(all)
		owner := map[results.TrialKey]int{}
		least, most := all, 0
		for i := 1; i <= n; i++ {
			q, err := p.Shard(i, n)
			if err != nil {
				t.Fatal(err)
			}
			again, err := p.Shard(i, n)
			if err != nil || fmt.Sprint(keys(q)) != fmt.Sprint(keys(again)) {
				t.Fatalf("shard %d/%d is not the same twice", i, n)
			}
			blocks := q.Blocks()
			least, most = min(least, len(blocks)), max(most, len(blocks))
			for _, b := range blocks {
				if len(b.Trials) != len(p.armsOn(b.Model)) {
					t.Fatalf("shard %d/%d: a block is cut", i, n)
				}
			}
			for _, k := range keys(q) {
				if owner[k] != 0 {
					t.Fatalf("%s is in shard %d and %d of %d", k, owner[k], i, n)
				}
				owner[k] = i
			}
			if q.ShardIndex != i || q.Shards != n {
				t.Error("a shard does not say what it is")
			}
			if string(encode(t, q.Lock())) != string(encode(t, p.Lock())) {
				t.Error("shards of one suite have one lock")
			}
		}
		if len(owner) != len(p.Trials) || most-least > 1 {
			t.Fatalf("%d shards: %d of %d trials, %d to %d blocks", n, len(owner), len(p.Trials), least, most)
		}
	}
	for _, bad := range [][2]int{{0, 2}, {3, 2}, {-1, -1}, {1, all + 1}} {
		if _, err := p.Shard(bad[0], bad[1]); err == nil {
			t.Errorf("shard %d/%d was made", bad[0], bad[1])
		}
	}
	half, err := p.Shard(1, 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := half.Shard(1, 2); err == nil {
		t.Error("a shard was cut again")
	}
}

func keys(p *Plan) []results.TrialKey {
	var out []results.TrialKey
	for i := range p.Trials {
		out = append(out, p.Trials[i].Key())
	}
	return out
}

func TestParseShard(t *testing.T) {
	if i, n, err := ParseShard("2/8"); i != 2 || n != 8 || err != nil {
		t.Error(i, n, err)
	}
	for _, s := range []string{"", "2", "0/2", "3/2", "a/b", "1/", "/1", "1/2/3", "-1/2", "1 / 2"} {
		if _, _, err := ParseShard(s); err == nil || !strings.Contains(err.Error(), "2/8") {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// What cannot run is refused before anything runs.
func TestPlanErrors(t *testing.T) {
	base := func(models, arms, more string) string {
		return "schema: harnessbench/suite/v1\nname: t\nscenarios: [builtin/retry-trap]\nmodels: " + models + "\narms: " + arms + "\n" + more
	}
	for _, c := range []struct{ text, want string }{
		{base("[sim/nobody]", "[{name: a}]", ""), `no simulated model "sim/nobody"`},
		{base("[acme/large]", "[{name: a}]", ""), "model acme/large: nothing here reaches its provider"},
		{base("[acme/large]", "[{name: a}]", "budgets: {usd: 1}\n"), "suite.yaml:6:10: the price of acme/large is unknown; remove the budget in USD"},
		{base("[sim/weak]", "[{name: "+strings.Repeat("a", 100)+"}]", ""), ""},
		{base("[sim/"+strings.Repeat("w", 96)+"]", "[{name: "+strings.Repeat("a", 100)+"}]", "repetitions: 100000\n"), "would have names of more than 230 bytes"},
		{base("[\"sim/a:b\", \"sim/a_b\"]", "[{name: x}]", ""), "would share their files"},
	} {
		s := parse(t, c.text)
		list, err := s.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		_, err = NewPlan(s, list)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// A plan of a hundred thousand trials is laid out in moments.
func BenchmarkNewPlan(b *testing.B) {
	s, err := ParseSuite("suite.yaml", []byte(head))
	if err != nil {
		b.Fatal(err)
	}
	s.Repetitions = 12_500
	list, err := s.Resolve()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		p, err := NewPlan(s, list)
		if err != nil || len(p.Trials) != 100_000 {
			b.Fatal(len(p.Trials), err)
		}
	}
}
