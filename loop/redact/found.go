package redact

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// declared is the kind of an exact secret.
const declared = "declared"

// Found counts what was overwritten, by how it was recognised: never by what it
// was.
type Found struct{ kinds map[string]int }

// add counts spans. Those that overlap are one secret, recognised twice.
func (f *Found) add(spans []span) {
	if f == nil {
		return
	}
	if f.kinds == nil {
		f.kinds = map[string]int{}
	}
	sorted := slices.Clone(spans)
	slices.SortStableFunc(sorted, func(a, b span) int { return a.from - b.from })
	end := -1
	for _, sp := range sorted {
		if sp.from >= end {
			f.kinds[kindName(sp.kind)]++
		}
		end = max(end, sp.to)
	}
}

// kindName names a kind of secret: "declared", or the prefix that its shape has.
func kindName(prefix string) string {
	switch prefix {
	case "eyJ":
		return "jwt"
	case "-----BEGIN ":
		return "private key"
	}
	return strings.ToLower(strings.TrimRight(prefix, "-_ "))
}

// String lists the kinds with their counts, sorted, as in "declared 1, sk 2"; ""
// when nothing was found.
func (f *Found) String() string {
	if len(f.kinds) == 0 {
		return ""
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(f.kinds)) {
		out = append(out, k+" "+strconv.Itoa(f.kinds[k]))
	}
	return strings.Join(out, ", ")
}
