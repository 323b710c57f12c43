package results

import (
	"fmt"
	"reflect"
	"strings"
)

// Column documents one column of a table, or one member of a JSON report.
type Column struct {
	Name string // column name; parts of lists as "guards[].fired"
	Type string // string, bool, int64, uint64, double, timestamp, list, object
	Null bool   // true when the value can be null
	Doc  string // meaning, unit and range
}

// Columns lists the columns of a row type from its json and doc struct tags,
// in order. v is a struct or a pointer to one. A field without a json name or
// without a doc tag is an error: no column goes undocumented.
func Columns(v any) ([]Column, error) {
	t := reflect.TypeOf(v)
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("columns of %T: want a struct", v)
	}
	return columns(nil, t, "", 0)
}

// maxColumnDepth stops a type that contains itself.
const maxColumnDepth = 8

func columns(out []Column, t reflect.Type, prefix string, depth int) ([]Column, error) {
	if depth > maxColumnDepth {
		return nil, fmt.Errorf("columns of %s: nested too deep", t)
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" && opts == "embed" {
			var err error
			if out, err = columns(out, f.Type, prefix, depth+1); err != nil {
				return nil, err
			}
			continue
		}
		if pq, _, _ := strings.Cut(f.Tag.Get("parquet"), ","); pq != "" {
			name = pq // a row: what the table has
		}
		if name == "-" {
			continue
		}
		doc := f.Tag.Get("doc")
		if name == "" || doc == "" {
			return nil, fmt.Errorf("%s.%s needs a json name and a doc tag", t, f.Name)
		}
		ft, null := f.Type, false
		if ft.Kind() == reflect.Pointer {
			ft, null = ft.Elem(), true
		}
		out = append(out, Column{Name: prefix + name, Type: typeName(ft), Null: null, Doc: doc})
		sub, mark := ft, "."
		if ft.Kind() == reflect.Slice {
			sub, mark = ft.Elem(), "[]."
		}
		if typeName(sub) != "object" || sub.Kind() != reflect.Struct {
			continue
		}
		var err error
		if out, err = columns(out, sub, prefix+name+mark, depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func typeName(t reflect.Type) string {
	if t.PkgPath() == "time" && t.Name() == "Time" {
		return "timestamp"
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Int, reflect.Int64:
		return "int64"
	case reflect.Uint64:
		return "uint64"
	case reflect.Float64:
		return "double"
	case reflect.Slice, reflect.Array:
		return "list"
	case reflect.Struct, reflect.Map:
		return "object"
	}
	return t.String()
}

// MarkdownTable renders columns as a Markdown table, as docs/results.md has it.
func MarkdownTable(cols []Column) string {
	var b strings.Builder
	b.WriteString("| column | type | null | meaning |\n|---|---|---|---|\n")
	for _, c := range cols {
		null := ""
		if c.Null {
			null = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", c.Name, c.Type, null, strings.ReplaceAll(c.Doc, "|", "\\|"))
	}
	return b.String()
}
