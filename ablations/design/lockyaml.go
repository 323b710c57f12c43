package design

import (
	"bytes"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

// Encode writes the lock as YAML; equal locks give equal bytes, whatever the
// version of any library, because run ids are made of them.
func (l Lock) Encode() ([]byte, error) {
	var b bytes.Buffer
	if err := writeStruct(&b, reflect.ValueOf(l), "", ""); err != nil {
		return nil, fmt.Errorf("write lock: %w", err)
	}
	return b.Bytes(), nil
}

// writeStruct writes the fields that have a yaml tag, one a line. first is what
// stands before the first of them, indent before the others.
func writeStruct(b *bytes.Buffer, v reflect.Value, first, indent string) error {
	for i := range v.NumField() {
		f, x := v.Type().Field(i), v.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "" || name == "-" || opts == "omitempty" && empty(x) {
			continue
		}
		b.WriteString(first + name + ":")
		first = indent
		if err := writeValue(b, x, indent); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func empty(v reflect.Value) bool {
	if v.Kind() == reflect.Slice {
		return v.Len() == 0
	}
	return v.IsZero()
}

// writeValue writes what follows a key, to the end of the line and beyond.
func writeValue(b *bytes.Buffer, v reflect.Value, indent string) error {
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	switch {
	case v.Kind() == reflect.Struct:
		b.WriteByte('\n')
		return writeStruct(b, v, indent+"  ", indent+"  ")
	case v.Kind() == reflect.Slice && v.Len() > 0 && v.Type().Elem().Kind() == reflect.Struct:
		b.WriteByte('\n')
		for i := range v.Len() {
			if err := writeStruct(b, v.Index(i), indent+"- ", indent+"  "); err != nil {
				return err
			}
		}
		return nil
	case v.Kind() == reflect.Slice:
		parts := make([]string, v.Len())
		for i := range parts {
			var err error
			if parts[i], err = scalar(v.Index(i)); err != nil {
				return err
			}
		}
		b.WriteString(" [" + strings.Join(parts, ", ") + "]\n")
		return nil
	}
	s, err := scalar(v)
	b.WriteString(" " + s + "\n")
	return err
}

func scalar(v reflect.Value) (string, error) {
	switch v.Kind() {
	case reflect.String:
		if s := v.String(); utf8.ValidString(s) {
			return yamlText(s), nil
		}
		return "", fmt.Errorf("%q is not UTF-8, so a lock cannot hold it", v.String())
	case reflect.Int, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10), nil
	case reflect.Uint64:
		return strconv.FormatUint(v.Uint(), 10), nil
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'f', -1, 64), nil
	}
	return "", fmt.Errorf("a lock holds no %s", v.Type())
}

// yamlText writes a text as a plain scalar where it can be taken for nothing
// else, in single quotes where it is one line of ASCII, else in double quotes
// with escapes that Go and YAML have in common.
func yamlText(s string) string {
	plain, ascii := s != "", true
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		switch {
		case r < ' ' || r > '~':
			plain, ascii = false, false
		case !letter && (i == 0 || !strings.ContainsRune("0123456789/_.-", r)):
			plain = false
		}
	}
	switch {
	case plain && !reserved(s):
		return s
	case ascii:
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return strconv.Quote(s)
}

// reserved reports whether some reader of YAML takes a word for another kind of
// value: the own parser is asked, and the words of older versions are known.
func reserved(s string) bool {
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return true
	}
	n, err := strictyaml.Parse("", []byte(s))
	return err != nil || n.Kind != strictyaml.String
}
