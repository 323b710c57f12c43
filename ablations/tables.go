package ablations

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/results/parquet"
)

// WriteTables writes the six tables of a run folder into its parquet folder,
// from journal.jsonl and the session files that it names. Rows are in canonical
// order whatever finished first, so equal runs give equal bytes.
//
// It streams: of the journal it keeps a key and a place per trial, and it reads
// one entry and one session at a time, so that its memory grows by some 100
// bytes a trial. Each table appears by rename when it is whole; on an error the
// tables that are there stay as they were, and nothing half written is left.
func WriteTables(dir, runID string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("tables of %s: %w", dir, err)
		}
	}()
	index, err := results.IndexJournal(filepath.Join(dir, results.JournalFile))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, index.Close()) }()
	folder := filepath.Join(dir, ParquetDir)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	t, err := createTables(folder, runID)
	if err != nil {
		return err
	}
	for e, err := range index.Entries() {
		if err == nil {
			err = t.add(dir, e)
		}
		if err != nil {
			return errors.Join(err, t.abort())
		}
	}
	return t.close()
}

// tables are the six writers of a run.
type tables struct {
	trials   *parquet.Writer[results.Trial]
	turns    *parquet.Writer[results.Turn]
	models   *parquet.Writer[results.ModelCall]
	tools    *parquet.Writer[results.ToolCall]
	events   *parquet.Writer[results.GuardEvent]
	verdicts *parquet.Writer[results.Verdict]
}

// writer is what all six have.
type writer interface {
	Close() error
	Abort() error
}

func createTables(folder, runID string) (*tables, error) {
	t := &tables{}
	var errs [6]error
	at := func(name string) string { return filepath.Join(folder, name) }
	t.trials, errs[0] = parquet.Create[results.Trial](at(parquet.TrialsFile), runID)
	t.turns, errs[1] = parquet.Create[results.Turn](at(parquet.TurnsFile), runID)
	t.models, errs[2] = parquet.Create[results.ModelCall](at(parquet.ModelCallsFile), runID)
	t.tools, errs[3] = parquet.Create[results.ToolCall](at(parquet.ToolCallsFile), runID)
	t.events, errs[4] = parquet.Create[results.GuardEvent](at(parquet.GuardEventsFile), runID)
	t.verdicts, errs[5] = parquet.Create[results.Verdict](at(parquet.VerdictsFile), runID)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, errors.Join(err, t.abort())
	}
	return t, nil
}

func (t *tables) all() []writer {
	return []writer{t.trials, t.turns, t.models, t.tools, t.events, t.verdicts}
}

// close finishes all tables; what fails to be finished drops the rest.
func (t *tables) close() error {
	for _, w := range t.all() {
		if err := w.Close(); err != nil {
			return errors.Join(err, t.abort())
		}
	}
	return nil
}

func (t *tables) abort() error {
	var err error
	for _, w := range t.all() {
		err = errors.Join(err, w.Abort())
	}
	return err
}

// add writes the rows of one trial.
func (t *tables) add(dir string, e *results.Entry) error {
	if err := errors.Join(t.trials.Write(e.Trial), t.verdicts.Write(e.Verdicts...), t.events.Write(e.Events...)); err != nil {
		return err
	}
	if e.Trial.Session == "" {
		return nil // the trial ended before it had one
	}
	rows, err := sessionRows(dir, &e.Trial)
	if err != nil {
		return fmt.Errorf("trial %v: %w", e.Trial.Key(), err)
	}
	return errors.Join(t.turns.Write(rows.turns...), t.models.Write(rows.models...), t.tools.Write(rows.tools...))
}

// sessionRows reads the rows of the session that a trial names. The name comes
// from the journal: it must stay inside the sessions folder.
func sessionRows(dir string, t *results.Trial) (*rowBuilder, error) {
	if !filepath.IsLocal(t.Session) {
		return nil, fmt.Errorf("session %q is outside the run's sessions folder", t.Session)
	}
	f, err := session.Open(filepath.Join(dir, SessionsDir, filepath.FromSlash(t.Session)))
	if err != nil {
		return nil, err
	}
	b := &rowBuilder{trial: t, lanes: map[string]*laneRows{}}
	err = b.read(f.Reader)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if got := f.Digest().String(); err == nil && got != t.SessionDigest {
		err = fmt.Errorf("its digest is %s; the journal has %s: the file was changed after the trial", got, t.SessionDigest)
	}
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", t.Session, err)
	}
	b.finish()
	return b, nil
}

// read takes every line of a session. A recording that was cut short gives the
// rows that it has.
func (b *rowBuilder) read(r *session.Reader) error {
	for {
		l, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = b.line(l)
		}
		if err != nil {
			return err
		}
	}
}
