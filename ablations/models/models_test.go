package models

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/harnessbench/harnessbench/results/pricing"
	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

var update = flag.Bool("update", false, "rewrite golden files")

// full uses every key.
const full = `schema: harnessbench/models/v1
date: 2026-01-31
source: the provider's price list
providers:
  - id: openai
    api: openai
    base_url: https://api.openai.com/v1/
    key_env: OPENAI_API_KEY
    headers: {X-Team: bench, X-Api-Key: "${TEAM_KEY}"}
    limits: {concurrency: 8, rpm: 500, tpm: 200000}
    timeouts: {connect: 10s, first_byte: 120s, idle: 60s, whole: 10m}
  - id: local
    base_url: http://127.0.0.1:11434/v1
    any_model: true
models:
  - id: openai/small
    name: small-2026-01
    context_window: 128000
    params:
      max_tokens: 4096
      max_tokens_field: max_completion_tokens
      temperature: 0
      top_p: 0.9
      seed: true
      reasoning_effort: low
      response_format: {type: json_object}
      extra: {service_tier: flex, n_probs: 1.50}
    stream: true
    trace: true
    prices: {input: 0.15, cache_read: 0.075, cache_write: 0, output: null}
  - id: local/org/name:7b
`

func mustParse(t *testing.T, text string) *File {
	t.Helper()
	f, err := Parse("m.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func micro(n pricing.Micro) *pricing.Micro { return &n }

func TestParse(t *testing.T) {
	f := mustParse(t, full)
	s := Duration(time.Second)
	openai := Provider{ID: "openai", API: "openai", BaseURL: "https://api.openai.com/v1", KeyEnv: "OPENAI_API_KEY",
		Headers: map[string]string{"X-Team": "bench", "X-Api-Key": "${TEAM_KEY}"}, Limits: Limits{8, 500, 200000}, Timeouts: Timeouts{10 * s, 120 * s, 60 * s, 600 * s}}
	small := Model{ID: "openai/small", Name: "small-2026-01", ContextWindow: 128000, Stream: true, Trace: true,
		Params: Params{MaxTokens: 4096, MaxTokensField: "max_completion_tokens", Temperature: new(0.0), TopP: new(0.9), Seed: true, ReasoningEffort: "low",
			ResponseFormat: json.RawMessage(`{"type":"json_object"}`), Extra: json.RawMessage(`{"n_probs":1.50,"service_tier":"flex"}`)},
		Prices: &Prices{micro(150000), micro(75000), micro(0), nil}}
	local := Provider{ID: "local", API: "openai", BaseURL: "http://127.0.0.1:11434/v1", AnyModel: true}
	for id, want := range map[string]Entry{
		"openai/small":      {small, openai},
		"local/org/name:7b": {Model{ID: "local/org/name:7b", Name: "org/name:7b"}, local},
		"local/other":       {Model{ID: "local/other", Name: "other"}, local},
	} {
		got, err := f.Find(id)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", id, err, diff)
		}
	}
	for id, want := range map[string]string{
		"openai/big": "is not in the models file; it has openai/small",
		"other/x":    `no provider "other"; it has openai/small, local/org/name:7b`,
		"small":      "write provider/name",
		"local/a\nb": "write provider/name",
	} {
		if _, err := f.Find(id); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", id, err)
		}
	}
	table := f.Prices()
	if p, ok := table.Lookup("openai/small"); table.Validate() != nil || len(table.Prices) != 1 || !ok || *p.CacheRead != 75000 || p.Output != nil || table.Date != "2026-01-31" {
		t.Errorf("%+v", table)
	}
}

