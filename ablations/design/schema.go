package design

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

// decodeBounded decodes a mapping and holds its numbers against the min and max
// tags of their fields. A number that is not written is not checked.
func decodeBounded(n *strictyaml.Node, into any) error {
	if err := strictyaml.Decode(n, into); err != nil {
		return err
	}
	v := reflect.ValueOf(into).Elem()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		at := n.Get(key)
		if at == nil || at.Kind == strictyaml.Null {
			continue
		}
		var x float64
		switch f.Type.Kind() {
		case reflect.Int, reflect.Int64:
			x = float64(v.Field(i).Int())
		case reflect.Float64:
			x = v.Field(i).Float()
		default:
			continue
		}
		least, hasMin := bound(f, "min")
		most, hasMax := bound(f, "max")
		if hasMin && x < least || hasMax && x > most {
			return at.Errorf("use "+span(f), "%s is %s", key, at.Value)
		}
	}
	return nil
}

// bound reads a min or max tag.
func bound(f reflect.StructField, tag string) (float64, bool) {
	v, err := strconv.ParseFloat(f.Tag.Get(tag), 64)
	return v, err == nil
}

// span says which numbers a field takes.
func span(f reflect.StructField) string {
	if most := f.Tag.Get("max"); most != "" {
		return f.Tag.Get("min") + " to " + most
	}
	return f.Tag.Get("min") + " or more"
}

// object is a JSON object of a schema; encoding sorts its keys.
type object map[string]any

// JSONSchema returns the JSON Schema (2020-12) of suite files, for editors. It is
// made from the types that read them, their tags, and the table of guards. What a
// schema cannot say (that a comparison's arms exist, for example) it lets pass,
// and of several spellings it knows the usual one (a number without quotes).
func JSONSchema() ([]byte, error) {
	s := schemaOfStruct(reflect.TypeFor[Suite]())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "harnessbench suite"
	s["anyOf"] = []object{{"required": []string{"scenarios"}}, {"required": []string{"tags"}}}
	s["$defs"] = object{"guards": schemaOfGuards(), "prompt": schemaOfPrompt(), "mode": object{"enum": []string{"off", "shadow", "enforce"}}}
	out, err := json.MarshalIndent(s, "", "  ")
	return append(out, '\n'), err
}

// schemaOfStruct is the mapping that a struct is read from.
func schemaOfStruct(t reflect.Type) object {
	properties, required := object{}, []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, opt, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "" || name == "-" {
			continue
		}
		p := schemaOf(f)
		if doc := f.Tag.Get("doc"); doc != "" {
			p["description"] = doc
		}
		properties[name] = p
		if opt == "required" {
			required = append(required, name)
		}
	}
	s := object{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// schemaOf is what one field takes.
func schemaOf(f reflect.StructField) object {
	t := f.Type
	if t.Kind() == reflect.Pointer && t != reflect.TypeFor[*strictyaml.Node]() {
		t = t.Elem()
	}
	if s := schemaOfSpecial(t, f.Name); s != nil {
		return s
	}
	switch t.Kind() {
	case reflect.Slice:
		items := schemaOf(reflect.StructField{Name: f.Name, Type: t.Elem()})
		s := object{"type": "array", "items": items}
		if t.Elem().Kind() == reflect.String {
			s["uniqueItems"] = true
		}
		return s
	case reflect.Struct:
		return schemaOfStruct(t)
	case reflect.String:
		if list := f.Tag.Get("enum"); list != "" {
			return object{"enum": strings.Split(list, "|")}
		}
		return object{"type": "string"}
	}
	s := object{"type": "integer"}
	if t.Kind() == reflect.Float64 {
		s["type"] = "number"
	}
	if v, ok := bound(f, "min"); ok {
		s["minimum"] = v
	}
	if v, ok := bound(f, "max"); ok {
		s["maximum"] = v
	}
	return s
}

// schemaOfSpecial is for the types that read themselves; nil for all others.
func schemaOfSpecial(t reflect.Type, field string) object {
	switch t {
	case reflect.TypeFor[Limits]():
		return schemaOfStruct(reflect.TypeFor[limitsFile]())
	case reflect.TypeFor[Budgets]():
		return schemaOfStruct(reflect.TypeFor[budgetsFile]())
	case reflect.TypeFor[usd]():
		return object{"type": "number", "exclusiveMinimum": 0, "maximum": 1_000_000}
	case reflect.TypeFor[duration]():
		return object{"type": "string", "pattern": `^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`, "examples": []string{"90s", "2m30s"}}
	case reflect.TypeFor[Prompt]():
		return object{"$ref": "#/$defs/prompt"}
	case reflect.TypeFor[map[string]*strictyaml.Node]():
		return object{"$ref": "#/$defs/guards"}
	case reflect.TypeFor[Design]():
		return object{"oneOf": []object{{"enum": designs}, schemaOfStruct(t)}}
	case reflect.TypeFor[*strictyaml.Node]():
		if field == "Prompts" {
			return object{"type": "object", "minProperties": 2, "maxProperties": maxPrompts,
				"propertyNames": object{"pattern": "^[A-Za-z0-9_][A-Za-z0-9_-]*$"}, "additionalProperties": object{"$ref": "#/$defs/prompt"}}
		}
		return object{"type": []string{"string", "number"}} // a level: a mode, or a parameter's value
	}
	return nil
}

func schemaOfPrompt() object {
	s := schemaOfStruct(reflect.TypeFor[Prompt]())
	s["oneOf"] = []object{{"required": []string{"text"}}, {"required": []string{"file"}}}
	return s
}

// schemaOfGuards is the mapping from guards to modes or parameters.
func schemaOfGuards() object {
	all := object{}
	for i := range guard.Table {
		d := &guard.Table[i]
		params := object{"mode": object{"$ref": "#/$defs/mode"}}
		for j := range d.Params {
			p := &d.Params[j]
			s := object{"type": []string{"integer", "string"}, "description": p.Doc, "default": p.Format(p.Default)}
			if p.Unit == guard.Count || p.Unit == guard.MicroUSD {
				s = object{"type": "integer", "description": p.Doc, "default": p.Default, "minimum": p.Min, "maximum": p.Max}
			}
			params[p.Name] = s
		}
		all[d.Name] = object{"description": d.Summary, "oneOf": []object{
			{"$ref": "#/$defs/mode"}, {"type": "object", "additionalProperties": false, "properties": params}}}
	}
	return object{"type": "object", "additionalProperties": false, "properties": all}
}
