package parquet

import "github.com/harnessbench/harnessbench/results"

// ScanTrials reads trials.parquet in batches as [Scan] does, but leaves tags and guards in
// the columns in which the table has them: readers of very many rows need not make the
// lists of each. A batch and its rows are reused once fn has returned; strings may be kept.
func ScanTrials(path string, fn func(batch []results.Trial) error) (runID string, err error) {
	return scanFile(path, tableOf[results.Trial](), fn)
}
