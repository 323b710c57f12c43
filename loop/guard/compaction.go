package guard

import "github.com/harnessbench/harnessbench/loop/internal/mutant"

// Compaction is the policy for a conversation that fills the context window. The
// zero Compaction is never due.
type Compaction struct {
	At, To  int64 // percent of the window: where it begins, and where it ends
	Keep    int   // latest rounds that stay as they are, if they fit
	Summary bool  // a model may be asked for a summary
}

// Compaction returns the policy and its mode. Its parameters are there whatever
// the mode: context_overflow compacts by them too.
func (s *Set) Compaction() (Compaction, Mode) {
	p := func(name string) int64 { return s.settings.Param("compaction", name) }
	return Compaction{At: p("at"), To: p("to"), Keep: int(p("keep")), Summary: p("summary") > 0}, s.Mode("compaction")
}

// Due reports whether a request of so many tokens is above At per cent of a
// window; never for a window of 0, which is an unknown one.
func (c Compaction) Due(tokens, window int64) bool {
	at := c.At
	if mutant.Is("compaction") {
		at *= 2
	}
	return c.At > 0 && window > 0 && tokens*100 > at*window
}

// Target is how many tokens of a window compaction leaves: To per cent of it, or
// At where that is less.
func (c Compaction) Target(window int64) int64 {
	return window * min(c.At, c.To) / 100
}

// Again is what the tokens that a compaction left have to grow to before the next
// one: nothing where it left so few that it is not due. Else there was nothing
// more to take away, and it waits for as much as it would have gained.
func (c Compaction) Again(left, window int64) int64 {
	if !c.Due(left, window) {
		return 0
	}
	return left + max((c.At-min(c.At, c.To))*window/100, window/20, 1)
}

// ContextOverflow is the policy for a request that the provider refuses for its
// size.
type ContextOverflow struct {
	Retries int // per turn
}

// ContextOverflow returns the policy and its mode.
func (s *Set) ContextOverflow() (ContextOverflow, Mode) {
	return ContextOverflow{Retries: int(s.settings.Param("context_overflow", "retries"))}, s.Mode("context_overflow")
}

// Again reports whether a turn that did so used times shrinks and asks again.
func (o ContextOverflow) Again(used int) bool {
	return used < o.Retries && !mutant.Is("context_overflow")
}
