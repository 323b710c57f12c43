package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The example module uses exported API only, and its recorded sessions replay.
func TestExampleModule(t *testing.T) {
	dir := filepath.Join("..", "..", "examples", "go-loop")
	cmd := exec.Command("go", "test", "-count=1", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off", "GOPROXY=off")
	out, err := cmd.CombinedOutput()
	if err == nil {
		return
	}
	for _, missing := range []string{"module lookup disabled by GOPROXY=off", "executable file not found"} {
		if strings.Contains(string(out)+err.Error(), missing) {
			t.Skipf("the modules of examples/go-loop are not in the module cache, run examples/check.sh: %.300s", out)
		}
	}
	t.Errorf("examples/go-loop: %v\n%s", err, out)
}
