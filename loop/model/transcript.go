package model

// Transcript is the append-only list of parts of one lane. Views taken by
// Request stay valid while it grows.
type Transcript struct {
	parts  []*Part
	chains []Digest
}

// NewTranscript returns an empty transcript.
func NewTranscript() *Transcript { return &Transcript{chains: []Digest{ChainStart}} }

// Append adds a part at the end.
func (t *Transcript) Append(p *Part) {
	t.parts = append(t.parts, p)
	t.chains = append(t.chains, Chain(t.chains[len(t.chains)-1], p))
}

// Len returns the number of parts.
func (t *Transcript) Len() int { return len(t.parts) }

// Rewrite replaces everything after the first keep parts: compaction alone uses
// it. Views taken earlier keep what they saw.
func (t *Transcript) Rewrite(keep int, tail []*Part) {
	t.parts = append([]*Part(nil), t.parts[:keep]...)
	t.chains = append([]Digest(nil), t.chains[:keep+1]...)
	for _, p := range tail {
		t.Append(p)
	}
}

// View returns the parts and chain digests as they stand, capped so that a later
// Append cannot be seen through them.
func (t *Transcript) View() ([]*Part, []Digest) {
	n := len(t.parts)
	return t.parts[:n:n], t.chains[: n+1 : n+1]
}
