package tool

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/harnessbench/harnessbench/loop/tool/internal/rawjson"
)

// Bounds of schemas.
const (
	maxSchema  = 256 << 10 // bytes of a schema's text
	maxSchemas = 4096      // compiled schemas kept in memory
)

// schema is a compiled JSON Schema. It is immutable.
type schema struct {
	full  *jsonschema.Schema
	flat  *flatSchema // nil when the schema is beyond the fast path
	depth int         // how deep arguments may nest
}

// compiled maps schema texts to *schema, for the whole process: ten thousand
// trials share a handful of schemas.
var (
	compiled      sync.Map
	compiledCount atomic.Int64
)

// compile returns the schema of a canonical JSON text.
func compile(text string) (*schema, error) {
	if s, ok := compiled.Load(text); ok {
		return s.(*schema), nil
	}
	s, err := compileText(text)
	if err != nil {
		return nil, err
	}
	if compiledCount.Add(1) <= maxSchemas {
		compiled.Store(text, s)
	}
	return s, nil
}

func compileText(text string) (*schema, error) {
	if len(text) > maxSchema {
		return nil, fmt.Errorf("%d bytes are too many; at most %d", len(text), maxSchema)
	}
	canon, err := Canonical(text)
	if err != nil {
		return nil, err
	}
	if canon != text {
		return nil, errors.New("is not canonical JSON (sorted keys, no white space); pass it through tool.Canonical")
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(regexpEngine)
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, schemaProblem(err)
	}
	full, err := c.Compile(schemaURL)
	if err != nil {
		return nil, schemaProblem(err)
	}
	depth, err := depthFor(full)
	if err != nil {
		return nil, err
	}
	return &schema{full: full, flat: newFlatSchema(doc), depth: depth}, nil
}

// schemaURL names the schema in a compiler; it is an URL of its own so that no
// relative reference can become a path of the host.
const schemaURL = "harnessbench:///tool-schema"

// noLoader refuses references to other documents: a schema says everything
// itself, and reads neither files nor the net.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("refers to %s; a tool's schema must be complete in itself", quote(url))
}

func regexpEngine(pattern string) (jsonschema.Regexp, error) {
	if len(pattern) > 1024 {
		return nil, errors.New("pattern longer than 1024 bytes")
	}
	return regexp.Compile(pattern)
}

// schemaProblem shortens a compiler's error to what an author can use.
func schemaProblem(err error) error {
	var invalid *jsonschema.SchemaValidationError
	if errors.As(err, &invalid) {
		var ve *jsonschema.ValidationError
		if errors.As(invalid.Err, &ve) {
			return errors.New("is no JSON Schema: " + describe(ve).text)
		}
	}
	var load *jsonschema.LoadURLError
	if errors.As(err, &load) {
		return load.Err
	}
	return errors.New(strings.ReplaceAll(err.Error(), schemaURL, ""))
}

// failure is why arguments do not fit a schema.
type failure struct {
	text    string
	pointer string // RFC 6901: to the value of the first problem in text
	schema  string // RFC 6901: to what the schema says of it
}

// validate returns what is wrong with canonical arguments, nil when nothing is.
func (s *schema) validate(args string) *failure {
	if s.flat != nil && s.flat.accepts(args) {
		return nil
	}
	return s.validateFull(args)
}

func (s *schema) validateFull(args string) *failure {
	if s.depth < MaxDepth && depthOf(args) > s.depth {
		return &failure{text: fmt.Sprintf("nested deeper than %d levels", s.depth)}
	}
	err := s.full.Validate(rawjson.Decode(args))
	if err == nil {
		return nil
	}
	var ve *jsonschema.ValidationError
	if !errors.As(err, &ve) {
		return &failure{text: "they do not fit the schema"}
	}
	return describe(ve)
}
