package guard

import (
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/loop/event"
)

func TestSealsNameTheFirst(t *testing.T) {
	for _, tt := range []struct {
		broken []string
		count  int
		want   string
	}{
		{nil, 0, ""},
		{[]string{"changed a"}, 1, "changed a"},
		{[]string{"changed a", "created b", "deleted c"}, 3, "changed a, created b, deleted c"},
		{[]string{"changed a", "created b", "deleted c", "deleted d"}, 40, "changed a, created b, deleted c and 37 more"},
		{[]string{"changed " + strings.Repeat("\u00e9", 200)}, 1, "changed " + strings.Repeat("\u00e9", 46)},
	} {
		_, d := newSeals(nil, Env{}).Step(&event.Seal{Broken: tt.broken, Count: tt.count})
		if d.Evidence != tt.want || (d.Stop != nil) != (tt.want != "") {
			t.Errorf("%q: %+v", tt.want, d)
		}
		if d.Stop != nil && (d.Stop.Reason != event.SealBroken || d.Continue || d.Stop.Evidence != tt.want) {
			t.Errorf("%+v", d.Stop)
		}
	}
}
