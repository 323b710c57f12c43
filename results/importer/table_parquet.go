package importer

import (
	"fmt"
	"slices"

	"github.com/harnessbench/harnessbench/results/parquet"
)

// parquet reads a Parquet file of any tool: the columns that fields take, and no
// others.
func (b *tableBuilder) parquet(path string) error {
	b.t.Format = "Parquet"
	file, err := parquet.OpenForeign(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // read only: nothing to lose
	var names []string
	for _, c := range file.Columns {
		names = append(names, c.Name)
	}
	if err := b.bind(names); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := b.needed(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var fields []field
	var columns []int
	for f := range nFields {
		if b.bound[f] == "" {
			continue
		}
		i := slices.Index(names, b.bound[f])
		if why := file.Columns[i].Refused; why != "" {
			return fmt.Errorf("%s: %s: %s", path, describe(f, b.bound[f]), why)
		}
		fields, columns = append(fields, f), append(columns, i)
	}
	var cells [nFields]cell
	return file.Scan(columns, func(row int64, values []parquet.Value) error {
		for i := range values {
			cells[fields[i]] = parquetCell(&values[i])
		}
		if err := b.add(&cells, int(row), func(field) error { return nil }); err != nil {
			return fmt.Errorf("%s: row %d: %w", path, row, err)
		}
		return nil
	})
}

func parquetCell(v *parquet.Value) cell {
	switch v.Kind {
	case parquet.Bool:
		return cell{kind: kBool, bool: v.Bool}
	case parquet.Int:
		return cell{kind: kInt, int: v.Int}
	case parquet.Float:
		return cell{kind: kFloat, num: v.Float}
	case parquet.Text:
		return cell{kind: kText, text: v.Text}
	}
	return cell{kind: kNull}
}
