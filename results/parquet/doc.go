// Package parquet writes and reads the tables of a run. It is the only
// importer of parquet-go.
//
// Its part of the pipeline:
//
//  1. When all trials are in, somebody reads their rows in canonical order, one
//     trial at a time, and hands them to one [Writer] per table ([Create],
//     [Writer.Write], [Writer.Close]); whoever has all rows at once calls
//     [Write].
//  2. A table is zstd, typed by the struct tags of its row type, with timestamps
//     as timestamps, unknown as null, and schema version and run id, nothing
//     else, in the key-value metadata. A file appears by rename, so it is whole
//     or absent, and equal rows give equal bytes however they were cut into
//     writes.
//  3. [Read] and [Scan] read a table back and say clearly when a file is no table
//     of this project; [ReadDataset] reads one table of many runs.
//
// DuckDB, pandas and Polars read the files unchanged; docs/analysis.md has
// queries that were run.
package parquet
