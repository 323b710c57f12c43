package tool

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// maxProblems is how many problems of a call are told; the model mends those
// first.
const maxProblems = 3

// describe turns a validation error into a short text that depends on nothing
// but schema and arguments: JSON pointer, what is expected, what was found. The
// validator reports in map order, so problems are sorted; its wording may change
// under a recording, so the words are our own.
func describe(ve *jsonschema.ValidationError) *failure {
	var all []string
	first := &failure{}
	leaves(ve, func(e *jsonschema.ValidationError) {
		text, at := cut(wording(e.ErrorKind), 200), pointer(e.InstanceLocation)
		if at != "" {
			text = cut(at, 200) + ": " + text
		}
		_, where, _ := strings.Cut(e.SchemaURL, "#")
		if f := (failure{text, at, where}); all == nil || f.less(first) {
			*first = f
		}
		all = append(all, text)
	})
	slices.Sort(all)
	all = slices.Compact(all)
	if n := len(all) - maxProblems; n > 0 {
		first.text = strings.Join(all[:maxProblems], "; ") + fmt.Sprintf("; and %d more", n)
	} else {
		first.text = strings.Join(all, "; ")
	}
	return first
}

// less orders failures by their texts, equal ones by the places in the schema.
func (f *failure) less(o *failure) bool {
	return f.text < o.text || f.text == o.text && f.schema < o.schema
}

// leaves visits the errors that have no finer cause. Of a choice between forms
// the choice itself is told: the causes would contradict each other.
func leaves(e *jsonschema.ValidationError, visit func(*jsonschema.ValidationError)) {
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf, *kind.Not, *kind.Contains, *kind.PropertyNames:
		visit(e)
		return
	}
	if len(e.Causes) == 0 {
		visit(e)
		return
	}
	for _, c := range e.Causes {
		leaves(c, visit)
	}
}

// pointer is the RFC 6901 pointer of a place in the arguments.
func pointer(location []string) string {
	var b strings.Builder
	for _, name := range location {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
	}
	return b.String()
}

// wording says what is expected.
func wording(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "want " + strings.Join(k.Want, " or ") + ", got " + k.Got
	case *kind.Required:
		return "missing " + quoteAll(k.Missing)
	case *kind.AdditionalProperties:
		return "unknown " + quoteAll(k.Properties)
	case *kind.Enum:
		return "want one of " + values(k.Want)
	case *kind.Const:
		return "want " + values([]any{k.Want})
	case *kind.Pattern:
		return "want text that matches " + k.Want
	case *kind.Format:
		return "want a text of format " + k.Want
	case *kind.PropertyNames:
		return "the name " + strconv.Quote(k.Property) + " is not allowed"
	case *kind.DependentRequired:
		return "missing " + quoteAll(k.Missing) + ", which must come with " + strconv.Quote(k.Prop)
	case *kind.Dependency:
		return "missing " + quoteAll(k.Missing) + ", which must come with " + strconv.Quote(k.Prop)
	case *kind.AnyOf, *kind.OneOf:
		return "fits none of the allowed forms, or too many"
	case *kind.Not:
		return "has a form that is not allowed"
	case *kind.FalseSchema:
		return "is not allowed"
	case *kind.UniqueItems:
		return fmt.Sprintf("items %d and %d are equal", min(k.Duplicates[0], k.Duplicates[1]), max(k.Duplicates[0], k.Duplicates[1]))
	}
	return bounds(k)
}

// bounds says what is expected of a size or number.
func bounds(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Minimum:
		return "want at least " + number(k.Want)
	case *kind.Maximum:
		return "want at most " + number(k.Want)
	case *kind.ExclusiveMinimum:
		return "want more than " + number(k.Want)
	case *kind.ExclusiveMaximum:
		return "want less than " + number(k.Want)
	case *kind.MultipleOf:
		return "want a multiple of " + number(k.Want)
	case *kind.MinLength:
		return fmt.Sprintf("want at least %d characters, got %d", k.Want, k.Got)
	case *kind.MaxLength:
		return fmt.Sprintf("want at most %d characters, got %d", k.Want, k.Got)
	case *kind.MinItems:
		return fmt.Sprintf("want at least %d items, got %d", k.Want, k.Got)
	case *kind.MaxItems:
		return fmt.Sprintf("want at most %d items, got %d", k.Want, k.Got)
	case *kind.MinProperties:
		return fmt.Sprintf("want at least %d members, got %d", k.Want, k.Got)
	case *kind.MaxProperties:
		return fmt.Sprintf("want at most %d members, got %d", k.Want, k.Got)
	}
	return "does not satisfy " + strings.Join(k.KeywordPath(), "/")
}

func number(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func quoteAll(names []string) string {
	names = slices.Clone(names)
	slices.Sort(names)
	for i := range names {
		names[i] = strconv.Quote(names[i])
	}
	return strings.Join(names, ", ")
}

// values shows allowed values in the schema's order.
func values(all []any) string {
	out := make([]string, len(all))
	for i, v := range all {
		b, err := json.Marshal(v) // maps come out sorted
		if err != nil {
			b = []byte("?")
		}
		out[i] = string(b)
	}
	return strings.Join(out, ", ")
}

// cut shortens a text to at most n bytes and an ellipsis.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "..."
}
