package parquet

import (
	"github.com/harnessbench/harnessbench/results"
)

// File names inside a run's parquet folder.
const (
	TrialsFile      = "trials.parquet"
	TurnsFile       = "turns.parquet"
	ModelCallsFile  = "model_calls.parquet"
	ToolCallsFile   = "tool_calls.parquet"
	GuardEventsFile = "guard_events.parquet"
	VerdictsFile    = "verdicts.parquet"
)

// Files lists the file names of all tables.
var Files = []string{TrialsFile, TurnsFile, ModelCallsFile, ToolCallsFile, GuardEventsFile, VerdictsFile}

// Keys of the key-value metadata, and the version of the tables. Nothing else
// is in it: not the build, not the date. Equal rows give equal bytes.
const (
	KeySchema     = "harnessbench.schema" // "trials/1": table and version
	KeyRunID      = "harnessbench.run_id"
	SchemaVersion = "1"
)

// Row is a type that has a table.
type Row interface {
	results.Trial | results.Turn | results.ModelCall | results.ToolCall | results.GuardEvent | results.Verdict
}

// tableOf names the table of a row type, as the schema key has it.
func tableOf[T Row]() string {
	switch any(*new(T)).(type) {
	case results.Trial:
		return "trials"
	case results.Turn:
		return "turns"
	case results.ModelCall:
		return "model_calls"
	case results.ToolCall:
		return "tool_calls"
	case results.GuardEvent:
		return "guard_events"
	}
	return "verdicts"
}

// rowGroup is the number of rows a row group holds: readers skip and
// parallelise by row group, and a writer keeps one in memory.
const rowGroup = 128 << 10

// pageSize is the number of bytes a column collects before it compresses a
// page: measured, smaller ones cost time for their frames, larger ones fall out
// of the processor's cache.
const pageSize = 256 << 10

// WriteTrials writes trials.parquet to path; see [Write].
func WriteTrials(path, runID string, rows []results.Trial) error { return Write(path, runID, rows) }

// WriteVerdicts writes verdicts.parquet to path; see [Write].
func WriteVerdicts(path, runID string, rows []results.Verdict) error {
	return Write(path, runID, rows)
}

// WriteGuardEvents writes guard_events.parquet to path; see [Write].
func WriteGuardEvents(path, runID string, rows []results.GuardEvent) error {
	return Write(path, runID, rows)
}

// ReadTrials reads trials.parquet and the run id in its metadata.
func ReadTrials(path string) (rows []results.Trial, runID string, err error) {
	return Read[results.Trial](path)
}

// ReadVerdicts reads verdicts.parquet and the run id in its metadata.
func ReadVerdicts(path string) (rows []results.Verdict, runID string, err error) {
	return Read[results.Verdict](path)
}

// ReadGuardEvents reads guard_events.parquet and the run id in its metadata.
func ReadGuardEvents(path string) (rows []results.GuardEvent, runID string, err error) {
	return Read[results.GuardEvent](path)
}
