package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/harnessbench/harnessbench/ablations/models"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
)

// machineFile is what may differ between two runs of one suite.
const machineFile = "run.json"

// machineSchema is the value of its schema.
const machineSchema = "harnessbench/run/v1"

// machine is the content of run.json: facts about the machine and the clock, and
// how the run was started. Nothing of it reaches a session or a result.
type machine struct {
	Schema      string      `json:"schema"`
	Tool        versionInfo `json:"tool"`
	CPUs        int         `json:"cpus"`
	Host        string      `json:"host"`
	SuiteFolder string      `json:"suite_folder"`    // to which the lock's sources are relative
	Shard       string      `json:"shard,omitempty"` // i/n
	// ModelsFile is what the run uses of the models file, without any key: where
	// models are reached, and what their accounts take.
	ModelsFile *models.File `json:"models_file,omitempty"`
	Began      time.Time    `json:"began"`
	Ended      *time.Time   `json:"ended"`   // of the last execution; null while it runs
	Seconds    float64      `json:"seconds"` // of all executions
	Executions int          `json:"executions"`
}

// beginMachine writes run.json of a new run.
func beginMachine(dir, suiteFolder, shard string, used *models.File) error {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	if suiteFolder != "" {
		if suiteFolder, err = filepath.Abs(suiteFolder); err != nil {
			return err
		}
	}
	return writeMachine(dir, &machine{Schema: machineSchema, Tool: readVersion(), CPUs: runtime.NumCPU(), Host: host,
		SuiteFolder: suiteFolder, Shard: shard, ModelsFile: used, Began: time.Now().UTC()})
}

// endMachine notes the end of an execution that began at the given time.
func endMachine(dir string, began time.Time) error {
	m, err := readMachine(dir)
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	m.Ended = &now
	m.Seconds += time.Since(began).Seconds()
	m.Executions++
	return writeMachine(dir, m)
}

func readMachine(dir string) (*machine, error) {
	path := filepath.Join(dir, machineFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s is no run folder: it has no %s", dir, machineFile)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is no run folder: %w", dir, err)
	}
	var m machine
	if err := json.Unmarshal(data, &m); err != nil || m.Schema != machineSchema {
		return nil, fmt.Errorf("%s: this is no %s (%v)", path, machineSchema, err)
	}
	return &m, nil
}

// writeMachine replaces run.json.
func writeMachine(dir string, m *machine) error {
	var b bytes.Buffer
	if err := cli.WriteJSON(&b, m); err != nil {
		return err
	}
	path := filepath.Join(dir, machineFile)
	if err := os.WriteFile(path+".new", b.Bytes(), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
