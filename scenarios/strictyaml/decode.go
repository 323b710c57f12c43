package strictyaml

import (
	"fmt"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"unicode"
)

// Unmarshaler is a type that reads itself from a node.
type Unmarshaler interface{ UnmarshalNode(*Node) error }

var (
	posType  = reflect.TypeFor[Pos]()
	nodeType = reflect.TypeFor[*Node]()
	unType   = reflect.TypeFor[Unmarshaler]()
)

// Unmarshal parses data and decodes it into the pointer into.
func Unmarshal(file string, data []byte, into any) error {
	return UnmarshalMax(file, data, MaxBytes, into)
}

// UnmarshalMax is [Unmarshal] for documents that a program wrote, of at most
// maxBytes.
func UnmarshalMax(file string, data []byte, maxBytes int, into any) error {
	n, err := ParseMax(file, data, maxBytes)
	if err != nil {
		return err
	}
	return Decode(n, into)
}

// Decode fills the value that into points to. Struct fields are named by their
// yaml tag ("name" or "name,required"; "-" = not from the file); a field of type
// Pos gets the place of its mapping, a field of type *Node the node as it is.
// Every key of a mapping must have its field. A null value leaves a field as it
// was, except for *Node and Unmarshaler.
func Decode(n *Node, into any) error {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return fmt.Errorf("strictyaml: Decode needs a pointer, not %T", into)
	}
	return decode(n, v.Elem())
}

func decode(n *Node, v reflect.Value) error {
	if v.Type() == nodeType {
		v.Set(reflect.ValueOf(n))
		return nil
	}
	if v.CanAddr() && v.Addr().Type().Implements(unType) {
		return v.Addr().Interface().(Unmarshaler).UnmarshalNode(n)
	}
	if n.Kind == Null {
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return decode(n, v.Elem())
	case reflect.Struct:
		return decodeStruct(n, v)
	case reflect.Slice:
		return decodeList(n, v)
	case reflect.Map:
		return decodeMap(n, v)
	}
	return decodeScalar(n, v)
}

func decodeScalar(n *Node, v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		s, err := n.Text()
		if err != nil {
			return err
		}
		v.SetString(s)
	case reflect.Bool:
		if n.Kind != Bool {
			return n.want("true or false")
		}
		v.SetBool(n.Value == "true")
	case reflect.Int, reflect.Int64:
		if n.Kind != Int {
			return n.want("a whole number")
		}
		i, err := strconv.ParseInt(n.Value, 10, 64)
		if err != nil || v.OverflowInt(i) {
			return n.Errorf("write a decimal number in range", "%s is no whole number in range", n.Value)
		}
		v.SetInt(i)
	case reflect.Uint64:
		if n.Kind != Int {
			return n.want("a whole number")
		}
		u, err := strconv.ParseUint(n.Value, 10, 64)
		if err != nil {
			return n.Errorf("write a decimal number that is not negative", "%s is no whole number in range", n.Value)
		}
		v.SetUint(u)
	case reflect.Float64:
		if n.Kind != Int && n.Kind != Float {
			return n.want("a number")
		}
		f, err := strconv.ParseFloat(n.Value, 64)
		if err != nil {
			return n.Errorf("write a decimal number", "%s is no number in range", n.Value)
		}
		v.SetFloat(f)
	default:
		return fmt.Errorf("strictyaml: cannot decode into %s", v.Type())
	}
	return nil
}

// Text returns the text of a string node; every other kind is an error that says
// to quote it.
func (n *Node) Text() (string, error) {
	if n.Kind == String {
		return n.Value, nil
	}
	if n.Kind == List || n.Kind == Map {
		return "", n.want("a text")
	}
	return "", n.Errorf("put it in quotes", "this must be a text, not %s", n.Kind)
}

func (n *Node) want(what string) error {
	return n.Errorf("correct it", "this must be %s, not %s", what, n.Kind)
}

func decodeList(n *Node, v reflect.Value) error {
	if n.Kind != List {
		return n.Errorf("put it in [ ]", "this must be a list, not %s", n.Kind)
	}
	s := reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items))
	for i, it := range n.Items {
		if it.Kind == Null && v.Type().Elem() != nodeType {
			return it.Errorf("remove it or fill it in", "an empty list entry")
		}
		if err := decode(it, s.Index(i)); err != nil {
			return err
		}
	}
	v.Set(s)
	return nil
}

func decodeMap(n *Node, v reflect.Value) error {
	if n.Kind != Map {
		return n.want("a mapping")
	}
	m := reflect.MakeMapWithSize(v.Type(), len(n.Keys))
	for i, k := range n.Keys {
		e := reflect.New(v.Type().Elem()).Elem()
		if err := decode(n.Items[i], e); err != nil {
			return err
		}
		m.SetMapIndex(reflect.ValueOf(k.Value).Convert(v.Type().Key()), e)
	}
	v.Set(m)
	return nil
}

func decodeStruct(n *Node, v reflect.Value) error {
	if n.Kind != Map {
		return n.want("a mapping")
	}
	t := v.Type()
	fields := make(map[string]int, t.NumField())
	var names, required []string
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Type == posType {
			v.Field(i).Set(reflect.ValueOf(n.Pos))
			continue
		}
		name, opt, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if !f.IsExported() || name == "-" || name == "" {
			continue
		}
		fields[name] = i
		names = append(names, name)
		if opt == "required" {
			required = append(required, name)
		}
	}
	for i, k := range n.Keys {
		fi, ok := fields[k.Value]
		if !ok {
			return UnknownKey(k, names)
		}
		if err := decode(n.Items[i], v.Field(fi)); err != nil {
			return err
		}
	}
	for _, name := range required {
		if it := n.Get(name); it == nil || it.Kind == Null {
			return n.Errorf("add it", "the key %q is missing", name)
		}
	}
	return nil
}

// UnknownKey returns the error for a key that is none of names; it names the
// nearest of them, or all.
func UnknownKey(k *Node, names []string) error {
	names = append([]string(nil), names...)
	sort.Strings(names)
	for _, name := range names {
		if near(k.Value, name) {
			return k.Errorf(fmt.Sprintf("did you mean %q?", name), "unknown key %q", clip(k.Value))
		}
	}
	return k.Errorf("known keys here: "+strings.Join(names, ", "), "unknown key %q", clip(k.Value))
}

// clip keeps hostile text short and free of control characters.
func clip(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, s)
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "..."
	}
	return s
}

// near reports whether a and b differ by at most two edits and share their
// first letter, or are equal but for case and separators.
func near(a, b string) bool {
	if len(a) > 60 || a == "" || b == "" {
		return false
	}
	fold := func(s string) string {
		return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(s))
	}
	if fold(a) == fold(b) {
		return true
	}
	return a[0] == b[0] && len(b) > 3 && distance(a, b) <= 2
}

func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diag, row[j+1] = row[j+1], min(diag+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
