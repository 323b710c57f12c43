"""Writes foreign.parquet, with pyarrow: the types that other tools' tables have."""
import datetime
import decimal

import pyarrow as pa
import pyarrow.parquet as pq

nan, inf = float("nan"), float("inf")
table = pa.table({
    "text": pa.array(["a", None, "b", "c"], pa.string()),
    "dict": pa.array(["x", None, "x", "y"], pa.string()).dictionary_encode(),
    "flag": pa.array([True, None, False, True], pa.bool_()),
    "i8": pa.array([-1, None, 1, 0], pa.int8()),
    "i32": pa.array([-2, None, 2, 0], pa.int32()),
    "i64": pa.array([-3, None, 3, 0], pa.int64()),
    "u8": pa.array([255, None, 1, 0], pa.uint8()),
    "u32": pa.array([2**32 - 1, None, 2, 0], pa.uint32()),
    "u64": pa.array([2**64 - 1, None, 3, 0], pa.uint64()),
    "f32": pa.array([0.5, None, 1.5, nan], pa.float32()),
    "f64": pa.array([0.25, None, 1.25, inf], pa.float64()),
    "large": pa.array(["L", None, "M", "N"], pa.large_string()),
    "list": pa.array([[1], None, [2, 3], []], pa.list_(pa.int64())),
    "struct": pa.array([{"a": 1}, None, {"a": 2}, {"a": 3}]),
    "when": pa.array([datetime.datetime(2026, 1, 1)] * 4, pa.timestamp("us")),
    "decimal": pa.array([decimal.Decimal("1.50")] * 4, pa.decimal128(9, 2)),
    "fixed": pa.array([b"1234"] * 4, pa.binary(4)),
})
pq.write_table(table, "foreign.parquet", row_group_size=2, compression="snappy")
