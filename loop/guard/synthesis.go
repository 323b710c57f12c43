package guard

// Budgets are the tokens and the money, in 1e-6 USD, that the session may take:
// the tighter of the guard limits, where it is enforced, and the scenario's own;
// 0 = unbounded.
func (s *Set) Budgets() (tokens, microUSD int64) {
	if b, ok := s.backstop.(*Backstop); ok {
		tokens, microUSD = b.Tokens, b.MicroUSD
	}
	if s.Mode("limits") == Enforce {
		tokens, microUSD = tighter(tokens, s.Param("limits", "tokens")), tighter(microUSD, s.Param("limits", "cost"))
	}
	return tokens, microUSD
}

// tighter is the smaller of two bounds of which zero is none.
func tighter(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
