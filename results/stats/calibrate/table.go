package main

import (
	"fmt"
	"io"
	"strings"
)

// table is a Markdown table.
type table struct {
	head []string
	rows [][]string
}

func (t table) print(w io.Writer) error {
	line := func(cells []string) string { return "| " + strings.Join(cells, " | ") + " |\n" }
	var b strings.Builder
	b.WriteString(line(t.head))
	b.WriteString(strings.Repeat("|---", len(t.head)) + "|\n")
	for _, r := range t.rows {
		b.WriteString(line(r))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// percent writes a share, without the sign; a dash where nothing was counted.
func percent(s share) string {
	if s.n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", 100*s.value())
}
