package design

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

// The schema in docs is the one that the types make.
func TestJSONSchemaGolden(t *testing.T) {
	s, err := JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("..", "..", "docs", "suite.schema.json"), s)
}

// validator compiles the schema and validates suite files with it.
func validator(t *testing.T) func(file string, data []byte) error {
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
	if err := c.AddResource("suite.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("suite.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return func(file string, data []byte) error {
		n, err := strictyaml.Parse(file, data)
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

// Every suite that ships, and those of the tests, are valid.
func TestJSONSchemaTakesSuites(t *testing.T) {
	valid := validator(t)
	files := map[string][]byte{"full": []byte(full), "head": []byte(head)}
	for _, pattern := range []string{"suites/*.yaml", "../../examples/*.yaml", "../../examples/*/suite*.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files[path] = data
		}
	}
	if len(files) < 4 {
		t.Errorf("only %d suites were found", len(files))
	}
	for name, data := range files {
		if err := valid(name, data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What an editor should underline is underlined, and ParseSuite refuses it too.
func TestJSONSchemaRefuses(t *testing.T) {
	valid := validator(t)
	for _, text := range []string{
		"schema: harnessbench/suite/v1\nname: a\nmodels: [sim/weak]\n",
		head + "scenarois: [a]\n",
		head + "repetitions: 0\n",
		head + "repetitions: 1.5\n",
		head + "coupling: loose\n",
		head + "limits: {turns: 0}\n",
		head + "limits: {wall: 10}\n",
		head + "limits: {wall: soon}\n",
		head + "budgets: {usd: 0}\n",
		head + "budgets: {usd: 2000000}\n",
		head + "errors: {allow: 2}\n",
		head + "design: half\n",
		head + "design: {base: default}\n",
		head + "comparisons: [{a: none}]\n",
		head + "comparisons: [{a: none, b: default, margin: 2}]\n",
		head + "gates: [{arm: none, metric: speed, min: 1}]\n",
		strings.Replace(head, "{name: default}", "{name: default, guards: {stuk: off}}", 1),
		strings.Replace(head, "{name: default}", "{name: default, guards: {stuck: on}}", 1),
		strings.Replace(head, "{name: default}", "{name: default, guards: {stuck: {abort: 1}}}", 1),
		strings.Replace(head, "{name: default}", "{name: default, guards: {stuck: {abrt: 7}}}", 1),
		strings.Replace(head, "{name: default}", "{name: default, prompt: {}}", 1),
		strings.Replace(head, "{name: default}", "{name: default, prompt: {text: a, file: b}}", 1),
		strings.Replace(head, "{name: default}", "{profile: default}", 1),
		head + "design: one-at-a-time\nfactors: [{guard: stuck, levels: [off, enforce]}]\n",
		head + "design: one-at-a-time\nfactors: [{name: p, prompts: {a: {text: x}, b.c: {text: y}}}]\n",
	} {
		if err := valid("s", []byte(text)); err == nil {
			t.Errorf("the schema takes:\n%s", text)
		}
		if _, err := ParseSuite("s", []byte(text)); err == nil {
			t.Errorf("ParseSuite takes:\n%s", text)
		}
	}
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// The suites of docs/suites.md parse, plan and validate, and show every key of
// the schema.
func TestSuitesDoc(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "suites.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	writeScenario(t, filepath.Join(dir, "tasks", "notes", "note"), "Write hello into note.txt.")
	scenario := filepath.Join(dir, "tasks", "notes", "note", "scenario.yaml")
	data, err := os.ReadFile(scenario)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(scenario, append(data, "tags: [note]\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	// what lies in a scenario is no scenario, whatever it is called
	if err := os.Mkdir(filepath.Join(dir, "tasks", "notes", "note", "workspace"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tasks", "notes", "note", "workspace", "x.txtar"), []byte("-- a --\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "prompts"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "prompts", "brief.md"), []byte("Be brief.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	valid := validator(t)
	shown := map[string]bool{}
	want := []int{0, 24, 3, 6, 2} // arms; 0 = not held
	blocks := yamlBlock.FindAllSubmatch(doc, -1)
	if len(blocks) != len(want) {
		t.Fatalf("%d suites", len(blocks))
	}
	for i, b := range blocks {
		path := filepath.Join(dir, "suite.yaml")
		if err := os.WriteFile(path, b[1], 0o644); err != nil {
			t.Fatal(err)
		}
		s, list, err := OpenSuite(path)
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewPlan(s, list)
		if err != nil {
			t.Fatal(err)
		}
		if want[i] > 0 && len(p.Arms) != want[i] {
			t.Errorf("%s: %d arms", s.Name, len(p.Arms))
		}
		if err := valid(path, b[1]); err != nil {
			t.Error(err)
		}
		collectKeys(s.node, shown)
	}
	s, err := JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^ +"(\w+)": \{\n +"(description|enum|items|type|\$ref|minimum|oneOf)"`).FindAllSubmatch(s, -1) {
		key := string(m[1])
		switch key {
		case "items", "text", "properties", "additionalProperties", "propertyNames":
			continue
		}
		if guardKey(key) || shown[key] {
			continue
		}
		t.Errorf("docs/suites.md does not show the key %q", key)
	}
}

// collectKeys gathers every key of a document.
func collectKeys(n *strictyaml.Node, into map[string]bool) {
	for _, k := range n.Keys {
		into[k.Value] = true
	}
	for _, it := range n.Items {
		collectKeys(it, into)
	}
}

// guardKey reports whether a key is a guard or a parameter, which harnessbench
// guards lists.
func guardKey(key string) bool {
	raw, _ := schemaOfGuards()["properties"].(object)
	for name, g := range raw {
		params, _ := g.(object)["oneOf"].([]object)[1]["properties"].(object)
		if _, ok := params[key]; ok || name == key || key == "mode" {
			return true
		}
	}
	return false
}
