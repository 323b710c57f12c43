package pricing

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const goodFile = `schema: harnessbench/prices/v1
date: 2026-01-31
source: the provider's page
models:
  - {model: acme/large, input: 2.50, cache_read: 1.25, cache_write: 0, output: 10}
  - model: acme/*
    input: 0.000001
    cache_read: null
    cache_write: null
    output: 1000000
`

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prices.yaml")
	if err := os.WriteFile(path, []byte(goodFile), 0o644); err != nil {
		t.Fatal(err)
	}
	table, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if table.Date != "2026-01-31" || table.Source != "the provider's page" || table.Fictitious || table.Validate() != nil {
		t.Errorf("%+v", table)
	}
	book := Book{table, Simulated()}
	for _, c := range []struct {
		model string
		usage Usage
		want  float64 // < 0 = unknown
	}{
		{"acme/large", usage(1e6, 1e6, 1e6, 1e6), 13.75},
		{"acme/small", usage(1e6, 0, 0, 0), 0.000001},
		{"acme/small", usage(1e6, 1, 0, 0), -1}, // no price for reading the cache
		{"sim/weak", usage(1e6, 0, 0, 0), 0.25},
		{"other/x", usage(1, 0, 0, 0), -1},
		{"acme/large", Usage{}, -1},
	} {
		got := book.Cost(c.model, c.usage)
		if (got == nil) != (c.want < 0) || got != nil && *got != c.want {
			t.Errorf("%s: cost %v, want %v", c.model, got, c.want)
		}
	}
	large, from, ok := book.Lookup("acme/large")
	small, _, _ := book.Lookup("acme/small")
	if !ok || from != table || !large.Complete() || small.Complete() {
		t.Errorf("large %+v from %v, small %+v", large, from, small)
	}
	for _, bad := range []string{filepath.Dir(path), path + "x"} {
		if _, err := Load(bad); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"v1", "v9", `schema is "harnessbench/prices/v9"`},
		{"2026-01-31", "yesterday", `p.yaml:1:1: date is "yesterday"`},
		{"2026-01-31", "2026-02-30", "date is"},
		{"source: the provider's page", `source: ""`, "source is empty"},
		{"input: 2.50", "input: -1", "p.yaml:5:32"},
		{"input: 2.50", "input: 1e3", "a price is a number"},
		{"input: 2.50", "input: free", "a price is a number, not a string"},
		{"input: 2.50", "input: 0.0000001", "at most 6 decimals"},
		{"output: 1000000", "output: 1000001", "0 to 1000000 USD"},
		{"input: 2.50, ", "", "input"},
		{"input: 2.50", "inputs: 2.50", "inputs"},
		{"model: acme/*", "model: acme/large", "p.yaml:6:5: model \"acme/large\" is priced twice"},
		{"model: acme/*", "model: acme/*/x", "write provider/name"},
		{"model: acme/*", "model: large", "write provider/name"},
		{"models:", "prices:", "models"},
	} {
		data := strings.Replace(goodFile, c.old, c.new, 1)
		if _, err := Parse("p.yaml", []byte(data)); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "p.yaml") {
			t.Errorf("%q for %q: error %v; want %q", c.new, c.old, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(goodFile))
	f.Add([]byte("schema: x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := Parse("p.yaml", data)
		if err == nil && table.Validate() != nil {
			t.Fatalf("a table that was read is not valid: %v", table.Validate())
		}
	})
}
