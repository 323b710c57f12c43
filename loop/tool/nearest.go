package tool

// Nearest returns the known name that a misspelt one most likely means: the one
// at the smallest edit distance (Levenshtein: insertions, deletions and changes
// of a byte), when that is at most max(1, len(name)/3); of several the first in
// the order of their bytes. Names over 256 bytes are near nothing.
func Nearest(name string, known []string) (string, bool) {
	if name == "" || len(name) > 256 {
		return "", false
	}
	best, found := max(1, len(name)/3)+1, ""
	for _, k := range known {
		d := distance(name, k, best)
		if d < best || d == best && found != "" && k < found {
			best, found = d, k
		}
	}
	return found, found != ""
}

// distance is the Levenshtein distance of a and b, or something above limit when
// it is above limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	var buf [300]int
	row := append(buf[:0], 0)
	for j := 1; j <= len(b); j++ {
		row = append(row, j)
	}
	for i := 1; i <= len(a); i++ {
		diagonal, low := row[0], i
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
			low = min(low, row[j])
		}
		if low > limit {
			return limit + 1
		}
	}
	return row[len(b)]
}
