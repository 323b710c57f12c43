package models

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// object is a JSON object of a schema; encoding sorts its keys.
type object map[string]any

// JSONSchema returns the JSON Schema (2020-12) of models files, for editors. It
// is made from the types that read them and their tags. What a schema cannot say
// (that a model's provider is listed, that nothing is a key) it lets pass.
func JSONSchema() ([]byte, error) {
	s := schemaOf(reflect.TypeFor[File](), "")
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "harnessbench models file"
	out, err := json.MarshalIndent(s, "", "  ")
	return append(out, '\n'), err
}

func schemaOfStruct(t reflect.Type) object {
	properties, required := object{}, []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, opt, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		p := schemaOf(f.Type, f.Tag)
		if doc := f.Tag.Get("doc"); doc != "" {
			p["description"] = doc
		}
		if opt == "required" {
			required = append(required, name)
		}
		properties[name] = p
	}
	s := object{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// schemaOf is what a field of a type takes; tag has its bounds.
func schemaOf(t reflect.Type, tag reflect.StructTag) object {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case rawType:
		return object{"type": "object"}
	case reflect.TypeFor[Duration]():
		return object{"type": "string", "pattern": `^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`, "examples": []string{"90s", "2m30s"}}
	case reflect.TypeFor[Prices]():
		p := object{"type": []string{"number", "null"}, "minimum": 0, "maximum": 1_000_000}
		keys := []string{"input", "cache_read", "cache_write", "output"}
		return object{"type": "object", "additionalProperties": false, "required": keys,
			"properties": object{"input": p, "cache_read": p, "cache_write": p, "output": p}}
	}
	switch t.Kind() {
	case reflect.Struct:
		return schemaOfStruct(t)
	case reflect.Slice:
		return object{"type": "array", "items": schemaOf(t.Elem(), "")}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": object{"type": "string"}}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		if list := tag.Get("enum"); list != "" {
			return object{"enum": strings.Split(list, "|")}
		}
		return object{"type": "string"}
	}
	s := object{"type": "integer"}
	if t.Kind() == reflect.Float64 {
		s["type"] = "number"
	}
	for key, name := range map[string]string{"min": "minimum", "max": "maximum"} {
		if v, err := strconv.ParseFloat(tag.Get(key), 64); err == nil {
			s[name] = v
		}
	}
	return s
}
