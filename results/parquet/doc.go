// Package parquet writes and reads the tables of a run. It is the only
// importer of parquet-go.
//
// Its part of the pipeline:
//
//  1. When all trials are in, their rows come here in canonical order.
//  2. [WriteTrials], [WriteVerdicts] and [WriteGuardEvents] write one file
//     each: zstd, typed by the struct tags of the row types, timestamps as
//     timestamps, unknown as null, schema version and run id in the key-value
//     metadata. A file appears by rename, so it is whole or absent, and equal
//     rows give equal bytes.
//  3. [ReadTrials] and its like read them back, and say clearly when a file is
//     no table of this project.
//
// DuckDB, pandas and Polars read the files unchanged.
package parquet
