package results

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Contents is what a journal holds.
type Contents struct {
	Entries []Entry // in the order of the file
	Torn    int     // bytes of a last line without its newline, left by a crash; 0 when whole
	Line    int     // number of the torn line, from 1; 0 when whole
}

// Trials returns all trial rows in canonical order.
func (c *Contents) Trials() []Trial {
	out := make([]Trial, 0, len(c.Entries))
	for i := range c.Entries {
		out = append(out, c.Entries[i].Trial)
	}
	SortTrials(out)
	return out
}

// Verdicts returns all verdict rows in canonical order.
func (c *Contents) Verdicts() []Verdict {
	out := []Verdict{}
	for i := range c.Entries {
		out = append(out, c.Entries[i].Verdicts...)
	}
	SortVerdicts(out)
	return out
}

// GuardEvents returns all guard events in canonical order.
func (c *Contents) GuardEvents() []GuardEvent {
	out := []GuardEvent{}
	for i := range c.Entries {
		out = append(out, c.Entries[i].Events...)
	}
	SortGuardEvents(out)
	return out
}

// ReadJournalFile reads a journal from disk; see [ReadJournal].
func ReadJournalFile(path string) (*Contents, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	defer func() { _ = f.Close() }() // read only: nothing to lose
	return ReadJournal(f, path)
}

// ReadJournal reads a journal; name is for errors. A last line without newline
// is torn: it is reported in the contents and otherwise ignored, as the trial
// never counted. Anything else that is wrong is an error that names the line:
// what is not JSON, duplicate or unknown members, another version, an invalid
// row, a trial that is there twice, a line over [MaxJournalLine].
func ReadJournal(r io.Reader, name string) (*Contents, error) {
	return readJournal(r, name, MaxJournalLine)
}

func readJournal(r io.Reader, name string, limit int) (*Contents, error) {
	c := &Contents{Entries: []Entry{}}
	lines := map[TrialKey]int{}
	br := bufio.NewReaderSize(r, 256<<10)
	for n := 1; ; n++ {
		line, err := readLine(br, limit)
		switch {
		case errors.Is(err, io.EOF):
			if len(line) > 0 {
				c.Torn, c.Line = len(line), n
			}
			return c, nil
		case err != nil:
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		e, err := decodeEntry(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		k := e.Trial.Key()
		if first, ok := lines[k]; ok {
			return nil, fmt.Errorf("%s:%d: trial %v is on line %d already; remove one of the two", name, n, k, first)
		}
		lines[k] = n
		c.Entries = append(c.Entries, e)
	}
}

// readLine returns the next line without its newline; io.EOF comes with the
// bytes of a line that has none.
func readLine(br *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		chunk, err := br.ReadSlice('\n')
		if len(line)+len(chunk) > limit {
			return nil, fmt.Errorf("line is over %d MiB; this is no journal line", limit>>20)
		}
		line = append(line, chunk...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimSuffix(line, []byte("\n")), err
	}
}

func decodeEntry(line []byte) (Entry, error) {
	var e Entry
	// The version first: a newer one may have members this one does not know.
	var v struct {
		V int `json:"v"`
	}
	if err := json.Unmarshal(line, &v); err != nil {
		return e, fmt.Errorf("broken journal line: %w", plain(err))
	}
	if v.V != JournalVersion {
		return e, fmt.Errorf("journal version is %d; this version reads %d", v.V, JournalVersion)
	}
	if err := json.Unmarshal(line, &e, json.RejectUnknownMembers(true)); err != nil {
		return e, fmt.Errorf("broken journal line: %w", plain(err))
	}
	e.Trial.Normalize()
	return e, e.validate()
}

// plain takes the library's name for the Go types out of an error: a reader of
// a journal wants the byte and the member.
func plain(err error) error {
	var syn *jsontext.SyntacticError
	if errors.As(err, &syn) {
		return fmt.Errorf("at byte %d, %q: %w", syn.ByteOffset, short(syn.JSONPointer), syn.Err)
	}
	var sem *json.SemanticError
	if errors.As(err, &sem) && sem.Err != nil {
		return fmt.Errorf("at byte %d, %q: %w", sem.ByteOffset, short(sem.JSONPointer), sem.Err)
	}
	return err
}

// short cuts a pointer: that of a deeply nested value is as long as the value.
func short(p jsontext.Pointer) string {
	const most = 120
	if len(p) > most {
		return string(p[:most]) + "..."
	}
	return string(p)
}
