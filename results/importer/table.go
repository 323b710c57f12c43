package importer

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
)

// Bounds of a table.
const (
	maxTableLine = 1 << 20    // bytes of a line, or of a CSV record over several
	maxTableRows = 10_000_000 // rows
	maxTableName = 4 << 10    // bytes of a scenario, model or arm
	maxColumns   = 16 << 10   // columns that a table may have
)

// What a trial of a table came to.
const (
	TableUngraded int8 = iota // nobody can tell
	TableFail
	TablePass
)

// TableRow is one trial of a table. Names are shared between rows.
type TableRow struct {
	Scenario   string
	Model, Arm string // empty where the table has no such column
	Repetition int64  // >= 0
	Verdict    int8   // one of the Table constants
	Errored    bool   // then the verdict is TableUngraded
	Harms      bool   // the scenario is there to show a harm: never pooled with others
	Line       int32  // of the file; of Parquet the row, from 1; 0 in rows of runs

	Score     float64 // 0 to 1; NaN when unknown
	CostUSD   float64 // NaN when unknown
	Tokens    int64   // input and output; -1 when unknown
	DurationS float64 // seconds; NaN when unknown
}

// Table is a table of trials from any tool.
type Table struct {
	Path    string
	Format  string     // CSV, JSONL or Parquet
	Rows    []TableRow // sorted by model, arm, scenario, repetition; no two are equal in these
	Taken   []string   // "field=column" where a column has another name than its field
	Ignored []string   // columns that no field took, sorted, cut after 50
	Has     map[string]bool
	Seed    uint64 // of the run that it is from; 0 of other tables
}

// TableOptions says how to read a table.
type TableOptions struct {
	Columns map[string]string // column by field, see [TableFields]; empty: by name
	PassAt  *float64          // a score passes from here on, whatever a column says that tells; nil: 1 where none does
	Stdin   io.Reader         // what the path "-" reads
}

// ReadTable reads a table of trials: Parquet, CSV or JSONL, told by its content,
// the last two also with gzip. The path "-" is opt.Stdin. Errors about the
// content are of the type [InputError] where it has lines.
func ReadTable(path string, opt TableOptions) (*Table, error) {
	if opt.PassAt != nil && !(*opt.PassAt >= 0 && *opt.PassAt <= 1) {
		return nil, fmt.Errorf("a score passes from %v on: want 0 to 1", *opt.PassAt)
	}
	b, err := newTableBuilder(path, opt)
	if err != nil {
		return nil, err
	}
	if path == "-" {
		b.t.Path = "stdin"
		err = b.text(opt.Stdin)
	} else {
		err = b.file(path)
	}
	if err == nil {
		err = b.finish()
	}
	if err != nil {
		return nil, err
	}
	return &b.t, nil
}

