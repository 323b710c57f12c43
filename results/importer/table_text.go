package importer

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// recordReader refuses to deliver more than a record may have.
type recordReader struct {
	src  io.Reader
	left int
}

var errLine = fmt.Errorf("a line has more than %d MiB", maxTableLine>>20)

func (r *recordReader) Read(b []byte) (int, error) {
	if r.left <= 0 {
		return 0, errLine
	}
	n, err := r.src.Read(b[:min(len(b), r.left)])
	r.left -= n
	return n, err
}

// csvAhead is what the CSV reader buffers beyond a record.
const csvAhead = 4096

// csv reads comma-separated values with a head; where the head has no comma outside
// quotes, tabs or semicolons separate. A first line such as "sep=;", with which
// spreadsheets say what separates, is taken at its word.
func (b *tableBuilder) csv(src *bufio.Reader) error {
	limit := &recordReader{src: src, left: maxTableLine + csvAhead}
	r := csv.NewReader(limit)
	r.ReuseRecord = true
	said := false
	if r.Comma, said = separator(src); said {
		r.FieldsPerRecord = -1 // the line has one or two fields, the head more
		if _, err := r.Read(); err != nil {
			return b.csvError(err, 1)
		}
		r.FieldsPerRecord = 0
	}
	head, err := r.Read()
	if err != nil {
		return b.csvError(err, 1)
	}
	next := behind(r, head)
	columns := slices.Clone(head)
	if err := b.csvHead(r, columns); err != nil {
		return err
	}
	var index [nFields]int
	for f := range nFields {
		index[f] = slices.Index(columns, b.bound[f])
	}
	var cells [nFields]cell
	var buf []byte
	for {
		limit.left = maxTableLine + csvAhead
		rec, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return b.csvError(err, next)
		}
		next = behind(r, rec)
		buf = buf[:0]
		for f := range nFields {
			if b.bound[f] == "" {
				continue
			}
			start := len(buf)
			buf = append(buf, rec[index[f]]...)
			cells[f] = cell{kind: kText, text: buf[start:len(buf):len(buf)]}
		}
		line, _ := r.FieldPos(0)
		err = b.add(&cells, line, func(f field) error {
			line, column := r.FieldPos(index[f])
			return b.at(line, column, nil)
		})
		if err != nil {
			return b.placed(err, line)
		}
	}
}

// csvHead binds the columns of the head.
func (b *tableBuilder) csvHead(r *csv.Reader, columns []string) error {
	seen := map[string]bool{}
	for i, name := range columns {
		if line, column := r.FieldPos(i); seen[name] && name != "" {
			return b.at(line, column, fmt.Errorf("the column %q is there twice", clip(name)))
		}
		seen[name] = true
	}
	line, _ := r.FieldPos(0)
	if err := b.bind(columns); err != nil {
		return b.at(line, 1, err)
	}
	if err := b.needed(); err != nil {
		return b.at(line, 1, err)
	}
	return nil
}

// separator looks at the head for what separates; said: a line of its own says it.
func separator(src *bufio.Reader) (sep rune, said bool) {
	head, _ := src.Peek(64 << 10)
	line, _, _ := bytes.Cut(head, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) == len("sep=;") && bytes.EqualFold(line[:4], []byte("sep=")) && bytes.ContainsAny(line[4:], ",;\t|") {
		return rune(line[4]), true
	}
	var found [3]bool
	quoted := false
	for _, c := range line {
		if c == '"' {
			quoted = !quoted // a doubled quote turns it twice
		} else if i := bytes.IndexByte([]byte(",\t;"), c); i >= 0 && !quoted {
			found[i] = true
		}
	}
	switch {
	case found[1] && !found[0]:
		return '\t', false
	case found[2] && !found[0]:
		return ';', false
	}
	return ',', false
}

// csvError words an error of the reader about the record at a line and gives it its
// place.
func (b *tableBuilder) csvError(err error, line int) error {
	var p *csv.ParseError
	switch {
	case errors.Is(err, errLine):
		return b.at(line, 1, errLine)
	case errors.As(err, &p) && errors.Is(err, csv.ErrFieldCount):
		return b.at(p.Line, p.Column, errors.New("has another number of fields than the head"))
	case errors.As(err, &p):
		return b.at(p.Line, p.Column, fmt.Errorf("%w; quote a field that holds a quote, and double the quotes in it", p.Err))
	}
	return fmt.Errorf("%s: %w", b.t.Path, err)
}

