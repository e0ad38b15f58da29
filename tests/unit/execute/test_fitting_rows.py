"""Rows of the output log that were published before an upgrade, as their stream is now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lockstep.events import Attribute, AttributeType, Operation, OutputId, OutputRow, StreamSchema
from lockstep.events.columns import arrow_schema
from lockstep.events.outputs import OutputColumns, Places, RowsOfColumns, in_columns, joined
from lockstep.execute.fitting import fitted_rows


def schema_of(text: str) -> StreamSchema:
    """Of the stream with those attributes."""
    pairs = (each.split() for each in text.split(", "))
    return StreamSchema("O", tuple(Attribute(name, AttributeType(kind)) for name, kind in pairs))


def published(
    had: str, *values: tuple[Any, ...], operation: Operation = Operation.EVENT, begin: int = 1
) -> RowsOfColumns:
    """Rows from when the stream had those attributes; none are named if it had none."""
    rows = [
        OutputRow(OutputId(at, 0), "O", at * 10, data, operation)
        for at, data in enumerate(values, begin)
    ]
    return in_columns(rows, {"O": schema_of(had)} if had else None)


def values_of(rows: Sequence[OutputRow]) -> list[tuple[Any, ...]]:
    """Of each row."""
    return [row.data for row in rows]


@pytest.mark.parametrize("had", ["k string, v int", ""])
def test_rows_of_the_definition_of_now_are_not_touched(had: str) -> None:
    """Nor are those whose values have no names: they stand by place, whatever they hold."""
    rows = published(had, ("a", 1), ("b", None))
    found, misfits = fitted_rows(rows, schema_of("k string, v int"))
    assert not misfits
    assert [one.batch for one in found.columns] == [one.batch for one in rows.columns]


@pytest.mark.parametrize(
    ("now", "data"),
    [
        ("k string, w int, v int", ("a", 2, 1)),
        ("v long, k string, w double", (1, "a", 2.0)),
        ("k string, v int, z int", ("a", 1, 2)),
        ("z string, w int, v int", ("a", 2, 1)),
    ],
)
@pytest.mark.parametrize("operation", Operation)
def test_values_are_found_by_their_names(
    now: str, data: tuple[Any, ...], operation: Operation
) -> None:
    """In whatever order, in the types of now; what has a new name takes what is left over. Whole
    deletions, too."""
    rows = published("k string, v int, w int", ("a", 1, 2), operation=operation)
    found, misfits = fitted_rows(rows, schema_of(now))
    assert list(found) == [OutputRow(OutputId(1, 0), "O", 10, data, operation)]
    assert [type(value) for value in found[0].data] == [type(value) for value in data]
    assert misfits == []


@pytest.mark.parametrize(
    ("now", "data"), [("c1 string, c0 long", ("a", 1)), ("c0 long, c1 string", (1, "a"))]
)
def test_attributes_may_be_called_as_values_are_that_nobody_named(
    now: str, data: tuple[Any, ...]
) -> None:
    """Their names count, where the stream has the same ones now."""
    found, misfits = fitted_rows(published("c0 int, c1 string", (1, "a")), schema_of(now))
    assert values_of(found) == [data]
    assert (found.columns[0].batch.schema, misfits) == (arrow_schema(schema_of(now)), [])


def test_a_row_that_does_not_fit_costs_none_of_those_beside_it() -> None:
    """It is told as it was published: with its names in their order. The others keep their order
    among rows of before and of now."""
    before = published("k string, v long", ("a", 1), ("b", 1 << 40), ("c", 3))
    now = published("v int, k string", (4, "d"), begin=4)
    found, (misfit,) = fitted_rows(joined([before, now]), schema_of("v int, k string"))
    assert values_of(found) == [(1, "a"), (3, "c"), (4, "d")]
    assert [row.id.position for row in found] == [1, 3, 4]
    assert (misfit.names, misfit.rows.rows()) == (("k", "v"), [before[1]])
    assert misfit.reason == "'O.v' holds a long that is no int: 1099511627776"


@pytest.mark.parametrize("had", ["k string, v int", ""])
@pytest.mark.parametrize("now", ["k string, v int, x int", "k string"])
def test_rows_with_another_number_of_values_do_not_fit(had: str, now: str) -> None:
    """As on the input side, nothing is made up and nothing is lost."""
    rows = published(had, ("a", 1), ("b", 2))
    found, (misfit,) = fitted_rows(rows, schema_of(now))
    assert len(found) == 0
    assert misfit.names == (("k", "v") if had else ("c0", "c1"))
    assert misfit.rows.rows() == list(rows)
    assert misfit.reason == (
        f"published with 2 values; 'O' has {len(schema_of(now).names)} attributes now"
    )


def test_deletions_may_bear_the_values_of_the_key_alone() -> None:
    """They have no names, and pass as they are; a change among them does not."""
    gone = published("", ("a",), ("b",), operation=Operation.DELETE)
    there = published("", ("c",), operation=Operation.UPSERT, begin=3)
    found, (misfit,) = fitted_rows(joined([gone, there]), schema_of("k string, v int"))
    assert list(found) == list(gone)
    assert misfit.rows.rows() == list(there)


def test_rows_that_pass_keep_what_stands_beside_their_values() -> None:
    """What they do, and where in its position each was brought."""
    (columns,) = published("k string, v string", ("a", None), ("b", "x"), ("c", None)).columns
    operations = np.array([Operation.UPSERT, Operation.UPSERT, Operation.DELETE], np.int8)
    places = Places(*(np.arange(3) + at for at in (10, 20, 30)))
    rows = RowsOfColumns([replace(columns, operations=operations, places=places)])
    found, (misfit,) = fitted_rows(rows, schema_of("v int, k string"))
    assert [(row.data, row.operation) for row in found] == [
        ((None, "a"), Operation.UPSERT),
        ((None, "c"), Operation.DELETE),
    ]
    assert _places(found.columns[0]) == [[10, 12], [20, 22], [30, 32]]
    assert _places(misfit.rows) == [[11], [21], [31]]
    assert misfit.reason == "'O.v' holds string; the app has int: 'x'"


def _places(columns: OutputColumns) -> list[list[int]]:
    assert columns.places is not None
    return [each.tolist() for each in columns.places]
