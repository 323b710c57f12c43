package guard

import (
	"math/bits"
	"time"

	"github.com/harnessbench/harnessbench/loop/internal/mutant"
	"github.com/harnessbench/harnessbench/loop/model"
)

// Retry is the policy for failed model calls. The zero Retry never retries.
type Retry struct {
	Attempts      int           // model calls a turn may take, the first included
	Base          time.Duration // first backoff
	Cap           time.Duration // longest backoff
	RetryAfterCap time.Duration // longest Retry-After honoured
}

func newRetry(v []int64) Retry {
	return Retry{int(v[0]), time.Duration(v[1]), time.Duration(v[2]), time.Duration(v[3])}
}

// Next decides after failed attempt number attempt (from 0) whether there is
// another and how long to wait. The backoff is exponential with full jitter
// (uniform over (0, min(Cap, Base*2^attempt)]); jitter is a uniform random word
// from the caller, so that Next itself is pure. A Retry-After only lengthens.
func (r Retry) Next(jitter uint64, attempt int, e *model.Error) (wait time.Duration, again bool) {
	if !Retryable(e) || attempt+1 >= r.Attempts {
		return 0, false
	}
	ceiling := r.Cap
	if attempt < 63 && r.Base <= r.Cap>>attempt { // the other way round the shift could wrap
		ceiling = r.Base << attempt
	}
	// hi is uniform over [0, micros): a multiplication in place of a division,
	// without its bias for small ranges.
	micros := max(uint64(ceiling/time.Microsecond), 1)
	hi, _ := bits.Mul64(jitter, micros)
	wait = time.Duration(hi+1) * time.Microsecond
	if mutant.Is("retry") {
		return wait, true
	}
	return max(wait, min(e.RetryAfter, r.RetryAfterCap)), true
}

// Retryable reports whether an error passes with time: transport errors, broken
// streams, timeouts of one call, 408, 409, 425, 429 (but no exhausted quota) and
// 5xx.
func Retryable(e *model.Error) bool {
	switch e.Kind {
	case model.ErrTransport, model.ErrBrokenStream, model.ErrTimeout:
		return true
	case model.ErrQuota, model.ErrAuth, model.ErrContextOverflow, model.ErrCancelled, model.ErrDeadline, model.ErrProtocol:
		return false
	}
	switch e.Status {
	case 408, 409, 425, 429:
		return true
	}
	return e.Status >= 500 && e.Status <= 599 || e.Status == 0 && (e.Kind == model.ErrServer || e.Kind == model.ErrRateLimit)
}

// TruncatedEmpty is the policy for an answer that was cut off before it said
// anything.
type TruncatedEmpty struct {
	Retries   int // per turn
	FactorCap int // of the original max_tokens
}

func newTruncatedEmpty(v []int64) TruncatedEmpty { return TruncatedEmpty{int(v[0]), int(v[1])} }

// Applies reports whether r is truncated and empty: finish length, no text, no
// calls.
func (TruncatedEmpty) Applies(r *model.Response) bool {
	return r.Finish == model.FinishLength && Blank(r)
}

// Next decides whether the row is dropped and the model asked again: used is how
// often this turn did so, orig and cur are max_tokens as configured and as asked
// last (0 = unset, which stays unset).
func (t TruncatedEmpty) Next(used, orig, cur int, r *model.Response) (maxTokens int, again bool) {
	if !t.Applies(r) || used >= t.Retries {
		return cur, false
	}
	if cur == 0 || mutant.Is("truncated_empty") {
		return cur, true
	}
	return min(2*cur, t.FactorCap*orig), true
}

// Blank reports whether an answer has no text and no call of any kind. Reasoning
// alone says nothing.
func Blank(r *model.Response) bool {
	for i := range r.Items {
		switch it := &r.Items[i]; it.Type {
		case model.Reasoning:
		case model.CallItem, model.ProviderCall:
			return false
		default:
			if !blankText(it.Text) {
				return false
			}
		}
	}
	return true
}

func blankText(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] != ' ' && s[i] != '\n' && s[i] != '\t' && s[i] != '\r' {
			return false
		}
	}
	return true
}
