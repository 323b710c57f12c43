// Package docs keeps generated parts of documentation pages equal to the code
// that they describe. It is used by tests alone.
//
//  1. A page marks a generated part with the lines "<!-- generated: NAME -->"
//     and "<!-- end: NAME -->".
//  2. [Check] compares what stands between them with what the code says, and
//     with write set replaces it.
package docs

import (
	"fmt"
	"os"
	"strings"
)

// Check compares the part of the page at path that is marked with name with
// want. It returns an error that says what to do when they differ; with write
// set it replaces the part instead.
func Check(path, name, want string, write bool) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("documentation page: %w", err)
	}
	page := string(data)
	begin, end := "<!-- generated: "+name+" -->\n", "<!-- end: "+name+" -->\n"
	before, rest, ok := strings.Cut(page, begin)
	have, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s: no part marked %q and %q", path, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	want = "\n" + strings.TrimSpace(want) + "\n\n"
	switch {
	case have == want:
		return nil
	case write:
		return os.WriteFile(path, []byte(before+begin+want+end+after), 0o644)
	}
	return fmt.Errorf("%s: the part %q differs from the struct tags; run the test with -update\nwant:%s", path, name, want)
}
