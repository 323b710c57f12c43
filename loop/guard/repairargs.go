package guard

import (
	"github.com/harnessbench/harnessbench/loop/guard/repair"
	"github.com/harnessbench/harnessbench/loop/internal/mutant"
)

// ArgumentRepair is the policy for calls whose arguments cannot be used as they
// stand.
type ArgumentRepair struct {
	Strings bool // closes strings that break off
}

func newArgumentRepair(v []int64) ArgumentRepair { return ArgumentRepair{v[0] != 0} }

// Repair makes JSON of arguments that are none and says what it did; ok is false
// where that would be a guess, and done says why. cut says that the provider cut
// the answer off.
func (p ArgumentRepair) Repair(args string, cut bool) (fixed, done string, ok bool) {
	fixed, done, err := repair.Object(args, repair.Options{Cut: cut, Strings: p.Strings})
	if err != nil {
		return "", err.Error(), false
	}
	if mutant.Is("argument_repair") {
		return "{}", done, true
	}
	return fixed, done, true
}