// file reads a named file by what its first bytes are.
func (b *tableBuilder) file(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() && info.Mode()&os.ModeNamedPipe == 0 {
		return fmt.Errorf("%s is no file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // read only: nothing to lose
	if info.Mode().IsRegular() {
		var magic [4]byte
		if n, _ := f.ReadAt(magic[:], 0); n == 4 && string(magic[:]) == parquetMagic {
			return b.parquet(path)
		}
	}
	return b.text(f)
}

const parquetMagic = "PAR1"

// text reads CSV or JSONL, perhaps under gzip.
func (b *tableBuilder) text(src io.Reader) error {
	br := bufio.NewReaderSize(src, 256<<10)
	head, _ := br.Peek(4)
	if bytes.HasPrefix(head, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(br)
		if err != nil {
			return fmt.Errorf("%s: is no whole gzip file: %w", b.t.Path, err)
		}
		br = bufio.NewReaderSize(z, 256<<10)
		head, _ = br.Peek(4)
	}
	switch {
	case string(head) == parquetMagic:
		return fmt.Errorf("%s: Parquet is read from a file only; save it into one", b.t.Path)
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return b.at(1, 1, errors.New("is UTF-16; save it as UTF-8"))
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		_, _ = br.Discard(3) // they are in the buffer
		b.bom = true
	}
	first, err := firstByte(br)
	switch {
	case errors.Is(err, io.EOF):
		return b.at(1, 1, errors.New("is empty; a table has a head and rows"))
	case err != nil:
		return fmt.Errorf("%s: %w", b.t.Path, err)
	case first == '[':
		return b.at(1, 1, errors.New("is a JSON array; a table has one object a line (jq -c '.[]')"))
	case first == '{':
		b.t.Format = "JSONL"
		return b.jsonl(br)
	}
	b.t.Format = "CSV"
	return b.csv(br)
}

// firstByte looks for the first byte that is no white space, and consumes none.
func firstByte(br *bufio.Reader) (byte, error) {
	for n := 1; ; n++ {
		head, err := br.Peek(n)
		if len(head) < n {
			return 0, err
		}
		if c := head[n-1]; c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c, nil
		}
	}
}

// tableBuilder collects rows.
type tableBuilder struct {
	t      Table
	opt    TableOptions
	bound  [nFields]string // column of each field; empty when there is none yet
	wanted map[string]field
	names  map[string]string
	seen   map[string]bool // columns that were offered
	bom    bool            // the first line's columns count from behind the mark
}

func newTableBuilder(path string, opt TableOptions) (*tableBuilder, error) {
	b := &tableBuilder{t: Table{Path: path, Has: map[string]bool{}}, opt: opt,
		wanted: map[string]field{}, names: map[string]string{}, seen: map[string]bool{}}
	for name, column := range opt.Columns {
		f, ok := fieldOf(name)
		if !ok {
			return nil, fmt.Errorf("columns: there is no field %q; the fields are %s", name, strings.Join(TableFields(), ", "))
		}
		if other, ok := b.wanted[column]; ok && other != f {
			return nil, fmt.Errorf("columns: %q cannot be both %s and %s", column, min(name, tableFields[other].name), max(name, tableFields[other].name))
		}
		b.wanted[column] = f
	}
	return b, nil
}

// at gives an error its place.
func (b *tableBuilder) at(line, column int, err error) error {
	return &InputError{Path: b.t.Path, Line: line, Column: column, Err: err}
}

// bind gives columns that come up to the fields that have none yet. A field
// never changes its column: a table means the same from its first row to its last.
func (b *tableBuilder) bind(columns []string) error {
	for _, name := range columns {
		b.seen[name] = true
	}
	if len(b.seen) > maxColumns {
		return fmt.Errorf("has more than %d columns", maxColumns)
	}
	for f := range nFields {
		if b.bound[f] != "" {
			continue
		}
		if want := b.opt.Columns[tableFields[f].name]; want != "" {
			if slices.Contains(columns, want) {
				b.bound[f] = want
			}
			continue
		}
		best := -1
		for _, name := range columns {
			rank := tableFields[f].rank(name)
			if _, taken := b.wanted[name]; taken || rank < 0 {
				continue
			}
			switch {
			case best < 0 || rank < best:
				best, b.bound[f] = rank, name
			case rank == best && name != b.bound[f]:
				return fmt.Errorf("the columns %q and %q are both %s; say which one with --columns %s=NAME",
					b.bound[f], name, tableFields[f].name, tableFields[f].name)
			}
		}
	}
	return nil
}

// fieldOfColumn says which field a column was given to.
func (b *tableBuilder) fieldOfColumn(name string) (field, bool) {
	for f := range nFields {
		if b.bound[f] == name && name != "" {
			return f, true
		}
	}
	return 0, false
}

// needed reports what a table cannot do without.
func (b *tableBuilder) needed() error {
	have := func() string {
		names := slices.Sorted(mapKeys(b.seen))
		if len(names) > 20 {
			names = append(names[:20], "...")
		}
		return strings.Join(names, ", ")
	}
	for _, f := range slices.Sorted(mapValues(b.wanted)) {
		if b.bound[f] == "" {
			return fmt.Errorf("has no column %q for %s; its columns are: %s", b.opt.Columns[tableFields[f].name], tableFields[f].name, have())
		}
	}
	if b.bound[fScenario] == "" {
		return fmt.Errorf("has no column for scenario; name it with --columns scenario=NAME; its columns are: %s", have())
	}
	if b.bound[fPassed] == "" && b.bound[fScore] == "" {
		return fmt.Errorf("has no column for passed or score; name it with --columns passed=NAME; its columns are: %s", have())
	}
	if b.opt.PassAt != nil && b.bound[fScore] == "" {
		return errors.New("has no column for score, which --pass-at is about; name it with --columns score=NAME")
	}
	return nil
}

// add appends one row of cells, by field. place says where a field stands.
func (b *tableBuilder) add(cells *[nFields]cell, line int, place func(field) error) error {
	if len(b.t.Rows) >= maxTableRows {
		return fmt.Errorf("has more than %d rows", maxTableRows)
	}
	r := TableRow{Line: int32(min(line, math.MaxInt32)), Repetition: -1, Tokens: -1, Score: math.NaN(), CostUSD: math.NaN(), DurationS: math.NaN()}
	var f field
	var err error
	for f = range nFields {
		if b.bound[f] == "" {
			continue
		}
		if err = b.set(&r, f, &cells[f]); err != nil {
			err = fmt.Errorf("%s: %w", describe(f, b.bound[f]), err)
			if p := place(f); p != nil {
				var in *InputError
				if errors.As(p, &in) {
					in.Err = err
					return in
				}
			}
			return err
		}
	}
	if b.bound[fPassed] == "" || b.opt.PassAt != nil {
		r.Verdict = byScore(r.Score, b.opt.PassAt)
	}
	if r.Errored {
		r.Verdict, r.Score = TableUngraded, math.NaN()
	}
	b.t.Rows = append(b.t.Rows, r)
	return nil
}

// scoreSlack forgives the last bits of a sum of weights.
const scoreSlack = 1e-9

func byScore(score float64, passAt *float64) int8 {
	at := 1.0
	if passAt != nil {
		at = *passAt
	}
	switch {
	case math.IsNaN(score):
		return TableUngraded
	case score >= at-scoreSlack:
		return TablePass
	}
	return TableFail
}

// intern keeps one copy of each name.
func (b *tableBuilder) intern(s []byte) string {
	if v, ok := b.names[string(s)]; ok {
		return v
	}
	v := string(s)
	b.names[v] = v
	return v
}
