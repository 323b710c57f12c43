package guard

import (
	"slices"
	"testing"

	"github.com/harnessbench/harnessbench/loop/model"
)

func TestFallbackNext(t *testing.T) {
	list := []string{"m/a", "m/b", "m/a", "m/c", "m/b"} // names that stand twice make no cycle
	server := &model.Error{Kind: model.ErrServer, Status: 503}
	tests := []struct {
		name   string
		f      Fallback
		asked  []string
		failed int
		spent  bool
		want   string
	}{
		{"retry goes on", Fallback{Models: 8}, []string{"m/a"}, 3, false, ""},
		{"retry is spent", Fallback{Models: 8}, []string{"m/a"}, 4, true, "m/b"},
		{"the second fails", Fallback{Models: 8}, []string{"m/a", "m/b"}, 4, true, "m/c"},
		{"all were asked", Fallback{Models: 8}, []string{"m/a", "m/b", "m/c"}, 4, true, ""},
		{"no more models", Fallback{Models: 1}, []string{"m/a", "m/b"}, 4, true, ""},
		{"one more model", Fallback{Models: 2}, []string{"m/a", "m/b"}, 4, true, "m/c"},
		{"before the bound", Fallback{Models: 8, After: 2}, []string{"m/a"}, 1, false, ""},
		{"at the bound", Fallback{Models: 8, After: 2}, []string{"m/a"}, 2, false, "m/b"},
		{"spent before the bound", Fallback{Models: 8, After: 9}, []string{"m/a"}, 1, true, "m/b"},
		{"the zero policy", Fallback{}, []string{"m/a"}, 4, true, ""},
	}
	for _, tt := range tests {
		if got, ok := tt.f.Next(list, tt.asked, tt.failed, tt.spent, server); got != tt.want || ok != (tt.want != "") {
			t.Errorf("%s: %q %v, want %q", tt.name, got, ok, tt.want)
		}
	}
}

func TestFallbackByError(t *testing.T) {
	for kind, want := range map[model.ErrorKind]bool{
		model.ErrTransport: true, model.ErrBrokenStream: true, model.ErrTimeout: true, model.ErrRateLimit: true, model.ErrQuota: true,
		model.ErrAuth: true, model.ErrServer: true, model.ErrBadRequest: true, model.ErrContextOverflow: true,
		model.ErrCancelled: false, model.ErrDeadline: false, model.ErrProtocol: false,
	} {
		if _, ok := (Fallback{Models: 1}).Next([]string{"m/a", "m/b"}, []string{"m/a"}, 1, true, &model.Error{Kind: kind}); ok != want {
			t.Errorf("%s: falls back %v, want %v", kind, ok, want)
		}
	}
}

// Whatever the list, a turn asks each model once at most.
func TestFallbackEnds(t *testing.T) {
	for _, list := range [][]string{nil, {"a"}, {"a", "a"}, {"a", "b", "a"}, {"a", "b", "c", "b", "a", "c"}} {
		asked := []string{"a"}
		for range 10 {
			next, ok := Fallback{Models: 64}.Next(list, asked, 1, true, &model.Error{Kind: model.ErrAuth})
			if !ok {
				break
			}
			if slices.Contains(asked, next) {
				t.Fatalf("%v: %s is asked again after %v", list, next, asked)
			}
			asked = append(asked, next)
		}
		if len(asked) > 3 {
			t.Errorf("%v: no end: %v", list, asked)
		}
	}
}
