//go:build behaviour_next

package guard

// A build as a later version might be, by which a test proves what becomes of the
// sessions of this one: stuck has a new behaviour and keeps the old one, that of
// empty_response is gone.
func init() {
	d := &Table[Lookup("stuck")]
	d.older = append(d.older, behaviour{d.Version, d.Params, d.build})
	d.Version++
	d.build = func(v []int64, env Env) Guard { return newStuck([]int64{v[0] + 1, v[1], v[2], v[3]}, env) }
	Table[Lookup("empty_response")].Version++
}
