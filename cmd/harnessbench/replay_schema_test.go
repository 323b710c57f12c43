package main

import (
	"bytes"
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer"
)

// schemaMaker makes a JSON Schema of the types that replay --json writes. What a
// field means is its comment in the source.
type schemaMaker struct {
	t    *testing.T
	docs map[string]string // "Report.Path" to its comment
}

// replaySchemaFile is the schema as docs has it.
func replaySchemaFile(t *testing.T) []byte {
	m := schemaMaker{t, map[string]string{}}
	for _, file := range []string{"../../replayer/report.go", "../../replayer/tolerant.go", "../../replayer/graded.go", "replay.go"} {
		m.read(file)
	}
	s := m.structure(reflect.TypeFor[replayJSON]())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "harnessbench replay --json"
	s["properties"].(map[string]any)["schema"] = map[string]any{"const": replaySchema}
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, '\n')
}

// read collects the comments of a source file's struct fields.
func (m *schemaMaker) read(file string) {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		m.t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if st, ok := spec.Type.(*ast.StructType); ok {
			for _, field := range st.Fields.List {
				for _, name := range field.Names {
					doc := field.Comment.Text()
					if doc == "" {
						doc = field.Doc.Text()
					}
					m.docs[spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(doc), " ")
				}
			}
		}
		return false
	})
}

func (m *schemaMaker) structure(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		name, opt, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			m.t.Errorf("%s.%s has no JSON name", t.Name(), f.Name)
		}
		p := m.of(f.Type)
		if doc := m.docs[t.Name()+"."+f.Name]; doc != "" {
			p["description"] = doc
		}
		properties[name] = p
		if opt != "omitempty" {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required}
}

func (m *schemaMaker) of(t reflect.Type) map[string]any {
	switch t {
	case reflect.TypeFor[replayer.Verdict]():
		return map[string]any{"enum": replayer.Verdicts}
	case reflect.TypeFor[replayer.Code]():
		codes := make([]replayer.Code, len(replayer.Codes))
		for i, c := range replayer.Codes {
			codes[i] = c.Code
		}
		return map[string]any{"enum": codes}
	}
	switch t.Kind() {
	case reflect.Struct:
		return m.structure(t)
	case reflect.Pointer:
		s := m.of(t.Elem())
		if t.Elem().Kind() != reflect.Struct || strings.HasSuffix(t.Elem().PkgPath(), "/compare") {
			s["type"] = []any{s["type"], "null"} // there absent members are null; elsewhere they are left out
		}
		return s
	case reflect.Array:
		return map[string]any{"type": "array", "items": m.of(t.Elem()), "minItems": t.Len(), "maxItems": t.Len()}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": m.of(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "propertyNames": m.of(t.Key()), "additionalProperties": m.of(t.Elem())}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer", "minimum": 0}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	}
	m.t.Errorf("%s has no schema yet", t)
	return map[string]any{}
}

// documented holds a schema that types make against the one in docs, which -update
// writes, and compiles it.
func documented(t *testing.T, name string, got []byte) *jsonschema.Schema {
	t.Helper()
	path := filepath.Join("..", "..", "docs", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("docs/%s is not what the types make: go test ./cmd/harnessbench -run Schema -update", name)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// docs/replay.schema.json is the schema that the types make, and what replay
// prints is valid.
func TestReplaySchema(t *testing.T) {
	schema := documented(t, "replay.schema.json", replaySchemaFile(t))
	for name, text := range replayedSamples(t) {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		// and it is not valid by saying nothing
		for _, change := range [][2]string{{`"verdict": "`, `"verdict": "X`}, {`"turns": `, `"turn": `}, {`replay/v1`, `replay/v9`}} {
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(strings.Replace(text, change[0], change[1], 1)))
			if err != nil {
				t.Fatal(err)
			}
			if schema.Validate(v) == nil {
				t.Errorf("%s: %q for %q is valid", name, change[1], change[0])
			}
		}
	}
}

// replayedSamples are outputs of replay --json with every kind of verdict that is
// easily had.
func replayedSamples(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	var out, errs bytes.Buffer
	if code := run(context.Background(), &out, &errs, []string{"run", "-q", "-o", filepath.Join(dir, "run"), "--fsync", "never", "../../examples/my-note"}); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	found, err := filepath.Glob(filepath.Join(dir, "run", "sessions", "*.sim_weak.default.*.session.jsonl"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no session: %v", err)
	}
	whole, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	samples := map[string]string{}
	for name, data := range map[string][]byte{
		"exact":    whole,
		"cut":      bytes.Join(lines[:len(lines)-3], nil),
		"corrupt":  whole[100:],
		"too new":  bytes.Replace(whole, []byte("session/1"), []byte("session/9"), 1),
		"diverged": resealed(t, whole, otherEnd(t)),
	} {
		path := filepath.Join(dir, "a.session.jsonl")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		out.Reset()
		run(context.Background(), &out, &errs, []string{"replay", "-q", "--json", path})
		samples[name] = out.String()
	}
	return samples
}

// otherEnd gives a session another end.
func otherEnd(t *testing.T) func(*session.Line) []byte {
	return func(l *session.Line) []byte {
		if l.Type != session.TypeFooter {
			return l.Payload()
		}
		p, err := l.With("/reason", []byte(`"stuck"`))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
}