func TestRequest(t *testing.T) {
	f := mustParse(t, full)
	small, _ := f.Lookup("openai/small")
	other, _ := f.Lookup("local/other")
	for _, c := range []struct{ limit, want int }{{0, 4096}, {100, 100}, {5000, 4096}} {
		p := small.Request(c.limit, 1<<63|1<<31|7)
		if p.Model != "openai/small" || p.MaxTokens != c.want || *p.Temperature != 0 || *p.TopP != 0.9 || *p.Seed != 7 {
			t.Errorf("limit %d: %s", c.limit, p.AppendJSON(nil))
		}
	}
	if p := other.Request(9, 7); string(p.AppendJSON(nil)) != `{"max_tokens":9,"model":"local/other"}` {
		t.Errorf("%s", p.AppendJSON(nil))
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"models/v1", "models/v9", `m.yaml:1:9: schema is "harnessbench/models/v9"; write harnessbench/models/v1`},
		{"date: 2026-01-31", "date: 2026-02-30", "m.yaml:2:7: date is"},
		{"date: 2026-01-31\n", "", "m.yaml:29:13: there are prices, and not the day"},
		{"source: the provider's price list\n", "", "not where they were read"},
		{"id: local", "id: sim", "the models of sim need no entry"},
		{"id: local", "id: Local", `m.yaml:12:9: "Local" is no name of a provider`},
		{"id: local\n", "id: openai\n", "m.yaml:12:9: the provider openai is listed twice"},
		{"api: openai", "api: carrier-pigeon", `m.yaml:6:10: api is "carrier-pigeon"; use openai`},
		{"base_url: https://api.openai.com/v1/", "base_url: api.openai.com", "m.yaml:7:15: base_url is no http or https URL"},
		{"https://api.openai.com/v1/", "https://user:pw@api.openai.com/v1/", "holds a user or password"},
		{"https://api.openai.com/v1/", "https://api.openai.com/v1?key=x", "has a query that can carry a secret"},
		{"https://api.openai.com/v1/", "https://api.openai.com/v1?a=0123456789abcdefghij", "has a query that can carry a secret"},
		{"https://api.openai.com/v1/", "https://api.openai.com/v1#x", "has a fragment"},
		{"https://api.openai.com/v1/", "https://api.openai.com/v1/chat/completions", "ends in /chat/completions"},
		{"    base_url: https://api.openai.com/v1/\n", "", `the key "base_url" is missing`},
		{"key_env:", "api_key:", `m.yaml:8:5: unknown key "api_key"`},
		{"X-Team: bench", "Host: bench", "m.yaml:9:15: the header Host is set by the program"},
		{"X-Team: bench", "Authorization: '${A}'", "leave out one of the two"},
		{"X-Team: bench", "X Team: bench", "no name of a header"},
		{"X-Team: bench", "X-Team: 1", "put it in quotes"},
		{"X-Team: bench", "X-Team: \"a\\nb\"", "cannot stand in a header"},
		{"${TEAM_KEY}", "${TEAM KEY}", "a ${ without a name"},
		{"concurrency: 8", "concurrency: 0", "m.yaml:10:27: concurrency is 0; use 1 to 100000"},
		{"tpm: 200000", "tpm: 2e5", "whole number"},
		{"connect: 10s", "connect: 10", "m.yaml:11:25: this must be a duration"},
		{"connect: 10s", "connect: -1s", "this must be a duration"},
		{"connect: 10s", "connect: 25h", "at most 24h"},
		{"id: openai/small", "id: small", `m.yaml:16:9: "small" names no model`},
		{"id: openai/small", "id: sim/weak", "the models of sim need no entry"},
		{"id: openai/small", "id: other/small", "m.yaml:16:9: the provider other of model other/small is not listed"},
		{"id: local/org/name:7b", "id: openai/small", "the model openai/small is listed twice"},
		{"id: local/org/name:7b", "name: x", `the key "id" is missing`},
		{"name: small-2026-01", "name: 'a b'", "is no name of a model"},
		{"context_window: 128000", "context_window: -1", "use 1 to 1000000000"},
		{"max_tokens_field: max_completion_tokens", "max_tokens_field: tokens", "use max_tokens or max_completion_tokens"},
		{"temperature: 0", "temperature: 2.5", "m.yaml:22:20: temperature is 2.5; use 0 to 2"},
		{"top_p: 0.9", "top_p: 0", "top_p is 0"},
		{"reasoning_effort: low", "reasoning_effort: very low", "no reasoning effort"},
		{"{type: json_object}", "json_object", "response_format has no type json_object or json_schema"},
		{"{type: json_object}", "{type: text}", "response_format has no type json_object or json_schema"},
		{"{type: json_object}", "{type: json_object, strict: true}", `unknown key "strict"`},
		{"{type: json_object}", "{type: json_schema, json_schema: {name: a}}", `the key "schema" is missing`},
		{"{type: json_object}", "{type: json_schema}", `the key "json_schema" is missing`},
		{"service_tier: flex", "messages: []", `m.yaml:27:15: extra cannot set "messages"`},
		{"{service_tier: flex, n_probs: 1.50}", "[a]", "extra is no mapping"},
		{"output: null", "output: free", "a price is a number, not a string"},
		{", output: null", "", `the key "output" is missing`},
		{"input: 0.15", "input: 0.1234567", "at most 6 decimals"},
		{"- id: local/org/name:7b", "- local/org/name:7b", "write its keys, beginning with id"},
		{"providers:", "provider:", `m.yaml`},
		{"stream: true", "stream: yes", "true or false"},
	} {
		if !strings.Contains(full, c.old) {
			t.Fatalf("%q is not in the file", c.old)
		}
		_, err := Parse("m.yaml", []byte(strings.Replace(full, c.old, c.new, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: error %v; want %q", c.new, c.old, err, c.want)
			continue
		}
		var e *strictyaml.Error
		if !errors.As(err, &e) || e.Fix == "" || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q for %q: no place or no remedy: %v", c.new, c.old, err)
		}
	}
	for _, empty := range []string{"", "# nothing\n", "schema: harnessbench/models/v1\nproviders: []\n"} {
		if _, err := Parse("m.yaml", []byte(empty)); err == nil {
			t.Errorf("%q: no error", empty)
		}
	}
}

