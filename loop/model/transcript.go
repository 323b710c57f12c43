package model

// Transcript is the append-only list of parts of one lane. Views taken by
// Request stay valid while it grows.
type Transcript struct {
	parts  []*Part
	chains []Digest
	n      int
	forget bool
}

// NewTranscript returns an empty transcript.
func NewTranscript() *Transcript { return &Transcript{chains: []Digest{ChainStart}} }

// NewForgetful returns an empty transcript that keeps the running chain digest
// and the number of parts, and no part: for a model that is served its answers
// and reads none, so that memory does not grow with the session.
func NewForgetful() *Transcript { return &Transcript{chains: []Digest{ChainStart}, forget: true} }

// Forget makes the transcript a forgetful one from here on.
func (t *Transcript) Forget() {
	t.parts, t.chains, t.forget = nil, []Digest{t.chains[len(t.chains)-1]}, true
}

// Append adds a part at the end.
func (t *Transcript) Append(p *Part) {
	t.n++
	if t.forget {
		// A new array, since views of the old one may be around.
		t.chains = []Digest{Chain(t.chains[0], p)}
		return
	}
	t.parts = append(t.parts, p)
	t.chains = append(t.chains, Chain(t.chains[len(t.chains)-1], p))
}

// Len returns the number of parts.
func (t *Transcript) Len() int { return t.n }

// Rewrite replaces everything after the first keep parts: compaction alone uses
// it. Views taken earlier keep what they saw. A forgetful transcript has nothing
// to rewrite.
func (t *Transcript) Rewrite(keep int, tail []*Part) {
	t.n = keep
	t.parts = append([]*Part(nil), t.parts[:keep]...)
	t.chains = append([]Digest(nil), t.chains[:keep+1]...)
	for _, p := range tail {
		t.Append(p)
	}
}

// View returns the parts and chain digests as they stand, capped so that a later
// Append cannot be seen through them.
func (t *Transcript) View() ([]*Part, []Digest) {
	n, m := len(t.parts), len(t.chains)
	return t.parts[:n:n], t.chains[:m:m]
}
