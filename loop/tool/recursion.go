package tool

import (
	"errors"
	"math"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds of the work that validation may cost.
const (
	maxExpanded = 100_000 // subschemas, every use counted
	maxVisits   = 1 << 20 // ways through a recursive schema
)

// depthFor bounds what a hostile schema costs. Written out as a tree it may have
// at most maxExpanded nodes. One that leads back to itself in c places can visit
// a value c^depth times, so arguments may nest only as deep as keeps that below
// maxVisits: the full MaxDepth for a list, 20 levels for a binary tree.
func depthFor(root *jsonschema.Schema) (depth int, err error) {
	x := &expansion{open: map[*jsonschema.Schema]bool{}}
	x.visit(root)
	if x.nodes > maxExpanded {
		return 0, errors.New("is too complex: its references multiply; simplify it")
	}
	if x.back < 2 {
		return MaxDepth, nil
	}
	d := math.Log2(maxVisits) / math.Log2(float64(x.back))
	return min(MaxDepth, max(2, int(d))), nil
}

// expansion walks a schema as the tree that its references make of it.
type expansion struct {
	open  map[*jsonschema.Schema]bool
	nodes int // seen so far
	back  int // of them, those that lead back to an open one
}

func (x *expansion) visit(s *jsonschema.Schema) {
	if s == nil || x.nodes > maxExpanded {
		return
	}
	x.nodes++
	if x.open[s] {
		x.back++
		return
	}
	x.open[s] = true
	defer delete(x.open, s)

	if s.DynamicRef != nil {
		x.visit(s.DynamicRef.Ref)
	}
	for _, c := range []*jsonschema.Schema{
		s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else, s.PropertyNames, s.UnevaluatedProperties,
		s.Contains, s.Items2020, s.UnevaluatedItems, s.ContentSchema,
	} {
		x.visit(c)
	}
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems} {
		x.visitAny(list)
	}
	for _, c := range s.Properties {
		x.visit(c)
	}
	for _, c := range s.PatternProperties {
		x.visit(c)
	}
	for _, c := range s.DependentSchemas {
		x.visit(c)
	}
	for _, c := range s.Dependencies {
		x.visitAny(c)
	}
	x.visitAny(s.AdditionalProperties)
	x.visitAny(s.Items)
	x.visitAny(s.AdditionalItems)
}

// visitAny takes what the compiler leaves untyped.
func (x *expansion) visitAny(v any) {
	switch v := v.(type) {
	case *jsonschema.Schema:
		x.visit(v)
	case []*jsonschema.Schema:
		for _, c := range v {
			x.visit(c)
		}
	}
}

// depthOf returns how deep canonical JSON nests.
func depthOf(text string) int {
	depth, deepest := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	return deepest
}