// A key is refused wherever it stands, and no error repeats it.
func TestParseRefusesKeys(t *testing.T) {
	const opaque = "9f86d081884c7d659a2feaa0c55ad015" // no known shape
	for _, key := range []string{"sk-proj-abcdefghijklmnop", "sk-ant-api03-abcdefghijkl", "gsk_abcdefghijklmnopqrst", "AIzaSyabcdefghijklmnopqrst", "hf_abcdefghijklmnopqrst",
		"ghp_abcdefghijklmnopqrst", "xoxb-1234567890-abc", "AKIAABCDEFGHIJKLMNOP", "eyJhbGciOiJI.eyJzdWIiOiIx", "Bearer abcdefghij"} {
		for _, place := range []string{"key_env: OPENAI_API_KEY", "bench", "name: small-2026-01", "source: the provider's price list", "flex", "id: local\n"} {
			word, _, _ := strings.Cut(place, ":")
			text := strings.Replace(full, place, word+": '"+key+"'\n", 1)
			if word == place {
				text = strings.Replace(full, place, "'"+key+"'", 1)
			}
			_, err := Parse("m.yaml", []byte(text))
			if err == nil || strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "looks like an API key") {
				t.Errorf("%s as %s: %v", key, place, err)
			}
		}
	}
	for _, c := range []struct{ old, new string }{
		{"OPENAI_API_KEY", opaque},
		{"OPENAI_API_KEY", "a" + opaque},
		{"OPENAI_API_KEY", "my key " + opaque},
		{"${TEAM_KEY}", opaque},
		{"${TEAM_KEY}", "short-secret"},
		{"X-Team: bench", "X-Team: " + opaque},
		{"X-Team: bench", "Cookie: s=" + opaque},
	} {
		_, err := Parse("m.yaml", []byte(strings.Replace(full, c.old, c.new, 1)))
		if err == nil || strings.Contains(err.Error(), c.new) || !strings.Contains(err.Error(), "into this file") {
			t.Errorf("%s: %v", c.new, err)
		}
	}
	for _, fine := range []string{"${A}", "Bearer ${A}", "token ${A}", "Basic ${A_1}"} {
		mustParse(t, strings.Replace(full, "${TEAM_KEY}", fine, 1))
	}
}

