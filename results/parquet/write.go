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

// Writer writes one table, row after row, in bounded memory: it keeps one row
// group. The file stands under a temporary name until Close. A Writer is not
// safe for concurrent use.
type Writer[T Row] struct {
	path  string
	runID string
	file  *os.File
	buf   *bufio.Writer
	enc   *encoder[T]
	rows  int64
	err   error // the first failure; nothing is written after it
}

// Create begins the table of T at path, whose folder exists. Either Close or
// Abort ends it.
func Create[T Row](path, runID string) (*Writer[T], error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	w := &Writer[T]{path: path, runID: runID, file: f, buf: bufio.NewWriterSize(f, 256<<10)}
	w.enc = newEncoder[T](w.buf, runID)
	return w, nil
}

// Write appends rows, which should come in canonical order. It is an error when
// one belongs to another run. While it runs, it changes trials ([results.TrialColumns]);
// when it returns, all rows are as they were and may be used again. After an
// error the Writer takes no more.
func (w *Writer[T]) Write(rows ...T) error {
	if w.err != nil {
		return w.err
	}
	for i := range rows {
		if id := runOf(&rows[i]); id != w.runID {
			w.err = fmt.Errorf("write %s: row %d is of run %q, not %q", w.path, w.rows+int64(i), id, w.runID)
			return w.err
		}
	}
	if err := w.enc.write(rows); err != nil {
		w.err = fmt.Errorf("write %s: %w", w.path, err)
		return w.err
	}
	w.rows += int64(len(rows))
	return nil
}

// Close finishes the file, forces it to disk and gives it its name, so that it
// is whole or absent. After an error of Write, or its own, it leaves nothing.
func (w *Writer[T]) Close() error {
	if w.err != nil {
		return errors.Join(w.err, w.Abort())
	}
	w.err = errors.New("write " + w.path + ": closed")
	err := w.enc.close()
	if err == nil {
		err = w.buf.Flush()
	}
	if err == nil {
		err = errors.Join(w.file.Chmod(0o644), w.file.Sync())
	}
	err = errors.Join(err, w.file.Close())
	if err == nil {
		err = os.Rename(w.file.Name(), w.path)
	}
	if err != nil {
		_ = os.Remove(w.file.Name())
		return fmt.Errorf("write %s: %w", w.path, err)
	}
	w.file = nil
	return nil
}

// Abort drops what was written. It does nothing after Close.
func (w *Writer[T]) Abort() error {
	if w == nil || w.file == nil {
		return nil
	}
	f := w.file
	w.file = nil
	if w.err == nil {
		w.err = errors.New("write " + w.path + ": aborted")
	}
	_ = f.Close() // it is removed anyway, and perhaps closed already
	if err := os.Remove(f.Name()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Write writes a whole table to path: zstd, typed by the struct tags of T. The
// rows should be in canonical order; all must be of the run.
func Write[T Row](path, runID string, rows []T) error {
	w, err := Create[T](path, runID)
	if err != nil {
		return err
	}
	_ = w.Write(rows...) // Close returns it
	return w.Close()
}

func runOf[T Row](row *T) string {
	r, _ := any(row).(interface{ Run() string })
	return r.Run()
}

// encoder turns rows into Parquet.
type encoder[T Row] struct {
	w       *pq.GenericWriter[T]
	columns results.TrialColumns
}

func newEncoder[T Row](w io.Writer, runID string) *encoder[T] {
	return &encoder[T]{w: pq.NewGenericWriter[T](w, options(tableOf[T](), runID)...)}
}

// batchRows is the number of rows that go to the library at a time: a batch of
// wide rows stays in the processor's cache.
const batchRows = 256

func (e *encoder[T]) write(rows []T) error {
	for len(rows) > 0 {
		n := min(batchRows, len(rows))
		trials, _ := any(rows[:n]).([]results.Trial)
		e.columns.Fill(trials)
		_, err := e.w.Write(rows[:n])
		e.columns.Empty(trials)
		if err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

func (e *encoder[T]) close() error { return e.w.Close() }

// unbounded are the columns of texts, digests and words of a short list, of which
// nobody asks for a range: pages of them carry no least and greatest value.
// Scenario, model and arm have them: rows are sorted by these, so readers skip.
var unbounded = []string{
	"run_id", "suite", "scenario_digest", "tags", "session", "session_digest", "error_reason",
	"outcome", "verdict", "error_class", "lane", "mode", "act", "purpose", "effect", "finish", "error_kind",
	"guards_enforced", "guards_shadow", "fired_enforced", "fired_shadow",
	"digest", "reason", "evidence", "call_id", "args_digest",
}

func options(table, runID string) []pq.WriterOption {
	out := []pq.WriterOption{
		pq.Compression(&zstd.Codec{Level: zstd.SpeedFastest}),
		pq.CreatedBy("harnessbench", SchemaVersion, ""), // not the build: equal rows, equal bytes
		pq.MaxRowsPerRowGroup(rowGroup),
		pq.KeyValueMetadata(KeySchema, table+"/"+SchemaVersion),
		pq.KeyValueMetadata(KeyRunID, runID),
		pq.PageBufferSize(pageSize),
		pq.DataPageStatistics(false), // the index at the end of the file has them
	}
	for _, name := range unbounded {
		out = append(out, pq.SkipPageBounds(name))
	}
	return out
}
