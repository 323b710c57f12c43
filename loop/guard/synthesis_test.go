package guard

import "testing"

func TestBudgets(t *testing.T) {
	for _, tt := range []struct {
		changes       []string
		backstop      Backstop
		tokens, money int64
	}{
		{nil, Backstop{}, 0, 0},
		{nil, Backstop{Tokens: 10, MicroUSD: 20}, 10, 20},
		{[]string{"limits=enforce", "limits.tokens=5", "limits.cost=30"}, Backstop{Tokens: 10, MicroUSD: 20}, 5, 20},
		{[]string{"limits=enforce", "limits.tokens=5"}, Backstop{}, 5, 0},
		{[]string{"limits=shadow", "limits.tokens=5"}, Backstop{Tokens: 10}, 10, 0},
	} {
		if tokens, money := NewSet(set(t, ProfileNone, tt.changes...), tt.backstop, Env{}).Budgets(); tokens != tt.tokens || money != tt.money {
			t.Errorf("%v, %+v: %d tokens, %d micro-USD", tt.changes, tt.backstop, tokens, money)
		}
	}
}
