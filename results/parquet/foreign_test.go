package parquet

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/results"
)

// testdata/foreign.parquet is written by testdata/foreign.py with pyarrow: every type
// that a column can have, dictionaries and plain pages, nulls, two row groups.
const foreignFile = "testdata/foreign.parquet"

func scanForeign(path string, want ...string) (rows []string, err error) {
	f, err := OpenForeign(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var columns []int
	for i, c := range f.Columns {
		for _, name := range want {
			if c.Name == name && c.Refused == "" {
				columns = append(columns, i)
			}
		}
	}
	err = f.Scan(columns, func(row int64, values []Value) error {
		var b strings.Builder
		fmt.Fprint(&b, row)
		for _, v := range values {
			switch v.Kind {
			case Null:
				b.WriteString(" null")
			case Bool:
				fmt.Fprintf(&b, " %v", v.Bool)
			case Int:
				fmt.Fprintf(&b, " %d", v.Int)
			case Float:
				fmt.Fprintf(&b, " %v", v.Float)
			case Text:
				fmt.Fprintf(&b, " %s", v.Text)
			}
		}
		rows = append(rows, b.String())
		return nil
	})
	return rows, err
}

func TestForeign(t *testing.T) {
	f, err := OpenForeign(foreignFile)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	refused := map[string]string{"list": "nested", "struct": "nested", "when": "of the type", "decimal": "of the type", "fixed": "of the type"}
	for _, c := range f.Columns {
		want, ok := refused[c.Name]
		if (c.Refused != "") != ok || !strings.Contains(c.Refused, want) {
			t.Errorf("%s: refused %q, want %q", c.Name, c.Refused, want)
		}
	}
	rows, err := scanForeign(foreignFile, "text", "dict", "flag", "i8", "i32", "i64", "u8", "u32", "u64", "f32", "f64", "large")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"1 a x true -1 -2 -3 255 4294967295 1.8446744073709552e+19 0.5 0.25 L",
		"2 null null null null null null null null null null null null",
		"3 b x false 1 2 3 1 2 3 1.5 1.25 M",
		"4 c y true 0 0 0 0 0 0 NaN +Inf N",
	}
	if strings.Join(rows, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
}

// Our own tables read as any other.
func TestForeignReadsOurs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.parquet")
	trials := []results.Trial{{RunID: "r", Scenario: "s", Model: "m", Arm: "a", Outcome: "completed", Verdict: results.Pass}}
	if err := WriteTrials(path, "r", trials); err != nil {
		t.Fatal(err)
	}
	rows, err := scanForeign(path, "scenario", "verdict", "cost_usd")
	if err != nil || len(rows) != 1 || rows[0] != "1 s pass null" {
		t.Errorf("%q, %v", rows, err)
	}
}

// A damaged file is an error, or reads as something, and never a crash.
func FuzzForeign(f *testing.F) {
	data, err := os.ReadFile(foreignFile)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data, 0, byte(0))
	f.Add(data, len(data)-9, byte(0xff))
	for at := 4; at < len(data); at += max(len(data)/40, 1) {
		f.Add(data, at, byte(0x7f))
	}
	f.Fuzz(func(t *testing.T, data []byte, at int, with byte) {
		if len(data) == 0 || len(data) > 1<<16 {
			return
		}
		bad := append([]byte(nil), data...)
		bad[(at%len(bad)+len(bad))%len(bad)] ^= with
		path := filepath.Join(t.TempDir(), "x.parquet")
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := OpenForeign(path)
		if err != nil {
			return
		}
		defer func() { _ = file.Close() }()
		for i, c := range file.Columns {
			if c.Refused == "" {
				_ = file.Scan([]int{i}, func(row int64, _ []Value) error {
					if row > 1000 {
						return errors.New("enough")
					}
					return nil
				})
			}
		}
	})
}

func TestForeignErrors(t *testing.T) {
	dir := t.TempDir()
	data, err := os.ReadFile(foreignFile)
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string][]byte{"empty": nil, "text": []byte("PAR1 and no more"), "cut": data[:len(data)/2], "headless": append([]byte("none"), data[4:]...)} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenForeign(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := OpenForeign(filepath.Join(dir, "absent")); err == nil {
		t.Error("a file that is not there opens")
	}
}
