package guard

import (
	"strings"
	"testing"
)

// Every guard has its page, every page its guard, and a parameter that a page
// quotes is one of the guard's.
func TestManual(t *testing.T) {
	for name := range manuals {
		if Lookup(name) < 0 {
			t.Errorf("a page of %s, which is no guard", name)
		}
	}
	for i := range Table {
		d := &Table[i]
		m := d.Manual()
		if m.Semantics == "" || m.Cost == "" {
			t.Errorf("%s has no page", d.Name)
		}
		quoted := strings.Split(m.Semantics+m.Cost, `"`)
		for j := 1; j < len(quoted); j += 2 {
			known := false
			for _, p := range d.Params {
				known = known || p.Name == quoted[j]
			}
			if !known {
				t.Errorf("%s: the page quotes %q, which is no parameter", d.Name, quoted[j])
			}
		}
		for _, p := range d.Params {
			if d.Policy && !strings.Contains(m.Semantics+m.Cost, `"`+p.Name+`"`) {
				t.Errorf("%s: the page does not say what %q does", d.Name, p.Name)
			}
		}
	}
}
