package corpus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/harnessbench/harnessbench/replayer"
)

// Schema of expected.json.
const Schema = "harnessbench/corpus/v1"

// Entry is one file of the corpus and what a strict replay says of it.
type Entry struct {
	File    string           `json:"file"`   // relative to the corpus, slashes
	SHA256  string           `json:"sha256"` // of its bytes: it is never changed
	About   string           `json:"about"`  // what it is there for, one line
	Verdict replayer.Verdict `json:"verdict"`
	Turns   int              `json:"turns"` // that came out as recorded
	Unused  int              `json:"unused,omitempty"`
	// Reason is a piece of the report's reason, where there is no divergence.
	Reason string `json:"reason,omitempty"`
	// The place of a divergence.
	Turn    int    `json:"turn,omitempty"`
	Stage   string `json:"stage,omitempty"`
	Line    int    `json:"line,omitempty"`
	Pointer string `json:"pointer,omitempty"`
}

// Load reads expected.json of the corpus in dir, in the order of the files. A
// corpus that has none yet is empty.
func Load(dir string) ([]Entry, error) {
	name := filepath.Join(dir, "expected.json")
	b, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var f struct {
		Schema string  `json:"schema"`
		Files  []Entry `json:"files"`
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if f.Schema != Schema {
		return nil, fmt.Errorf("%s: schema is %q, not %q", name, f.Schema, Schema)
	}
	return f.Files, nil
}

// judged is the entry of a report.
func judged(e Entry, r *replayer.Report) Entry {
	e.Verdict, e.Turns, e.Unused = r.Verdict, r.Turns, r.Unused
	e.Reason, e.Turn, e.Stage, e.Line, e.Pointer = "", 0, "", 0, ""
	if d := r.Divergence; d != nil {
		e.Turn, e.Stage, e.Line, e.Pointer = d.Turn, d.Stage, d.Line, d.Pointer
	} else {
		e.Reason = r.Reason
	}
	return e
}
