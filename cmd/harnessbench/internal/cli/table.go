package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// Table prints rows in columns set left, two spaces between them, heads on the
// first line. Cells are made safe for a terminal; each row is one line.
func Table(w io.Writer, heads []string, rows [][]string) error {
	var b bytes.Buffer
	cell := tw.CellConfig{
		Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone, AutoFormat: tw.Off},
		Alignment:  tw.CellAlignment{Global: tw.AlignLeft},
		Padding:    tw.CellPadding{Global: tw.Padding{Left: "", Right: "  ", Overwrite: true}},
	}
	none := tw.Off
	t := tablewriter.NewTable(&b,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders: tw.BorderNone,
			Settings: tw.Settings{
				Separators: tw.Separators{ShowHeader: none, ShowFooter: none, BetweenRows: none, BetweenColumns: none},
				Lines:      tw.Lines{ShowTop: none, ShowBottom: none, ShowHeaderLine: none, ShowFooterLine: none},
			},
		})),
		tablewriter.WithConfig(tablewriter.Config{Header: cell, Row: cell}),
		tablewriter.WithTrimSpace(tw.Off),
		tablewriter.WithEastAsian(tw.Off), // the width must not depend on the locale
	)
	t.Header(heads)
	for _, row := range rows {
		safe := make([]string, len(row))
		for i, c := range row {
			safe[i] = SanitizeLine(c)
		}
		if err := t.Append(safe); err != nil {
			return fmt.Errorf("table: %w", err)
		}
	}
	if err := t.Render(); err != nil {
		return fmt.Errorf("table: %w", err)
	}
	var out strings.Builder
	for _, line := range strings.Split(strings.TrimRight(b.String(), "\n"), "\n") {
		out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}