// behind is the line behind a record of the reader.
func behind(r *csv.Reader, rec []string) int {
	last := len(rec) - 1
	line, _ := r.FieldPos(last)
	return line + strings.Count(rec[last], "\n") + 1
}

// placed gives an error its line if it has no place yet.
func (b *tableBuilder) placed(err error, line int) error {
	var in *InputError
	if errors.As(err, &in) {
		return err
	}
	return b.at(line, 1, err)
}

// jsonl reads one JSON object a line. Blank lines are skipped.
func (b *tableBuilder) jsonl(src *bufio.Reader) error {
	sc := bufio.NewScanner(src)
	sc.Buffer(make([]byte, 64<<10), maxTableLine)
	var row jsonRow
	line := 0
	for sc.Scan() {
		line++
		text := sc.Bytes()
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		if err := row.read(text, b); err != nil {
			return b.jsonError(err, line)
		}
		err := b.add(&row.cells, line, func(f field) error { return b.at(line, row.at[f]+1, nil) })
		if err != nil {
			return b.placed(err, line)
		}
	}
	switch err := sc.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return b.at(line+1, 1, errLine)
	case err != nil:
		return fmt.Errorf("%s:%d: %w", b.t.Path, line+1, err)
	}
	if err := b.needed(); err != nil {
		return b.at(1, 1, err)
	}
	return nil
}

// jsonError words what is wrong with a line.
func (b *tableBuilder) jsonError(err error, line int) error {
	var syn *jsontext.SyntacticError
	if errors.As(err, &syn) {
		return b.at(line, int(syn.ByteOffset)+1, fmt.Errorf("is no JSON object: %w", syn.Err))
	}
	return b.placed(err, line)
}

// jsonRow is the line that is being read.
type jsonRow struct {
	in    bytes.Reader
	dec   jsontext.Decoder
	cells [nFields]cell
	at    [nFields]int // byte of each value in the line
	names []string
	text  []byte
	known map[string]string
}

// read splits a line into cells.
func (r *jsonRow) read(line []byte, b *tableBuilder) error {
	r.cells, r.at, r.names, r.text = [nFields]cell{}, [nFields]int{}, r.names[:0], r.text[:0]
	fresh, err := r.scan(line, b)
	if err != nil || !fresh {
		return err
	}
	// A column came up that no line had before: see what it is, and look again.
	if err := b.bind(r.names); err != nil {
		return err
	}
	r.cells, r.at, r.text = [nFields]cell{}, [nFields]int{}, r.text[:0]
	_, err = r.scan(line, b)
	return err
}

// scan goes over the members of the line's object; fresh says that one has a name
// that no line had before.
func (r *jsonRow) scan(line []byte, b *tableBuilder) (fresh bool, err error) {
	r.in.Reset(line)
	r.dec.Reset(&r.in)
	if kind := r.dec.PeekKind(); kind != '{' && kind != jsontext.KindInvalid {
		return false, fmt.Errorf("is no JSON object but %s; a table has one object a line", kindName(kind))
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return false, err
	}
	r.names = r.names[:0]
	for r.dec.PeekKind() == '"' {
		v, err := r.dec.ReadValue()
		if err != nil {
			return false, err
		}
		name, err := r.name(v)
		if err != nil {
			return false, err
		}
		r.names = append(r.names, name)
		fresh = fresh || !b.seen[name]
		f, mine := b.fieldOfColumn(name)
		if v, err = r.dec.ReadValue(); err != nil {
			return false, err
		}
		if mine {
			r.at[f] = int(r.dec.InputOffset()) - len(v)
			if r.cells[f], err = r.cell(v); err != nil {
				return false, err
			}
		}
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return false, err
	}
	if _, err := r.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return false, errors.New("something follows the object; write one object a line")
	}
	return fresh, nil
}

// name unquotes a member's name; few names come up again and again.
func (r *jsonRow) name(v jsontext.Value) (string, error) {
	if name, ok := r.known[string(v)]; ok {
		return name, nil
	}
	text, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return "", err
	}
	if r.known == nil || len(r.known) > maxColumns {
		r.known = map[string]string{}
	}
	r.known[string(v)] = string(text)
	return string(text), nil
}

