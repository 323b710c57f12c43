package prompt

import "github.com/harnessbench/harnessbench/loop/model"

// bytesPerToken is the usual rule of thumb for English text and code; what a
// provider reports corrects it.
const bytesPerToken = 4

// unit is the calibration that changes nothing; the bounds keep one odd report
// from making the estimate useless.
const (
	unit     = 1 << 10
	minScale = unit / 4
	maxScale = unit * 8
)

// Estimator makes tokens of canonical bytes. The zero Estimator counts four bytes
// a token. It is exact in integers, so equal reports give equal estimates on
// every machine.
type Estimator struct{ scale int64 }

func (e Estimator) factor() int64 {
	if e.scale == 0 {
		return unit
	}
	return e.scale
}

// Tokens estimates the tokens of so many bytes, rounded up.
func (e Estimator) Tokens(bytes int64) int64 {
	const per = bytesPerToken * unit
	return (bytes*e.factor() + per - 1) / per
}

// Bytes is the most bytes of which Tokens makes no more than tokens.
func (e Estimator) Bytes(tokens int64) int64 { return tokens * bytesPerToken * unit / e.factor() }

// Calibrate returns the estimator after a provider reported the usage of a
// request of so many bytes: the ratio of the tokens reported to those of the rule
// of thumb, between 1/4 and 8. The latest report counts alone, since it is that of
// the longest conversation. A usage that is unknown, or no input at all, changes
// nothing.
func (e Estimator) Calibrate(bytes int64, u model.Usage) Estimator {
	in := u.InputUncached + u.CacheRead + u.CacheWrite
	if u.Unknown || in <= 0 || bytes <= 0 || in > 1<<40 {
		return e
	}
	scale := in * bytesPerToken * unit / bytes
	return Estimator{min(max(scale, minScale), maxScale)}
}
