package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// Kind is the type of a value in a foreign file.
type Kind byte

// The kinds that foreign values can have.
const (
	Null Kind = iota
	Bool
	Int
	Float
	Text
)

// Value is one value of a foreign file; the member of its kind holds it.
type Value struct {
	Kind  Kind
	Bool  bool
	Int   int64
	Float float64
	Text  []byte // valid until the next row
}

// ForeignColumn is a column at the top of a foreign file's schema.
type ForeignColumn struct {
	Name    string
	Refused string // why it cannot be read as plain values; empty when it can
	leaf    int    // index among the leaves
	unsign  bool   // integers are unsigned
}

// Foreign is a Parquet file that some other tool wrote.
type Foreign struct {
	Columns []ForeignColumn // in the order of the schema
	path    string
	f       *os.File
	pf      *pq.File
}

// OpenForeign opens a Parquet file of any schema. Damaged files are an error that
// names the path; the caller closes the file.
func OpenForeign(path string) (file *Foreign, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read table: %w", err)
	}
	defer func() {
		if r := recover(); r != nil {
			err = foreignDamage(path, r)
		}
		if err != nil {
			_ = f.Close()
		}
	}()
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read table: %w", err)
	}
	if err := checkFooter(f, st.Size()); err != nil {
		return nil, fmt.Errorf("read %s: not a whole Parquet file: %w", path, err)
	}
	pf, err := pq.OpenFile(f, st.Size(), pq.SkipBloomFilters(true), pq.SkipPageIndex(true))
	if err != nil {
		return nil, fmt.Errorf("read %s: not a whole Parquet file: %w", path, err)
	}
	file = &Foreign{path: path, f: f, pf: pf}
	leaves := map[string][]int{}
	for i, p := range pf.Schema().Columns() {
		leaves[p[0]] = append(leaves[p[0]], i)
	}
	for _, field := range pf.Schema().Fields() {
		c := ForeignColumn{Name: field.Name(), leaf: -1}
		if at := leaves[c.Name]; len(at) == 1 {
			c.leaf = at[0]
		}
		c.Refused = refuse(field, c.leaf)
		if c.Refused == "" {
			lt := field.Type().LogicalType()
			c.unsign = lt != nil && unsigned(lt)
		}
		file.Columns = append(file.Columns, c)
	}
	return file, nil
}

// maxFooter bounds the metadata at a file's end, in bytes.
const maxFooter = 64 << 20

// checkFooter says whether the end of a file says where its metadata is: the library
// makes room for as many bytes as stand there, whatever they are.
func checkFooter(f *os.File, size int64) error {
	var end [8]byte
	if size < 12 {
		return errors.New("it has fewer than 12 bytes")
	}
	if _, err := f.ReadAt(end[:], size-8); err != nil {
		return err
	}
	if string(end[4:]) != "PAR1" {
		return errors.New("it does not end with PAR1")
	}
	if n := int64(binary.LittleEndian.Uint32(end[:])); n > min(size-12, maxFooter) {
		return fmt.Errorf("its footer would have %d bytes", n)
	}
	return nil
}

func unsigned(lt *format.LogicalType) bool {
	i, ok := lt.Value.(*format.IntType)
	return ok && !i.IsSigned
}

// refuse says why a column has no plain values.
func refuse(field pq.Field, leaf int) string {
	switch {
	case !field.Leaf() || leaf < 0:
		return "the column is nested; make a column of one plain value first"
	case field.Repeated():
		return "the column holds lists; make a column of one plain value first"
	}
	switch field.Type().Kind() {
	case pq.Boolean, pq.Int32, pq.Int64, pq.Float, pq.Double, pq.ByteArray:
	default:
		return fmt.Sprintf("the column is of the type %v; cast it to a boolean, an integer, a DOUBLE or a string first", field.Type())
	}
	if lt := field.Type().LogicalType(); lt != nil {
		switch lt.Value.(type) {
		case nil, *format.StringType, *format.IntType, *format.EnumType, *format.JsonType:
		default:
			return fmt.Sprintf("the column is of the type %v; cast it to a boolean, an integer, a DOUBLE or a string first", lt)
		}
	}
	return ""
}

func foreignDamage(path string, r any) error {
	return fmt.Errorf("read %s: damaged Parquet file (%v); write it again with the tool that made it", path, r)
}