// cell makes a cell of a value.
func (r *jsonRow) cell(v jsontext.Value) (cell, error) {
	switch v.Kind() {
	case 'n':
		return cell{kind: kNull}, nil
	case 't', 'f':
		return cell{kind: kBool, bool: v.Kind() == 't'}, nil
	case '0':
		start := len(r.text)
		r.text = append(r.text, v...)
		return cell{kind: kNumber, text: r.text[start:len(r.text):len(r.text)]}, nil
	case '"':
		start := len(r.text)
		text, err := jsontext.AppendUnquote(r.text, v)
		r.text = text
		return cell{kind: kText, text: text[start:len(text):len(text)]}, err
	}
	return cell{kind: kNested}, nil
}

// finish numbers what has no repetition, sorts, and refuses what is there twice.
func (b *tableBuilder) finish() error {
	rows := b.t.Rows
	if len(rows) == 0 {
		return fmt.Errorf("%s: has no rows", b.t.Path)
	}
	for i := range rows {
		r := &rows[i]
		switch {
		case b.bound[fModel] != "" && r.Model == "":
			return b.rowError(r, "model is empty; every row needs one, or the table no such column")
		case b.bound[fArm] != "" && r.Arm == "":
			return b.rowError(r, "arm is empty; every row needs one, or the table no such column")
		case b.bound[fRepetition] != "" && r.Repetition < 0:
			return b.rowError(r, "repetition is empty; every row needs one, or the table no such column")
		}
	}
	SortRows(rows)
	if b.bound[fRepetition] == "" {
		number(rows)
	} else if err := b.twice(rows); err != nil {
		return err
	}
	for f := range nFields {
		if b.bound[f] != "" {
			b.t.Has[tableFields[f].name] = true
			if b.bound[f] != tableFields[f].name {
				b.t.Taken = append(b.t.Taken, tableFields[f].name+"="+b.bound[f])
			}
			delete(b.seen, b.bound[f])
		}
	}
	b.t.Ignored = slices.Sorted(mapKeys(b.seen))
	if len(b.t.Ignored) > 50 {
		b.t.Ignored = append(b.t.Ignored[:50], "...")
	}
	b.names, b.seen = nil, nil
	return nil
}

// rowError is an error about a row as a whole.
func (b *tableBuilder) rowError(r *TableRow, text string) error {
	if b.t.Format == "Parquet" {
		return fmt.Errorf("%s: row %d: %s", b.t.Path, r.Line, text)
	}
	return b.at(int(r.Line), 1, errors.New(text))
}

// SortRows puts rows into the order of a [Table], equal ones into that of their lines.
func SortRows(rows []TableRow) {
	slices.SortFunc(rows, func(x, y TableRow) int { return cmp.Or(compareRows(&x, &y), cmp.Compare(x.Line, y.Line)) })
}

func compareRows(x, y *TableRow) int {
	return cmp.Or(cmp.Compare(x.Model, y.Model), cmp.Compare(x.Arm, y.Arm), cmp.Compare(x.Scenario, y.Scenario), cmp.Compare(x.Repetition, y.Repetition))
}

// number counts the rows of each scenario, model and arm in the file's order.
func number(rows []TableRow) {
	for i := range rows {
		rows[i].Repetition = 0
		if i > 0 {
			if p := &rows[i-1]; p.Scenario == rows[i].Scenario && p.Arm == rows[i].Arm && p.Model == rows[i].Model {
				rows[i].Repetition = p.Repetition + 1
			}
		}
	}
}

// twice finds the first trial of the file that is there a second time.
func (b *tableBuilder) twice(rows []TableRow) error {
	var bad, first *TableRow
	for i := 1; i < len(rows); i++ {
		if p := &rows[i-1]; compareRows(p, &rows[i]) == 0 && (bad == nil || rows[i].Line < bad.Line) {
			bad, first = &rows[i], p
		}
	}
	if bad == nil {
		return nil
	}
	what := []string{fmt.Sprintf("scenario %q", clip(bad.Scenario))}
	for _, v := range [][2]string{{"model", bad.Model}, {"arm", bad.Arm}} {
		if v[1] != "" {
			what = append(what, fmt.Sprintf("%s %q", v[0], clip(v[1])))
		}
	}
	unit := "line"
	if b.t.Format == "Parquet" {
		unit = "row"
	}
	return b.rowError(bad, fmt.Sprintf("%s, repetition %d is there already, in %s %d; a trial has one row (a table without a column for repetition is numbered)",
		strings.Join(what, ", "), bad.Repetition, unit, first.Line))
}
