package results

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
)

// JournalFile is the name of the journal in a run folder.
const JournalFile = "journal.jsonl"

// JournalVersion is the version that each entry carries.
const JournalVersion = 1

// MaxJournalLine bounds a line of the journal, in bytes, its newline included.
const MaxJournalLine = 64 << 20

// Entry is one line of the journal: one finished trial.
type Entry struct {
	V        int          `json:"v"`
	Trial    Trial        `json:"trial"`
	Verdicts []Verdict    `json:"verdicts"`
	Events   []GuardEvent `json:"guard_events"`
}

// Encode gives the entry's line, newline included. Equal entries give equal
// bytes: the rows are normalised and put into order first (in place).
func (e *Entry) Encode() ([]byte, error) { return e.encode(MaxJournalLine) }

func (e *Entry) encode(limit int) ([]byte, error) {
	e.V = JournalVersion
	e.Trial.Normalize()
	for i := range e.Verdicts {
		e.Verdicts[i].Normalize()
	}
	for i := range e.Events {
		e.Events[i].Normalize()
	}
	SortVerdicts(e.Verdicts)
	SortGuardEvents(e.Events)
	if err := e.validate(); err != nil {
		return nil, err
	}
	b, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("trial %v: %w", e.Trial.Key(), err)
	}
	if len(b)+1 > limit {
		return nil, fmt.Errorf("trial %v: its journal line has %d bytes; the limit is %d; cut the evidence of its verdicts", e.Trial.Key(), len(b)+1, limit)
	}
	return append(b, '\n'), nil
}

func (e *Entry) validate() error {
	if e.V != JournalVersion {
		return fmt.Errorf("journal version is %d; this version reads %d", e.V, JournalVersion)
	}
	if err := e.Trial.Validate(); err != nil {
		return err
	}
	key := e.Trial.Key()
	for i := range e.Verdicts {
		v := &e.Verdicts[i]
		if err := v.Validate(); err != nil {
			return err
		}
		if v.Key() != key || v.RunID != e.Trial.RunID {
			return fmt.Errorf("trial %v: holds a verdict of another trial, %v", key, v.Key())
		}
	}
	for i := range e.Events {
		g := &e.Events[i]
		if g.Key() != key || g.RunID != e.Trial.RunID {
			return fmt.Errorf("trial %v: holds a guard event of another trial, %v", key, g.Key())
		}
		if g.Guard == "" || g.Mode != Enforce && g.Mode != Shadow {
			return fmt.Errorf("trial %v: guard event %d has guard %q and mode %q; want a name, and enforce or shadow", key, i, g.Guard, g.Mode)
		}
	}
	return nil
}

// Journal appends finished trials to a file. It is safe for concurrent use.
type Journal struct {
	mu      sync.Mutex // file, keys, size, written, err
	file    *os.File
	keys    map[TrialKey]bool
	written uint64 // appends written so far
	err     error  // the first failure: nothing is written after it

	syncMu sync.Mutex // held while syncing; waiters then find their append synced
	synced uint64     // appends known to be on disk
}

// CreateJournal starts a journal; the file must not exist.
func CreateJournal(path string) (*Journal, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("%s exists already; resume that run, or choose another folder", path)
	}
	if err != nil {
		return nil, fmt.Errorf("create journal: %w", err)
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return nil, errors.Join(fmt.Errorf("create journal: %w", err), f.Close())
	}
	return &Journal{file: f, keys: map[TrialKey]bool{}}, nil
}

// ResumeJournal reads a journal and opens it for more. A torn last line is cut
// off, and entries that again picks (nil picks none) are dropped, so that their
// trials can run again; the contents returned are what is left. Where anything
// goes, the file is replaced by rename, never changed in place.
func ResumeJournal(path string, again func(*Trial) bool) (*Journal, *Contents, error) {
	c, err := ReadJournalFile(path)
	if err != nil {
		return nil, nil, err
	}
	kept := c.Entries[:0:0]
	for _, e := range c.Entries {
		if again == nil || !again(&e.Trial) {
			kept = append(kept, e)
		}
	}
	if c.Torn > 0 || len(kept) < len(c.Entries) {
		if err := rewriteJournal(path, kept); err != nil {
			return nil, nil, fmt.Errorf("resume %s: %w", path, err)
		}
	}
	c.Entries = kept
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("resume journal: %w", err)
	}
	j := &Journal{file: f, keys: make(map[TrialKey]bool, len(kept))}
	for i := range kept {
		j.keys[kept[i].Trial.Key()] = true
	}
	return j, c, nil
}

func rewriteJournal(path string, entries []Entry) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	for i := range entries {
		line, eerr := entries[i].Encode()
		if eerr == nil {
			_, eerr = tmp.Write(line)
		}
		if eerr != nil {
			return errors.Join(eerr, tmp.Close())
		}
	}
	if err = errors.Join(tmp.Chmod(0o644), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err = os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// Append writes entries and returns when they are on disk. Concurrent appends
// share a sync. Entries of one call are written together: after a crash a
// reader finds all of them, or a beginning. An entry for a trial that is there
// already is refused, and nothing of the call is written. After a failed write
// or sync the journal takes no more: what is on disk is then unknown.
func (j *Journal) Append(entries ...Entry) error {
	var buf bytes.Buffer
	for i := range entries {
		e := entries[i]
		e.Verdicts, e.Events = slices.Clone(e.Verdicts), slices.Clone(e.Events)
		e.Trial.Tags, e.Trial.Guards = slices.Clone(e.Trial.Tags), slices.Clone(e.Trial.Guards)
		line, err := e.Encode()
		if err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		buf.Write(line)
	}
	seq, err := j.write(entries, buf.Bytes())
	if err != nil {
		return err
	}
	return j.sync(seq)
}

// write appends the bytes and returns the number of this append.
func (j *Journal) write(entries []Entry, data []byte) (uint64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return 0, j.err
	}
	fresh := make(map[TrialKey]bool, len(entries))
	for i := range entries {
		k := entries[i].Trial.Key()
		if j.keys[k] || fresh[k] {
			return 0, fmt.Errorf("journal: trial %v is there already; a trial is finished once", k)
		}
		fresh[k] = true
	}
	if _, err := j.file.Write(data); err != nil {
		j.err = fmt.Errorf("journal: %w; free the disk, then resume the run", err)
		return 0, j.err
	}
	for k := range fresh {
		j.keys[k] = true
	}
	j.written++
	return j.written, nil
}

// sync returns when append number seq is on disk. Whoever comes while another
// syncs waits, and then usually finds its own append synced, or syncs for all
// that wait behind it.
func (j *Journal) sync(seq uint64) error {
	j.syncMu.Lock()
	defer j.syncMu.Unlock()
	if j.synced >= seq {
		return nil
	}
	j.mu.Lock()
	upTo, file, err := j.written, j.file, j.err
	j.mu.Unlock()
	if err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.err = fmt.Errorf("journal: sync: %w; check the disk, then resume the run", err)
		return j.err
	}
	j.synced = upTo
	return nil
}

// Has reports whether the trial is in the journal.
func (j *Journal) Has(k TrialKey) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.keys[k]
}

// Close closes the file. Appends after it fail.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		j.err = errors.New("journal: closed")
	}
	return j.file.Close()
}

// syncDir makes a new or renamed file's name durable, where the system can.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	// Some systems (Windows, some network disks) cannot sync a folder; the
	// file's own sync is what counts there.
	_ = d.Sync()
	return d.Close()
}
