package parquet

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	pq "github.com/parquet-go/parquet-go"

	"github.com/harnessbench/harnessbench/results"
)

// Read reads the whole table of T and the run id in its metadata.
func Read[T Row](path string) (rows []T, runID string, err error) {
	runID, err = Scan(path, func(batch []T) error {
		rows = append(rows, batch...)
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	return rows, runID, nil
}

// ReadDataset reads one table of every run below root as one: all files named
// as the table of T, at any depth (runs/*/parquet/trials.parquet), in order of
// their paths. Links to folders are not followed. The rows' run_id tells runs
// apart; two runs of one suite share it, and so do copies of a run. It is an
// error when there is no such file.
func ReadDataset[T Row](root string) ([]T, error) {
	var paths []string
	name := tableOf[T]() + ".parquet"
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == name && d.Type().IsRegular() {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read tables: %w", err)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("read tables: no %s below %s; name a run folder, or a folder of them", name, root)
	}
	slices.Sort(paths)
	var rows []T
	for _, path := range paths {
		if _, err := Scan(path, func(batch []T) error {
			rows = append(rows, batch...)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// Scan reads the table of T in batches; the rows of a batch may be kept, the
// slice not. It returns the run id in the metadata. A file that is no such
// table, is damaged, or holds another number of rows than its footer says is an
// error that names the path; fn may have seen rows by then.
func Scan[T Row](path string, fn func(batch []T) error) (runID string, err error) {
	return scanFile(path, tableOf[T](), func(batch []T) error {
		if trials, ok := any(batch).([]results.Trial); ok {
			for i := range trials {
				if err := trials[i].FromColumns(); err != nil {
					return err
				}
			}
		}
		return fn(batch)
	})
}

func scanFile[T any](path, table string, fn func([]T) error) (runID string, err error) {
	// A foreign or damaged file may drive the library out of its bounds; that
	// is an error about the file, never a crash of the program.
	defer func() {
		if r := recover(); r != nil {
			runID, err = "", fmt.Errorf("read %s: damaged Parquet file (%v); write it again from the run's journal", path, r)
		}
	}()
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read table: %w", err)
	}
	defer func() { _ = f.Close() }() // read only: nothing to lose
	st, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("read table: %w", err)
	}
	if err := checkFooter(f, st.Size()); err != nil {
		return "", fmt.Errorf("read %s: not a Parquet file: %w", path, err)
	}
	pf, err := pq.OpenFile(f, st.Size(), pq.SkipBloomFilters(true))
	if err != nil {
		return "", fmt.Errorf("read %s: not a Parquet file: %w", path, err)
	}
	if err := checkTable[T](pf, table); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	if err := scanRows(pf, fn); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	runID, _ = pf.Lookup(KeyRunID)
	return runID, nil
}

func scanRows[T any](pf *pq.File, fn func([]T) error) error {
	r := pq.NewGenericReader[T](pf)
	batch := make([]T, 1024)
	var total int64
	for {
		n, err := r.Read(batch)
		total += int64(n)
		if ferr := fn(batch[:n]); ferr != nil {
			return ferr
		}
		clear(batch) // rows share nothing with the next read
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("after row %d: %w", total, err)
		}
	}
	if total != pf.NumRows() {
		return fmt.Errorf("has %d rows; its footer says %d", total, pf.NumRows())
	}
	return r.Close()
}

// checkTable says whether the file is the wanted table with the columns that
// this version knows.
func checkTable[T any](pf *pq.File, table string) error {
	got, ok := pf.Lookup(KeySchema)
	if !ok {
		return fmt.Errorf("no table of harnessbench: the metadata lacks %q", KeySchema)
	}
	if want := table + "/" + SchemaVersion; got != want {
		return fmt.Errorf("is the table %q; want %q: write it again from the run's journal", got, want)
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
