package report

import (
	"path/filepath"
	"testing"

	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/results/internal/docs"
)

// TestReportDocumented: every member of report.json says what it means, and the
// page says the same. Members that occur in many places are described once.
func TestReportDocumented(t *testing.T) {
	page := filepath.Join("..", "..", "docs", "results.md")
	for name, v := range map[string]any{
		"report": Summary{}, "report-section": Section{}, "report-arm": Arm{}, "report-contrast": Contrast{}, "report-estimate": Estimate{},
		"report-test": P{}, "report-factorial": Factorial{},
	} {
		cols, err := results.Columns(v)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := docs.Check(page, name, results.MarkdownTable(without(cols, name)), *update); err != nil {
			t.Error(err)
		}
	}
}

// without leaves out what a table of its own describes.
func without(cols []results.Column, table string) []results.Column {
	own := map[string][]string{
		"report":           {"arms[].", "comparisons[].", "guards[].", "harms.", "factorials[]."},
		"report-section":   {"arms[].", "comparisons[].", "guards[].", "factorials[]."},
		"report-arm":       {"by_k[].hat.", "by_k[].at."},
		"report-contrast":  {"over_all.", "over_all_test.", "cost_diff.", "where_fired.estimate.", "where_fired.test.", "cost_ratio.estimate.", "cost_of_pass_ratio.estimate."},
		"report-factorial": {"effects[].estimate.", "effects[].test."},
	}[table]
	var out []results.Column
next:
	for _, c := range cols {
		for _, prefix := range own {
			if len(c.Name) > len(prefix) && c.Name[:len(prefix)] == prefix {
				continue next
			}
		}
		out = append(out, c)
	}
	return out
}