func TestExpand(t *testing.T) {
	env := map[string]string{"A": "1", "B_2": "${A}"}
	get := func(k string) string { return env[k] }
	for in, want := range map[string]string{"x": "x", "${A}": "1", "Bearer ${A}-${B_2}": "Bearer 1-${A}", "$A ${": "$A ${"} {
		if got, missing := Expand(in, get); got != want || missing != nil {
			t.Errorf("%s: %q, %v", in, got, missing)
		}
	}
	if _, missing := Expand("${X} ${A} ${Y}", get); !cmp.Equal(missing, []string{"X", "Y"}) {
		t.Errorf("missing %v", missing)
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m.yaml")
	if err := os.WriteFile(path, []byte(full), 0o644); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	get := func(k string) string { return env[k] }
	f, err := Open("", get)
	if err != nil {
		t.Fatal(err)
	}
	e, ok := f.Lookup("openai/anything")
	if !ok || e.Name != "anything" || e.Provider.BaseURL != "https://api.openai.com/v1" || e.Provider.KeyEnv != "OPENAI_API_KEY" || e.Prices != nil {
		t.Errorf("%+v", e)
	}
	if _, ok := f.Lookup("other/x"); ok {
		t.Error("a provider that nobody named")
	}
	env["OPENAI_BASE_URL"] = "http://127.0.0.1:1234/v1/"
	if f, err = Open("", get); err != nil || f.Providers[0].BaseURL != "http://127.0.0.1:1234/v1" {
		t.Errorf("%+v, %v", f, err)
	}
	if f.Providers[0].KeyEnv != "" {
		t.Error("an endpoint of one's own needs a key although there is none")
	}
	env["OPENAI_API_KEY"] = "k"
	if f, err = Open("", get); err != nil || f.Providers[0].KeyEnv != "OPENAI_API_KEY" {
		t.Errorf("%+v, %v", f, err)
	}
	env["OPENAI_BASE_URL"] = "https://user:sk-abcdefghijklmnop@host/v1"
	if _, err = Open("", get); err == nil || strings.Contains(err.Error(), "sk-") || !strings.Contains(err.Error(), "OPENAI_BASE_URL holds a user") {
		t.Errorf("%v", err)
	}
	env[EnvFile] = path
	if f, err = Open("", get); err != nil || len(f.Models) != 2 {
		t.Errorf("%v, %v", f, err)
	}
	if f, err = Open(path, func(string) string { return "" }); err != nil || len(f.Models) != 2 {
		t.Errorf("%v, %v", f, err)
	}
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, bytes.Repeat([]byte("#"), maxFile+1), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{dir, path + "x", large} {
		if _, err := Load(bad); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}

// What a run keeps is what it used, and is itself a models file.
func TestRoundTrip(t *testing.T) {
	plain, err := Default(func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*File{mustParse(t, full), plain} {
		b, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		var again File
		if err := json.Unmarshal(b, &again); err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
		if diff := cmp.Diff(f, &again); diff != "" {
			t.Error(diff)
		}
	}
}

func TestJSONSchemaGolden(t *testing.T) {
	got, err := JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "..", "docs", "models.schema.json")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (run the test with -update when this is meant):\n%s", path, diff)
	}
}

// validator validates a models file with the schema.
func validator(t *testing.T) func(text string) error {
	t.Helper()
	s, err := JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(s))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("models.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("models.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return func(text string) error {
		n, err := strictyaml.Parse("m.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := n.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		return compiled.Validate(v)
	}
}

func TestJSONSchema(t *testing.T) {
	valid := validator(t)
	if err := valid(full); err != nil {
		t.Error(err)
	}
	for _, c := range []struct{ old, new string }{
		{"schema: harnessbench/models/v1\n", ""},
		{"models/v1", "models/v2"},
		{"api: openai", "api: other"},
		{"key_env:", "key:"},
		{"concurrency: 8", "concurrency: 0"},
		{"connect: 10s", "connect: 10"},
		{"temperature: 0", "temperature: 3"},
		{", output: null", ""},
		{"output: null", "output: -1"},
		{"{type: json_object}", "json_object"},
		{"stream: true", "stream: on"},
	} {
		text := strings.Replace(full, c.old, c.new, 1)
		if err := valid(text); err == nil {
			t.Errorf("the schema takes %q for %q", c.new, c.old)
		}
		if _, err := Parse("m.yaml", []byte(text)); err == nil {
			t.Errorf("Parse takes %q for %q", c.new, c.old)
		}
	}
}

var (
	yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")
	shBlock   = regexp.MustCompile("(?s)```sh\n(.*?)```")
	pinged    = regexp.MustCompile(`models ping (\S+)`)
	key       = regexp.MustCompile(`"(\w+)": \{`)
)

// The models files of docs/models.md are valid, know what the commands above them
// ping, and show every key; each way to a first run takes less than ten lines.
func TestModelsDoc(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "models.md"))
	if err != nil {
		t.Fatal(err)
	}
	valid := validator(t)
	files := 0
	for _, section := range strings.Split(string(doc), "\n## ") {
		title, _, _ := strings.Cut(section, "\n")
		var f *File
		for _, b := range yamlBlock.FindAllStringSubmatch(section, -1) {
			if !strings.Contains(b[1], Schema) {
				continue // the suite
			}
			files++
			if f, err = Parse(title, []byte(b[1])); err != nil {
				t.Fatal(err)
			}
			if err := valid(b[1]); err != nil {
				t.Errorf("%s: %v", title, err)
			}
		}
		lines := 0
		for _, b := range shBlock.FindAllStringSubmatch(section, -1) {
			lines += strings.Count(b[1], "\n")
		}
		if lines >= 10 {
			t.Errorf("%s: %d lines of commands", title, lines)
		}
		for _, m := range pinged.FindAllStringSubmatch(section, -1) {
			if m[1] == "ID`" || f == nil {
				continue
			}
			if _, err := f.Find(m[1]); err != nil {
				t.Errorf("%s: %v", title, err)
			}
		}
	}
	if files != 6 {
		t.Errorf("%d models files", files)
	}
	schema, err := JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range key.FindAllSubmatch(schema, -1) {
		switch k := string(m[1]); k {
		case "properties", "items", "additionalProperties":
		default:
			if !bytes.Contains(doc, []byte(k+":")) {
				t.Errorf("docs/models.md does not show the key %s", k)
			}
		}
	}
}

// Any text gives one error with a place, or a file that goes through JSON and
// comes back equal.
func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte("schema: harnessbench/models/v1\nproviders:\n- {id: a, base_url: 'http://a'}\nmodels:\n- {id: a/b, params: {temperature: 1e-7, extra: {a: 'é\u2028'}}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse("m.yaml", data)
		if err != nil {
			var e *strictyaml.Error
			if !errors.As(err, &e) {
				t.Fatalf("no place: %v", err)
			}
			return
		}
		if err := file.Prices().Validate(); err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		var again File
		if err := json.Unmarshal(b, &again); err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
		if diff := cmp.Diff(file, &again); diff != "" {
			t.Fatal(diff)
		}
	})
}
