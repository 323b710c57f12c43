package canon

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
)

// Exchanges recorded from providers: what a client sent is accepted, and a later
// request of a conversation goes on from the earlier one.
func TestRecordedExchanges(t *testing.T) {
	files, _ := filepath.Glob("../../../../shared/data/wire/*.yaml")
	if len(files) == 0 {
		t.Skip("../shared/data/wire is not beside the checkout")
	}
	requests, continued := 0, 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var tape struct {
			Interactions []struct {
				Request struct {
					URI  string         `yaml:"uri"`
					Body map[string]any `yaml:"parsed_body"`
				} `yaml:"request"`
			} `yaml:"interactions"`
		}
		if err := yaml.Unmarshal(raw, &tape); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var before *Request
		for i, x := range tape.Interactions {
			path, _, _ := strings.Cut(x.Request.URI, "?")
			api := dialect.Chat
			switch {
			case strings.HasSuffix(path, "/messages"):
				api = dialect.Messages
			case !strings.HasSuffix(path, "/chat/completions"):
				continue // an API that is not spoken here
			}
			body, err := json.Marshal(x.Request.Body)
			if err != nil {
				t.Fatal(err)
			}
			r, err := Parse(api, body, Options{Redact: withKeys()})
			if err != nil {
				t.Fatalf("%s, request %d: %v", file, i, err)
			}
			consistent(t, r)
			requests++
			if before != nil && len(r.Chains) > len(before.Chains) {
				if !slices.Equal(r.Chains[:len(before.Chains)], before.Chains) || r.Root != before.Root || r.ParamsDigest != before.ParamsDigest {
					t.Errorf("%s, request %d does not go on from the one before:\n%s\n%s", file, i, render(before), render(r))
				}
				continued++
			}
			before = r
		}
	}
	if requests < 6 || continued < 2 {
		t.Errorf("only %d requests, %d of them continue another", requests, continued)
	}
}
