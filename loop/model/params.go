package model

import "strconv"

// Params are the settings of a model call. They have a digest of their own
// beside the chain, since one may change (an enlarged MaxTokens, a fallback
// model) where the conversation does not.
type Params struct {
	Model       string   // provider/name
	MaxTokens   int      // 0 = unset: the provider's default, sent as no value
	Temperature *float64 // nil = unset
	TopP        *float64 // nil = unset
	Seed        *int64   // nil = unset
}

// AppendJSON appends the canonical JSON of p: sorted keys, unset ones left out.
func (p Params) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	if p.MaxTokens != 0 {
		b = append(b, `"max_tokens":`...)
		b = strconv.AppendInt(b, int64(p.MaxTokens), 10)
		b = append(b, ',')
	}
	b = append(b, `"model":`...)
	b = AppendString(b, p.Model)
	if p.Seed != nil {
		b = append(b, `,"seed":`...)
		b = strconv.AppendInt(b, *p.Seed, 10)
	}
	if p.Temperature != nil {
		b = append(b, `,"temperature":`...)
		b = strconv.AppendFloat(b, *p.Temperature, 'g', -1, 64)
	}
	if p.TopP != nil {
		b = append(b, `,"top_p":`...)
		b = strconv.AppendFloat(b, *p.TopP, 'g', -1, 64)
	}
	return append(b, '}')
}

// Digest returns the SHA-256 digest of p's canonical JSON.
func (p Params) Digest() Digest { return Sum(p.AppendJSON(nil)) }
