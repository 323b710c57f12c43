package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/harnessbench/harnessbench/ablations"
	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/results/parquet"
	"github.com/harnessbench/harnessbench/results/report"
)

// sumUp computes the summary of a run folder's trials. Of a finished run it reads
// trials.parquet, which takes a fraction of the time; of any other, and where anything is
// the matter with the table, the journal, entry by entry. note is what to say of how many
// trials there are; it may be nil.
func sumUp(dir string, meta report.Meta, note func(trials int) []string) (*report.Summary, error) {
	if sum, err := sumUpTable(dir, meta, note); err == nil {
		return sum, nil
	}
	x, err := report.NewAccumulator(meta)
	if err != nil {
		return nil, err
	}
	n := 0
	err = eachEntry(filepath.Join(dir, results.JournalFile), func(t *results.Trial) error {
		n++
		return x.Add(t)
	})
	if err != nil {
		return nil, err
	}
	return summaryOf(x, n, note)
}

func summaryOf(x *report.Accumulator, n int, note func(int) []string) (*report.Summary, error) {
	sum, err := x.Summary()
	if err == nil && note != nil {
		sum.Notes = append(sum.Notes, note(n)...)
	}
	return sum, err
}

// eachEntry reads the trials of a journal in canonical order, and keeps none of them.
func eachEntry(path string, do func(*results.Trial) error) (err error) {
	index, err := results.IndexJournal(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, index.Close()) }()
	for e, err := range index.Entries() {
		if err != nil {
			return err
		}
		if err := do(&e.Trial); err != nil {
			return err
		}
	}
	return nil
}

// errNotCurrent says that the table is not the journal's.
var errNotCurrent = errors.New("trials.parquet is not current")

// sumUpTable computes the summary from trials.parquet. The table must be of this run, not
// older than the journal, and hold as many trials: a run that goes on, that is graded
// again or whose journal somebody changed has a younger journal.
func sumUpTable(dir string, meta report.Meta, note func(int) []string) (*report.Summary, error) {
	journal, table := filepath.Join(dir, results.JournalFile), filepath.Join(dir, ablations.ParquetDir, parquet.TrialsFile)
	of, err := os.Stat(journal)
	if err != nil {
		return nil, err
	}
	st, err := os.Stat(table)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.ModTime().Before(of.ModTime()) {
		return nil, errNotCurrent
	}
	x, err := report.NewAccumulator(meta)
	if err != nil {
		return nil, err
	}
	n := 0
	runID, err := parquet.ScanTrials(table, func(batch []results.Trial) error {
		n += len(batch)
		for i := range batch {
			if err := x.Add(&batch[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if lines, err := countLines(journal); err != nil || lines != n || runID != meta.RunID {
		return nil, errors.Join(errNotCurrent, err)
	}
	return summaryOf(x, n, note)
}

// countLines counts the whole lines of a file: a line that a crash cut short is no entry.
func countLines(path string) (n int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	buf := make([]byte, 1<<20)
	for {
		k, err := f.Read(buf)
		n += bytes.Count(buf[:k], []byte{'\n'})
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, fmt.Errorf("count trials: %w", err)
		}
	}
}
