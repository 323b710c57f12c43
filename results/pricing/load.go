package pricing

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

// FileSchema is the value of a price file's schema key.
const FileSchema = "harnessbench/prices/v1"

// maxFile bounds a price file, in bytes.
const maxFile = 1 << 20

// priceFile is a price file as written.
type priceFile struct {
	strictyaml.Pos
	Schema string       `yaml:"schema,required"`
	Date   string       `yaml:"date,required"`
	Source string       `yaml:"source,required"`
	Models []priceEntry `yaml:"models,required"`
}

// priceEntry is the price of one model. All four keys must be there: a price
// that is not known is written as null, so that nothing is unknown by oversight.
type priceEntry struct {
	strictyaml.Pos
	Model      string           `yaml:"model,required"`
	Input      *strictyaml.Node `yaml:"input"`
	CacheRead  *strictyaml.Node `yaml:"cache_read"`
	CacheWrite *strictyaml.Node `yaml:"cache_write"`
	Output     *strictyaml.Node `yaml:"output"`
}

// Load reads a price file:
//
//	schema: harnessbench/prices/v1
//	date: 2026-01-31           # the day on which the prices were read
//	source: where they were read
//	models:
//	  - model: openai/name     # provider/name, or a prefix that ends in "*"
//	    input: 2.50            # USD per million tokens, at most 6 decimals
//	    cache_read: 1.25
//	    cache_write: 0
//	    output: null           # unknown: what needs it has no cost
//
// A mistake is one error that names file, line and column.
func Load(path string) (*Table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("price file: %w", err)
	}
	defer func() { _ = f.Close() }() // read only: nothing to lose
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, fmt.Errorf("price file %s: is no regular file", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("price file: %w", err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("price file %s: has more than %d bytes", path, maxFile)
	}
	return Parse(path, data)
}

// Parse reads the content of a price file; name is for errors. See [Load].
func Parse(name string, data []byte) (*Table, error) {
	var f priceFile
	if err := strictyaml.Unmarshal(name, data, &f); err != nil {
		return nil, err
	}
	if f.Schema != FileSchema {
		return nil, f.Errorf("write "+FileSchema, "schema is %q", f.Schema)
	}
	if _, err := time.Parse(time.DateOnly, f.Date); err != nil {
		return nil, f.Errorf("write the day on which the prices were read as YYYY-MM-DD", "date is %q", f.Date)
	}
	if f.Source == "" {
		return nil, f.Errorf("say where the prices were read", "source is empty")
	}
	t := &Table{Date: f.Date, Source: f.Source}
	seen := map[string]bool{}
	for i := range f.Models {
		p, err := f.Models[i].price()
		if err != nil {
			return nil, err
		}
		if seen[p.Model] {
			return nil, f.Models[i].Errorf("keep one entry", "model %q is priced twice", p.Model)
		}
		seen[p.Model] = true
		t.Prices = append(t.Prices, p)
	}
	return t, nil
}

func (e *priceEntry) price() (Price, error) {
	p := Price{Model: e.Model}
	star := strings.IndexByte(e.Model, '*')
	if !strings.Contains(e.Model, "/") && e.Model != "*" || star >= 0 && star != len(e.Model)-1 {
		return p, e.Errorf(`write provider/name, or a prefix that ends in "*"`, "model is %q", e.Model)
	}
	for _, c := range []struct {
		key  string
		from *strictyaml.Node
		into **Micro
	}{{"input", e.Input, &p.Input}, {"cache_read", e.CacheRead, &p.CacheRead}, {"cache_write", e.CacheWrite, &p.CacheWrite}, {"output", e.Output, &p.Output}} {
		if c.from == nil { // not even null
			return p, e.Errorf("add it; null says that the price is unknown", "the key %q is missing", c.key)
		}
		switch c.from.Kind {
		case strictyaml.Null:
			continue
		case strictyaml.Int, strictyaml.Float:
		default:
			return p, c.from.Errorf("write USD per million tokens, or null when the price is unknown", "a price is a number, not %s", c.from.Kind)
		}
		m, err := ParsePrice(c.from.Value)
		if err != nil {
			return p, c.from.Errorf("correct it, or write null when the price is unknown", "%v", err)
		}
		*c.into = m
	}
	return p, nil
}

// Book is a list of tables, for example a user's before [Simulated]: the first
// that knows a model prices it.
type Book []*Table

// Lookup returns the price of a model and the table it stands in; ok is false
// when no table has it.
func (b Book) Lookup(model string) (p Price, from *Table, ok bool) {
	for _, t := range b {
		if p, ok := t.Lookup(model); ok {
			return p, t, true
		}
	}
	return Price{}, nil, false
}

// Cost prices usage in USD as [Table.Cost] does; nil when it is unknown.
func (b Book) Cost(model string, u Usage) *float64 {
	p, _, ok := b.Lookup(model)
	if !ok {
		return nil
	}
	return p.Cost(u)
}

// Complete reports whether every class of tokens has a price, so that no usage
// has an unknown cost: what a cost budget needs.
func (p Price) Complete() bool {
	return p.Input != nil && p.CacheRead != nil && p.CacheWrite != nil && p.Output != nil
}
