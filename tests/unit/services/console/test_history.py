"""Answers about the past that people take along."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq

from lockstep_services.console.pages.history import csv_of, parquet_of

ANSWER = {
    "columns": ["user", "amount", "on_time", "day", "user"],
    "types": ["string", "double", "bool", "date32[day]", "int64"],
    "rows": [["ann", 1.5, True, "2026-03-01", 7], [None, None, False, None, None]],
}


def test_a_csv_has_the_names_and_all_rows() -> None:
    """A value that is not there is empty."""
    lines = csv_of(ANSWER).splitlines()
    assert lines == ["user,amount,on_time,day,user", "ann,1.5,True,2026-03-01,7", ",,False,,"]


def test_parquet_keeps_types_and_what_is_not_there() -> None:
    """Two columns of one name are told apart; a type that JSON has not comes as its text."""
    found = pq.read_table(io.BytesIO(parquet_of(ANSWER)))
    assert found.column_names == ["user", "amount", "on_time", "day", "user_2"]
    wanted = [pa.string(), pa.float64(), pa.bool_(), pa.string(), pa.int64()]
    assert found.schema.types == wanted
    columns = [column.to_pylist() for column in found.columns]
    assert [list(row) for row in zip(*columns, strict=True)] == ANSWER["rows"]


def test_an_answer_without_rows_is_a_file_with_columns() -> None:
    """So whoever reads it sees the names."""
    found = pq.read_table(io.BytesIO(parquet_of({**ANSWER, "rows": []})))
    assert (found.num_rows, found.num_columns) == (0, 5)
