package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLaterBehaviour builds the program as a later version might be (build tag
// behaviour_next) and replays a run of this one. Sessions under behaviours that it
// still has come out as recorded, also those of a guard that behaves otherwise
// today; the others cannot be judged, and the verdict says by which guard.
func TestLaterBehaviour(t *testing.T) {
	dir := t.TempDir()
	var out, errs bytes.Buffer
	for arm, guards := range map[string]string{"all": "{}", "without": "{empty_response: off}"} {
		suite := filepath.Join(dir, arm+".yaml")
		text := fmt.Sprintf(laterSuite, arm, guards)
		if err := os.WriteFile(suite, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if code := run(context.Background(), &out, &errs, []string{"run", "-q", "-o", filepath.Join(dir, arm), "--fsync", "never", suite}); code != 0 {
			t.Fatalf("run: exit %d: %s", code, errs.String())
		}
	}
	later := filepath.Join(dir, "later.exe")
	if b, err := exec.Command("go", "build", "-tags", "behaviour_next", "-o", later, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, b)
	}
	cmd := exec.Command(later, "replay", "-q", "--json", dir)
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 3 {
		t.Fatalf("%v, want exit 3", err)
	}
	var got replayJSON
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	const reason = "guard empty_response: recorded under behaviour version 1, this version has 2"
	replayed := 0
	for _, r := range got.Sessions {
		name := filepath.Base(r.Path)
		switch {
		case strings.Contains(name, ".without."):
			if r.Verdict != "EXACT" {
				t.Errorf("%s: %s %s", name, r.Verdict, r.Reason)
			}
			replayed++
		case r.Verdict != "OLD_BEHAVIOUR" || !strings.HasSuffix(r.Reason, reason):
			t.Errorf("%s: %s %s", name, r.Verdict, r.Reason)
		}
	}
	if replayed == 0 || replayed == len(got.Sessions) {
		t.Errorf("%d of %d sessions were replayed: the test needs some of each", replayed, len(got.Sessions))
	}
}

const laterSuite = `schema: harnessbench/suite/v1
name: one-arm
scenarios: [builtin/*]
models: [sim/weak]
arms: [{name: %s, guards: %s}]
repetitions: 1
`
