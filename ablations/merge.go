package ablations

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/results"
)

// Merged says what Merge put together.
type Merged struct {
	Lock    design.Lock
	Trials  int // in the merged run
	Cut     int // not run, since a budget did not cover them
	Planned int // of the whole plan; more than Trials and Cut when a part is missing
}

// Merge puts the shards of one suite together into the empty folder out: their
// sessions, blobs, journals and the lock they share. Folders of different suites,
// and a trial that two of them have, are refused; nothing is kept then.
func Merge(out string, dirs []string) (m Merged, err error) {
	if len(dirs) < 2 {
		return m, errors.New("merge needs at least two run folders")
	}
	lock, raw, err := design.ReadLock(filepath.Join(dirs[0], design.LockFile))
	if err != nil {
		return m, err
	}
	m.Lock = lock
	for _, dir := range dirs[1:] {
		_, other, err := design.ReadLock(filepath.Join(dir, design.LockFile))
		if err != nil {
			return m, err
		}
		if !bytes.Equal(raw, other) {
			return m, fmt.Errorf("%s and %s are not parts of one suite: their %s differ", dirs[0], dir, design.LockFile)
		}
	}
	m.Planned = lock.Planned()
	if err := os.Mkdir(filepath.Join(out, SessionsDir), 0o755); err != nil {
		return m, err
	}
	if err := writeFile(filepath.Join(out, design.LockFile), raw); err != nil {
		return m, err
	}
	j, err := results.CreateJournal(filepath.Join(out, results.JournalFile))
	if err != nil {
		return m, err
	}
	from := map[results.TrialKey]string{}
	for _, dir := range dirs {
		n, err := mergeOne(j, out, dir, from)
		if err != nil {
			return m, errors.Join(fmt.Errorf("%s: %w", dir, err), j.Close())
		}
		m.Trials += n
	}
	if m.Cut, err = mergeCuts(out, dirs); err != nil {
		return m, errors.Join(err, j.Close())
	}
	return m, j.Close()
}

// mergeCuts puts together what budgets cut of the shards.
func mergeCuts(out string, dirs []string) (int, error) {
	var all Cut
	for _, dir := range dirs {
		c, err := ReadCut(dir)
		if err != nil {
			return 0, err
		}
		if c.Trials == 0 {
			continue
		}
		all.Schema, all.Reason = c.Schema, c.Reason
		all.Trials += c.Trials
		all.Blocks = append(all.Blocks, c.Blocks...)
		all.SpentUSD, all.SpentTokens = all.SpentUSD+c.SpentUSD, all.SpentTokens+c.SpentTokens
	}
	if all.Trials == 0 {
		return 0, nil
	}
	return all.Trials, all.write(out)
}

// mergeOne adds one folder's trials and sessions. from says which folder a trial
// came from.
func mergeOne(j *results.Journal, out, dir string, from map[results.TrialKey]string) (int, error) {
	index, err := results.IndexJournal(filepath.Join(dir, results.JournalFile))
	if err != nil {
		return 0, err
	}
	defer index.Close()
	n := 0
	const batch = 256
	var entries []results.Entry
	flush := func() error {
		err := j.Append(entries...)
		n += len(entries)
		entries = entries[:0]
		return err
	}
	for e, err := range index.Entries() {
		if err != nil {
			return n, err
		}
		key := e.Trial.Key()
		if other, twice := from[key]; twice {
			return n, fmt.Errorf("the trial %s is there already, from %s", key, other)
		}
		from[key] = dir
		name := e.Trial.Session
		if name != "" && filepath.IsLocal(filepath.FromSlash(name)) {
			if err := copyFile(filepath.Join(out, SessionsDir, name), filepath.Join(dir, SessionsDir, name)); err != nil {
				return n, err
			}
		}
		if entries = append(entries, *e); len(entries) == batch {
			if err := flush(); err != nil {
				return n, err
			}
		}
	}
	if err := flush(); err != nil {
		return n, err
	}
	return n, copyBlobs(filepath.Join(out, SessionsDir, session.BlobDir), filepath.Join(dir, SessionsDir, session.BlobDir))
}

// copyBlobs adds the blobs of a folder; those that are there are the same.
func copyBlobs(to, from string) error {
	entries, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, e := range entries {
		dst := filepath.Join(to, e.Name())
		if _, err := os.Lstat(dst); err == nil || !e.Type().IsRegular() {
			continue
		}
		if err := copyFile(dst, filepath.Join(from, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// copyFile copies a regular file to a new name.
func copyFile(to, from string) (err error) {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", from)
	}
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}
