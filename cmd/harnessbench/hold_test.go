package main

import (
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
)

// One run folder, one process.
func TestHold(t *testing.T) {
	dir := t.TempDir()
	release, err := hold(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hold(dir); cli.CodeOf(err) != cli.Wrong || !strings.Contains(err.Error(), "another process is at work") {
		t.Errorf("held twice: %v", err)
	}
	release()
	again, err := hold(dir)
	if err != nil {
		t.Fatal(err)
	}
	again()
}
