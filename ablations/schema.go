package ablations

import (
	"reflect"
	"strconv"
	"strings"

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
