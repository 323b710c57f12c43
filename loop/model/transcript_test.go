package model

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// View is what a request would hold at one moment.
type snapshot struct {
	parts, partsWere   []*Part
	chains, chainsWere []Digest
}

// Views taken at any time keep what they saw, whatever Append and Rewrite do
// later, and an append through a view does not reach the transcript.
func TestViewsAreImmune(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		s := NewTranscript()
		var kept []snapshot
		for i := range 60 {
			switch rnd.IntN(4) {
			case 0:
				parts, chains := s.View()
				kept = append(kept, snapshot{parts, slices.Clone(parts), chains, slices.Clone(chains)})
			case 1:
				var tail []*Part
				for j := range rnd.IntN(4) {
					tail = append(tail, NewTextPart(User, "tail "+strconv.Itoa(i)+"."+strconv.Itoa(j)))
				}
				s.Rewrite(rnd.IntN(s.Len()+1), tail)
			case 2:
				if len(kept) > 0 { // through an old view, while the transcript has grown
					old := kept[rnd.IntN(len(kept))]
					_ = append(old.parts, NewTextPart(User, "foreign"))
					_ = append(old.chains, Digest{1})
				}
			default:
				s.Append(NewTextPart(User, strconv.Itoa(i)))
			}
		}
		for i, k := range kept {
			if !slices.Equal(k.parts, k.partsWere) || !slices.Equal(k.chains, k.chainsWere) {
				t.Fatalf("seed %d: view %d changed after it was taken", seed, i)
			}
			checkChains(t, k.parts, k.chains)
		}
		parts, chains := s.View()
		checkChains(t, parts, chains)
	}
}

// checkChains computes the chain again from its start.
func checkChains(t *testing.T, parts []*Part, chains []Digest) {
	t.Helper()
	if len(chains) != len(parts)+1 || chains[0] != ChainStart {
		t.Fatalf("%d parts, %d chain digests", len(parts), len(chains))
	}
	h := ChainStart
	for i, p := range parts {
		h = Chain(h, p)
		if chains[i+1] != h {
			t.Fatalf("chain digest %d is not that of the parts before it", i+1)
		}
	}
}

func TestRewriteKeepsTheChainOfWhatStays(t *testing.T) {
	s := NewTranscript()
	for i := range 5 {
		s.Append(NewTextPart(User, strconv.Itoa(i)))
	}
	_, before := s.View()
	s.Rewrite(3, []*Part{NewTextPart(User, "summary")})
	parts, after := s.View()
	if s.Len() != 4 || parts[3].Message.Items[0].Text != "summary" {
		t.Fatalf("%d parts", s.Len())
	}
	if !slices.Equal(before[:4], after[:4]) || before[4] == after[4] {
		t.Error("the chain does not part where the conversation does")
	}
	s.Rewrite(0, nil)
	if parts, chains := s.View(); len(parts) != 0 || chains[0] != ChainStart {
		t.Error("an empty transcript is not at the chain's start")
	}
}

func TestRequestChain(t *testing.T) {
	s := NewTranscript()
	s.Append(NewTextPart(User, "a"))
	parts, chains := s.View()
	r := Request{Parts: parts, Chains: chains}
	if r.Chain() != Chain(ChainStart, parts[0]) {
		t.Error("Chain is not the digest over all parts")
	}
}

// A forgetful transcript knows the chain and the number of parts, and its views
// do not change either.
func TestForgetful(t *testing.T) {
	whole, light := NewTranscript(), NewForgetful()
	var views [][]Digest
	for i := range 50 {
		p := NewTextPart(User, strconv.Itoa(i))
		whole.Append(p)
		light.Append(p)
		_, all := whole.View()
		parts, chains := light.View()
		if len(parts) != 0 || len(chains) != 1 || chains[0] != all[len(all)-1] || light.Len() != i+1 || whole.Len() != i+1 {
			t.Fatalf("after %d parts: %d parts, chain %v", i+1, len(parts), chains)
		}
		views = append(views, chains)
	}
	_, all := whole.View()
	for i, v := range views {
		if v[0] != all[i+1] {
			t.Fatalf("view %d changed after it was taken", i)
		}
	}
}
