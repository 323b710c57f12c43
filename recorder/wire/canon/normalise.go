package canon

// Normaliser is declared.
type Normaliser struct{ decl string }

type striker struct{}

func newStriker([]Normaliser) *striker { return nil }

func (s *striker) node(n *node) bool { return false }

func (s *striker) counts() map[string]int { return nil }
