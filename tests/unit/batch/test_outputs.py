"""Where a script's rows go: what a header may say, and rows as events."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from lockstep.batch.header import Language, ScriptError, header_of
from lockstep.batch.model import Run
from lockstep.batch.outputs import NoOutputError, ToSink, ToStream, ToTable, output_of
from lockstep.batch.rows_out import misfit, output_rows, schema_of
from lockstep.events import AttributeType

STORE = "@store(type='rdbms', table.name='daily') @primaryKey('page', 'day')"


@pytest.mark.parametrize(
    ("text", "told", "columns"),
    [
        ("@sink(type='log')", "sink log", ()),
        ("@sink(type='http', publisher.url='http://x/{{ page }}', @map(type='json',"
         " @payload('{{n}} of {{page}}')))", "sink http", ("page", "n")),
        (STORE, "sink rdbms", ("page", "day")),
        ("@primaryKey('a') @Store(type='rdbms', table.name='t')", "sink rdbms", ("a",)),
        ("@sink(type='file', file.uri='/tmp/x', @distribution(strategy='partitioned',"
         " partitionKey='who', @destination(file.uri='/a'), @destination(file.uri='/b')))",
         "sink file", ("who",)),
    ],
)  # fmt: skip
def test_sinks_are_taken_as_in_apps(text: str, told: str, columns: tuple[str, ...]) -> None:
    """With the columns that they name."""
    found = output_of(text, "s")
    assert isinstance(found, ToSink)
    assert (str(found), found.columns) == (told, columns)
    assert found.annotation.name.lower() in ("sink", "store")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("@sink(type='htp')", "no sink 'htp'"),
        ("@sink(type='http')", "needs 'publisher.url'"),
        ("@sink(type='log') @sink(type='log')", "one @sink"),
        ("@source(type='http')", "one @sink"),
        ("@store(type='rdbms') @sink(type='log')", "one @sink"),
        ("@sink(type='log') define stream A (a int);", "one @sink"),
        ("@app:name('X') @sink(type='log')", "one @sink"),
        ("@sink(type='log'", r"expected|\)"),
        ("@sink(type='log', on.error='STREAM')", "no fault stream"),
        ("@store(type='rdbms', mode='copy')", "writes its table alone"),
        ("file /tmp/x", "is no output"),
    ],
)
def test_what_is_no_output(text: str, told: str) -> None:
    """Is said when the script is deployed, not when it runs."""
    with pytest.raises(NoOutputError, match=told):
        output_of(text, "s")


def test_annotations_go_on_in_the_next_lines_of_a_header() -> None:
    """Until their brackets are closed, or with a line that begins another; brackets in texts do
    not count. Mistakes are told at the line where they began."""
    text = "-- output: @store(type='rdbms',\n--   table.name=':(')\n--   @primaryKey('page')\n"
    text += "-- retries: 1\n-- (a remark)\nselect 1"
    found = header_of(text, Language.SQL, "s")
    assert isinstance(found.output, ToSink)
    assert (found.output.columns, found.retries) == (("page",), 1)
    assert found.output.annotation.get("table.name") == ":("
    with pytest.raises(ScriptError) as caught:
        header_of(text.replace("rdbms", "rdbm"), Language.SQL, "s")
    assert [one.line for one in caught.value.errors] == [1]
    assert header_of("-- output: table\n-- @x\nselect 1", Language.SQL, "s").output == ToTable("s")
    assert output_of("stream A.B", "s") == ToStream("A", "B")


def test_columns_become_attributes_and_values_what_siddhiql_has() -> None:
    """Whatever Spark gives; each row has the due time and its number, wherever a part begins."""
    at = dt.datetime(2026, 3, 1, 6, tzinfo=dt.UTC)
    rows = pa.table(
        {
            "tiny": pa.array([1], pa.int8()), "n": pa.array([2], pa.int32()),
            "big": pa.array([3], pa.int64()), "wide": pa.array([4], pa.uint32()),
            "half": pa.array([0.5], pa.float32()), "x": [1.5], "yes": [True], "who": ["ann"],
            "money": [Decimal("1.25")], "at": pa.array([at], pa.timestamp("us", "UTC")),
            "day": [dt.date(2026, 3, 1)], "all": [[1, 2]], "none": pa.nulls(1),
        }
    )  # fmt: skip
    kind = AttributeType
    schema = schema_of(rows, "s")
    assert schema.types == (
        kind.INT, kind.INT, kind.LONG, kind.LONG, kind.FLOAT, kind.DOUBLE, kind.BOOL, kind.STRING,
        kind.DOUBLE, kind.LONG, kind.STRING, kind.OBJECT, kind.STRING,
    )  # fmt: skip
    (row,) = output_rows(rows, Run("s", 1, "d", 77), "s", 40)
    at_ms = 1_772_344_800_000
    values = (1, 2, 3, 4, 0.5, 1.5, True, "ann", 1.25, at_ms, "2026-03-01", [1, 2], None)
    assert row.data == values
    assert (row.id.position, row.id.ordinal, row.timestamp_ms) == (77, 40, 77)


def test_rows_without_a_column_that_the_output_names_cannot_go_there() -> None:
    """The key, or what stands in a template."""
    output = output_of(STORE, "s")
    assert isinstance(output, ToSink)
    assert misfit(pa.table({"page": ["/"], "day": ["x"]}), output) is None
    assert "the column 'day', and the rows have page, n" in str(
        misfit(pa.table({"page": ["/"], "n": [1]}), output)
    )
