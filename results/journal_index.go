package results

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"

	"github.com/go-json-experiment/json"
)

// Index lists the trials of a journal in canonical order and reads their
// entries one at a time: of a trial that is not being read it keeps key and
// place, some 100 bytes. It is for journals that are too large for
// [ReadJournalFile], and is not safe for concurrent use.
type Index struct {
	Torn int // bytes of a last line without its newline, left by a crash; 0 when whole

	name  string
	file  *os.File
	items []indexItem // in canonical order
	buf   []byte
}

// indexItem is where one entry stands.
type indexItem struct {
	key    TrialKey
	offset int64
	length int // newline not included
	line   int // from 1
}

// IndexJournal reads the keys of a journal. What it can refuse without looking
// further is refused here: a line that is no JSON, another version, a trial that
// is there twice; the rest when the entry is read.
func IndexJournal(path string) (*Index, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	x := &Index{name: path, file: f}
	if err := x.read(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return x, nil
}

func (x *Index) read() error {
	br := bufio.NewReaderSize(x.file, 256<<10)
	names := interner{}
	var offset int64
	for n := 1; ; n++ {
		line, err := readLine(br, MaxJournalLine)
		if errors.Is(err, io.EOF) {
			x.Torn = len(line)
			return x.sort()
		}
		var key TrialKey
		if err == nil {
			key, err = decodeKey(line)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", x.name, n, err)
		}
		key.Scenario, key.Model, key.Arm = names.of(key.Scenario), names.of(key.Model), names.of(key.Arm)
		x.items = append(x.items, indexItem{key, offset, len(line), n})
		offset += int64(len(line)) + 1
	}
}

func decodeKey(line []byte) (TrialKey, error) {
	var e struct {
		V     int `json:"v"`
		Trial struct {
			Scenario   string `json:"scenario"`
			Model      string `json:"model"`
			Arm        string `json:"arm"`
			Repetition int    `json:"repetition"`
		} `json:"trial"`
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return TrialKey{}, fmt.Errorf("broken journal line: %w", plain(err))
	}
	if e.V != JournalVersion {
		return TrialKey{}, fmt.Errorf("journal version is %d; this version reads %d", e.V, JournalVersion)
	}
	return TrialKey{e.Trial.Scenario, e.Trial.Model, e.Trial.Arm, e.Trial.Repetition}, nil
}

func (x *Index) sort() error {
	slices.SortFunc(x.items, func(a, b indexItem) int {
		return cmp.Or(a.key.Compare(b.key), cmp.Compare(a.line, b.line))
	})
	for i := 1; i < len(x.items); i++ {
		if a, b := &x.items[i-1], &x.items[i]; a.key == b.key {
			return fmt.Errorf("%s:%d: trial %v is on line %d already; remove one of the two", x.name, b.line, b.key, a.line)
		}
	}
	return nil
}

// Len is the number of trials.
func (x *Index) Len() int { return len(x.items) }

// Keys gives the trials' keys in canonical order.
func (x *Index) Keys() iter.Seq[TrialKey] {
	return func(yield func(TrialKey) bool) {
		for i := range x.items {
			if !yield(x.items[i].key) {
				return
			}
		}
	}
}

// Entries reads the entries in canonical order. An entry is the caller's to
// keep. An error names the line and is the last thing that comes.
func (x *Index) Entries() iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		for i := range x.items {
			e, err := x.entry(&x.items[i])
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

func (x *Index) entry(it *indexItem) (*Entry, error) {
	if cap(x.buf) < it.length || cap(x.buf) > 1<<20 && it.length < 1<<16 {
		x.buf = make([]byte, it.length, it.length+it.length/2)
	}
	buf := x.buf[:it.length]
	_, err := x.file.ReadAt(buf, it.offset)
	var e Entry
	if err == nil {
		e, err = decodeEntry(buf)
	}
	if err == nil && e.Trial.Key() != it.key {
		err = errors.New("the journal changed while it was read; read it again")
	}
	if err != nil {
		return nil, fmt.Errorf("%s:%d: %w", x.name, it.line, err)
	}
	return &e, nil
}

// Trials reads all trial rows in canonical order, for those who need them all
// at once. What many rows have in common, names, tags and the counts of guards
// that never fired, is held once: read the rows, and change none of their lists.
// A row takes about 1 KB.
func (x *Index) Trials() ([]Trial, error) {
	rows := make([]Trial, 0, len(x.items))
	names := interner{}
	for e, err := range x.Entries() {
		if err != nil {
			return nil, err
		}
		names.trial(&e.Trial)
		if n := len(rows); n > 0 {
			share(&e.Trial, &rows[n-1])
		}
		rows = append(rows, e.Trial)
	}
	return rows, nil
}

// share gives a row the lists of the row before it where they are equal: rows of
// one scenario and arm follow each other.
func share(t, before *Trial) {
	if slices.Equal(t.Tags, before.Tags) {
		t.Tags = before.Tags
	}
	same := func(a, b GuardCount) bool {
		return a.Guard == b.Guard && a.Mode == b.Mode && a.Fired == 0 && b.Fired == 0
	}
	if slices.EqualFunc(t.Guards, before.Guards, same) {
		t.Guards = before.Guards
	}
}

// Close closes the journal.
func (x *Index) Close() error { return x.file.Close() }

// interner holds equal strings once.
type interner map[string]string

func (n interner) of(s string) string {
	if have, ok := n[s]; ok {
		return have
	}
	n[s] = s
	return s
}

// trial replaces what many rows have in common.
func (n interner) trial(t *Trial) {
	for _, p := range []*string{&t.RunID, &t.Suite, &t.Scenario, &t.ScenarioDigest, &t.Model, &t.Arm, &t.Outcome, &t.Verdict} {
		*p = n.of(*p)
	}
	if t.ErrorClass != nil {
		s := n.of(*t.ErrorClass)
		t.ErrorClass = &s
	}
	for i := range t.Tags {
		t.Tags[i] = n.of(t.Tags[i])
	}
	for i := range t.Guards {
		t.Guards[i].Guard, t.Guards[i].Mode = n.of(t.Guards[i].Guard), n.of(t.Guards[i].Mode)
	}
}
