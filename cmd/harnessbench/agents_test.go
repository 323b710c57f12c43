package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/harnessbench/harnessbench/loop/tool/builtin"
)

// The agents of testdata/agents tell a model of the file tools in the words of the
// built-in ones.
func TestToolsOfTheAgents(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "testdata", "agents", "tools.json"))
	if err != nil {
		t.Fatal(err)
	}
	var tools []struct {
		Name, Description string
		Schema            json.RawMessage
	}
	if err := json.Unmarshal(b, &tools); err != nil {
		t.Fatal(err)
	}
	if len(tools) == 0 {
		t.Fatal("no tools")
	}
	for _, got := range tools {
		want, ok := builtin.Spec(got.Name)
		if !ok || got.Description != want.Description || string(got.Schema) != want.Schema {
			t.Errorf("%s is described otherwise than the built-in tool:\n%s\n%s\nwant\n%s\n%s", got.Name, got.Description, got.Schema, want.Description, want.Schema)
		}
	}
}
