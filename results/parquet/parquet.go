package parquet

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/harnessbench/harnessbench/results"
)

// File names inside a run's parquet folder.
const (
	TrialsFile      = "trials.parquet"
	VerdictsFile    = "verdicts.parquet"
	GuardEventsFile = "guard_events.parquet"
)

// Keys of the key-value metadata, and the version of the tables.
const (
	KeySchema     = "harnessbench.schema" // "trials/1": table and version
	KeyRunID      = "harnessbench.run_id"
	SchemaVersion = "1"
)

// Tables, as the schema key names them.
const (
	tableTrials      = "trials"
	tableVerdicts    = "verdicts"
	tableGuardEvents = "guard_events"
)

// rowGroup is the number of rows a row group holds: readers skip and
// parallelise by row group, and a writer keeps one in memory.
const rowGroup = 128 << 10

// pageSize is the number of bytes a column collects before it compresses a
// page: small enough that all columns' pages stay in the processor's cache.
const pageSize = 64 << 10

// WriteTrials writes trials.parquet to path. The rows should be in canonical
// order ([results.SortTrials]); all must be of the run.
func WriteTrials(path, runID string, rows []results.Trial) error {
	for i := range rows {
		if rows[i].RunID != runID {
			return fmt.Errorf("write %s: row %d is of run %q, not %q", path, i, rows[i].RunID, runID)
		}
	}
	return writeFile(path, tableTrials, runID, rows)
}

// WriteVerdicts writes verdicts.parquet to path; otherwise as [WriteTrials].
func WriteVerdicts(path, runID string, rows []results.Verdict) error {
	for i := range rows {
		if rows[i].RunID != runID {
			return fmt.Errorf("write %s: row %d is of run %q, not %q", path, i, rows[i].RunID, runID)
		}
	}
	return writeFile(path, tableVerdicts, runID, rows)
}

// WriteGuardEvents writes guard_events.parquet to path; otherwise as
// [WriteTrials].
func WriteGuardEvents(path, runID string, rows []results.GuardEvent) error {
	for i := range rows {
		if rows[i].RunID != runID {
			return fmt.Errorf("write %s: row %d is of run %q, not %q", path, i, rows[i].RunID, runID)
		}
	}
	return writeFile(path, tableGuardEvents, runID, rows)
}

// ReadTrials reads trials.parquet and the run id in its metadata.
func ReadTrials(path string) (rows []results.Trial, runID string, err error) {
	if rows, runID, err = readFile[results.Trial](path, tableTrials); err != nil {
		return nil, "", err
	}
	for i := range rows {
		rows[i].Normalize() // null lists as empty ones, times in UTC
	}
	return rows, runID, nil
}

// ReadVerdicts reads verdicts.parquet and the run id in its metadata.
func ReadVerdicts(path string) (rows []results.Verdict, runID string, err error) {
	return readFile[results.Verdict](path, tableVerdicts)
}

// ReadGuardEvents reads guard_events.parquet and the run id in its metadata.
func ReadGuardEvents(path string) (rows []results.GuardEvent, runID string, err error) {
	return readFile[results.GuardEvent](path, tableGuardEvents)
}

// writeFile writes rows under a temporary name and renames it.
func writeFile[T any](path, table, runID string, rows []T) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	buf := bufio.NewWriterSize(f, 1<<20)
	if err = encode(buf, table, runID, rows); err == nil {
		err = buf.Flush()
	}
	if err == nil {
		err = errors.Join(f.Chmod(0o644), f.Sync())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// encode writes rows to w as one table.
func encode[T any](w io.Writer, table, runID string, rows []T) error {
	pw := pq.NewGenericWriter[T](w,
		pq.Compression(&zstd.Codec{Level: zstd.SpeedFastest}),
		pq.CreatedBy("harnessbench", SchemaVersion, ""), // not the build: equal rows, equal bytes
		pq.MaxRowsPerRowGroup(rowGroup),
		pq.KeyValueMetadata(KeySchema, table+"/"+SchemaVersion),
		pq.KeyValueMetadata(KeyRunID, runID),
		pq.PageBufferSize(pageSize),
	)
	const batch = 256 // a batch of wide rows stays in the processor's cache
	for len(rows) > 0 {
		n := min(batch, len(rows))
		if _, err := pw.Write(rows[:n]); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return pw.Close()
}

// readFile reads a whole table.
func readFile[T any](path, table string) (rows []T, runID string, err error) {
	// A foreign or damaged file may drive the library out of its bounds; that
	// is an error about the file, never a crash of the program.
	defer func() {
		if r := recover(); r != nil {
			rows, runID, err = nil, "", fmt.Errorf("read %s: damaged Parquet file (%v); write it again from the run's journal", path, r)
		}
	}()
	f, err := os.Open(path)
	if err != nil {
		return nil, "", fmt.Errorf("read table: %w", err)
	}
	defer func() { _ = f.Close() }() // read only: nothing to lose
	st, err := f.Stat()
	if err != nil {
		return nil, "", fmt.Errorf("read table: %w", err)
	}
	pf, err := pq.OpenFile(f, st.Size(), pq.SkipBloomFilters(true))
	if err != nil {
		return nil, "", fmt.Errorf("read %s: not a Parquet file: %w", path, err)
	}
	if err := checkTable[T](pf, table); err != nil {
		return nil, "", fmt.Errorf("read %s: %w", path, err)
	}
	runID, _ = pf.Lookup(KeyRunID)
	r := pq.NewGenericReader[T](pf)
	rows = make([]T, 0, min(max(pf.NumRows(), 0), 4096)) // the footer may lie
	batch := make([]T, 1024)
	for {
		n, err := r.Read(batch)
		rows = append(rows, batch[:n]...)
		clear(batch) // rows share nothing with the next read
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, "", fmt.Errorf("read %s: after row %d: %w", path, len(rows), err)
		}
	}
	if int64(len(rows)) != pf.NumRows() {
		return nil, "", fmt.Errorf("read %s: has %d rows; its footer says %d", path, len(rows), pf.NumRows())
	}
	return rows, runID, r.Close()
}

// checkTable says whether the file is the wanted table with the columns that
// this version knows.
func checkTable[T any](pf *pq.File, table string) error {
	got, ok := pf.Lookup(KeySchema)
	if !ok {
		return fmt.Errorf("no table of harnessbench: the metadata lacks %q", KeySchema)
	}
	if want := table + "/" + SchemaVersion; got != want {
		return fmt.Errorf("is the table %q; want %q", got, want)
	}
	want := pq.SchemaOf(new(T))
	for _, path := range want.Columns() {
		w, _ := want.Lookup(path...)
		have, ok := pf.Schema().Lookup(path...)
		if !ok {
			return fmt.Errorf("column %v is missing", path)
		}
		if w.Node.Type().Kind() != have.Node.Type().Kind() {
			return fmt.Errorf("column %v is %v; want %v", path, have.Node.Type(), w.Node.Type())
		}
	}
	return nil
}
