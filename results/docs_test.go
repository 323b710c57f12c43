package results

import (
	"flag"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/results/internal/docs"
)

var update = flag.Bool("update", false, "write generated parts of the documentation")

// TestColumnsDocumented: every column has a name, the same in JSON and
// Parquet, and says what it means; the page says the same.
func TestColumnsDocumented(t *testing.T) {
	page := filepath.Join("..", "docs", "results.md")
	for name, row := range map[string]any{
		"trials": Trial{}, "turns": Turn{}, "model_calls": ModelCall{}, "tool_calls": ToolCall{}, "verdicts": Verdict{}, "guard_events": GuardEvent{},
	} {
		cols, err := Columns(row)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := docs.Check(page, name, MarkdownTable(cols), *update); err != nil {
			t.Error(err)
		}
		sameNames(t, reflect.TypeOf(row))
	}
}

func sameNames(t *testing.T, typ reflect.Type) {
	t.Helper()
	for i := range typ.NumField() {
		f := typ.Field(i)
		pq, _, _ := strings.Cut(f.Tag.Get("parquet"), ",")
		js := f.Tag.Get("json")
		if (pq == "-") != (js == "-") && pq != "" && js != "" {
			continue // the lists of a trial: columns in the table, lists in the journal
		}
		if pq == "" || pq != js {
			t.Errorf("%s.%s is %q in Parquet and %q in JSON", typ, f.Name, pq, js)
		}
		if f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct {
			sameNames(t, f.Type.Elem())
		}
	}
}

func TestColumnsRefuses(t *testing.T) {
	type undocumented struct {
		A int `json:"a"`
	}
	type loop struct {
		L []loop `json:"l" doc:"itself"`
	}
	for want, v := range map[string]any{"doc tag": undocumented{}, "want a struct": 3, "nested too deep": loop{}} {
		if _, err := Columns(v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if _, err := Columns(nil); err == nil {
		t.Error("nil: no error")
	}
}
