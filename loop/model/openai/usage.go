package openai

import (
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/loop/model"
)

// maxTokens bounds a count, so that no sum of counts can wrap.
const maxTokens = 1 << 40

type wireUsage struct {
	Prompt     jsontext.Value `json:"prompt_tokens"`
	Completion jsontext.Value `json:"completion_tokens"`
	Total      jsontext.Value `json:"total_tokens"`
	CacheHit   jsontext.Value `json:"prompt_cache_hit_tokens"` // DeepSeek
	In         jsontext.Value `json:"prompt_tokens_details"`
	Out        jsontext.Value `json:"completion_tokens_details"`
}

// meter notes the usage of a payload. A later one replaces an earlier, as streams
// tell it in their last chunk or in each; counts that are all zero tell nothing.
func (c *call) meter(usage, groq jsontext.Value) {
	if usage.Kind() != '{' {
		var g struct {
			Usage jsontext.Value `json:"usage"`
		}
		if groq.Kind() != '{' || json.Unmarshal(groq, &g, lenient) != nil {
			return
		}
		usage = g.Usage
	}
	if u, ok := readUsage(usage); ok {
		c.usage, c.told = u, true
	}
}

// readUsage reads a usage object. prompt_tokens holds what was read from and
// written to a cache; completion_tokens holds the reasoning. Some endpoints
// (Gemini, xAI) leave the reasoning out of completion_tokens, bill it as output
// all the same, and tell it only in total_tokens: what the total has over both
// is output too.
func readUsage(v jsontext.Value) (model.Usage, bool) {
	var w wireUsage
	if v.Kind() != '{' || json.Unmarshal(v, &w, lenient) != nil {
		return model.Usage{}, false
	}
	var in struct {
		Cached jsontext.Value `json:"cached_tokens"`
		Write  jsontext.Value `json:"cache_write_tokens"`
	}
	var out struct {
		Reasoning jsontext.Value `json:"reasoning_tokens"`
	}
	if w.In.Kind() == '{' {
		_ = json.Unmarshal(w.In, &in, lenient)
	}
	if w.Out.Kind() == '{' {
		_ = json.Unmarshal(w.Out, &out, lenient)
	}
	prompt, completion := count(w.Prompt), count(w.Completion)
	if prompt+completion == 0 {
		return model.Usage{}, false
	}
	unsaid := max(min(count(w.Total), 2*maxTokens)-prompt-completion, 0)
	read := min(max(count(in.Cached), count(w.CacheHit)), prompt)
	write := min(count(in.Write), prompt-read)
	u := model.Usage{InputUncached: prompt - read - write, CacheRead: read, CacheWrite: write, Output: completion + unsaid}
	u.Reasoning = min(max(count(out.Reasoning), unsaid), u.Output)
	return u, true
}

func count(v jsontext.Value) int64 {
	n, _ := number(v)
	return min(max(n, 0), maxTokens)
}

// number reads an integer that may be written as 12.0 or "12".
func number(v jsontext.Value) (int64, bool) {
	s := str(v)
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f > -1e15 && f < 1e15) {
		return 0, false
	}
	return int64(f), true
}

// briefly is an error of the JSON reader without its package's name.
func briefly(err error) string {
	s := err.Error()
	const prefix = "jsontext: "
	if len(s) > len(prefix) && s[:len(prefix)] == prefix {
		s = s[len(prefix):]
	}
	return s
}