// Close closes the file.
func (f *Foreign) Close() error { return f.f.Close() }

// Scan reads the given columns (indices in Columns, none of them refused) row by
// row and no others; row counts from 1. The values belong to Scan. It holds a page
// of each column at a time.
func (f *Foreign) Scan(columns []int, fn func(row int64, values []Value) error) (err error) {
	// A damaged file may drive the library out of its bounds; that is an error
	// about the file, never a crash of the program.
	defer func() {
		if r := recover(); r != nil {
			err = foreignDamage(f.path, r)
		}
	}()
	row := int64(0)
	for _, group := range f.pf.RowGroups() {
		if err := f.group(group, columns, &row, fn); err != nil {
			return err
		}
	}
	if n := f.pf.NumRows(); row != n {
		return fmt.Errorf("read %s: has %d rows; its footer says %d", f.path, row, n)
	}
	return nil
}

// group reads one row group.
func (f *Foreign) group(group pq.RowGroup, columns []int, row *int64, fn func(int64, []Value) error) (err error) {
	chunks := group.ColumnChunks()
	cursors := make([]cursor, len(columns))
	defer func() {
		for i := range cursors {
			err = errors.Join(err, cursors[i].close())
		}
	}()
	for i, c := range columns {
		cursors[i] = cursor{pages: chunks[f.Columns[c].leaf].Pages(), unsign: f.Columns[c].unsign}
	}
	values := make([]Value, len(columns))
	for range group.NumRows() {
		for i := range cursors {
			if err := cursors[i].next(&values[i]); err != nil {
				return fmt.Errorf("read %s: column %q after row %d: %w", f.path, f.Columns[columns[i]].Name, *row, err)
			}
		}
		*row++
		if err := fn(*row, values); err != nil {
			return err
		}
	}
	return nil
}

// cursor walks over the values of one column chunk.
type cursor struct {
	pages  pq.Pages
	page   pq.Page
	values pq.ValueReader
	buf    [256]pq.Value
	at, n  int
	unsign bool
}

func (c *cursor) close() error {
	if c.page != nil {
		pq.Release(c.page)
	}
	if c.pages == nil {
		return nil
	}
	return c.pages.Close()
}

// next puts the next value into v.
func (c *cursor) next(v *Value) error {
	for c.at == c.n {
		if err := c.fill(); err != nil {
			return err
		}
	}
	x := &c.buf[c.at]
	c.at++
	switch {
	case x.IsNull():
		*v = Value{}
	case x.Kind() == pq.Boolean:
		*v = Value{Kind: Bool, Bool: x.Boolean()}
	case x.Kind() == pq.Int32 && c.unsign:
		*v = Value{Kind: Int, Int: int64(x.Uint32())}
	case x.Kind() == pq.Int32:
		*v = Value{Kind: Int, Int: int64(x.Int32())}
	case x.Kind() == pq.Int64 && c.unsign && x.Int64() < 0:
		*v = Value{Kind: Float, Float: float64(x.Uint64())}
	case x.Kind() == pq.Int64:
		*v = Value{Kind: Int, Int: x.Int64()}
	case x.Kind() == pq.Float:
		*v = Value{Kind: Float, Float: float64(x.Float())}
	case x.Kind() == pq.Double:
		*v = Value{Kind: Float, Float: x.Double()}
	case x.Kind() == pq.ByteArray:
		*v = Value{Kind: Text, Text: x.ByteArray()}
	default:
		return fmt.Errorf("a value is of the type %v", x.Kind())
	}
	return nil
}

// fill reads values of this page, or of the next one.
func (c *cursor) fill() error {
	if c.values == nil {
		page, err := c.pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return errors.New("the column has fewer values than the file has rows")
		}
		if err != nil {
			return err
		}
		c.page, c.values = page, page.Values()
	}
	n, err := c.values.ReadValues(c.buf[:])
	c.at, c.n = 0, n
	if errors.Is(err, io.EOF) {
		// The values in buf may lie in the page: it is given back when they are used up.
		if n == 0 {
			pq.Release(c.page)
			c.page, c.values = nil, nil
		}
		return nil
	}
	if err == nil && n == 0 {
		return errors.New("a page gives no values")
	}
	return err
}
