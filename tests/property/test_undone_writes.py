"""A table whose changes were undone is the table that it was, for whatever comes after."""

from __future__ import annotations

import contextlib
from typing import Any

import hypothesis.strategies as st
from hypothesis import given

from lockstep.events import Attribute, AttributeType, Operation, StreamSchema
from lockstep.tables.meaning.table import Table

SCHEMA = StreamSchema(
    "T",
    (
        Attribute("k", AttributeType.STRING),
        Attribute("n", AttributeType.INT),
        Attribute("v", AttributeType.INT),
    ),
)
KINDS = [((), ()), ((), (2,)), ((0,), ()), ((0,), (2,)), ((1,), ()), ((0, 1), (2,))]
Step = tuple[str, str, int, int]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["insert", "delete", "update", "move"]),
        st.sampled_from("abc"),
        st.integers(0, 3),
        st.integers(0, 3),
    ),
    max_size=15,
)


class _StopError(Exception):
    """The block ends with it."""


def _do(table: Table, steps: list[Step], start: int) -> None:
    for at, (what, k, n, v) in enumerate(steps, start):
        match what:
            case "insert":
                table.insert(at, (k, n, v))
            case "delete":
                table.delete([row for row in table.content() if row.data[2] == v])
            case "update":
                found = [row for row in table.content() if row.data[0] == k]
                table.update([(row, (*row.data[:2], v)) for row in found], at)
            case _:
                found = [row for row in table.content() if row.data[1] == n][:1]
                table.update([(row, (k, v, row.data[2])) for row in found], at)


def _seen(table: Table) -> Any:
    indexed = [
        [(row.number, row.data) for row in table.rows.by_values((2,), (value,))]
        for value in range(4)
        if table.rows.index((2,), build=False)
    ]
    return (
        table.snapshot(),
        [(row.number, row.timestamp_ms, row.data) for row in table.content()],
        indexed,
    )


@given(st.sampled_from(KINDS), STEPS, STEPS, STEPS)
def test_nothing_is_left_of_what_was_undone(
    kind: tuple[tuple[int, ...], tuple[int, ...]],
    before: list[Step],
    undone: list[Step],
    after: list[Step],
) -> None:
    """Rows, their order, numbers and indexes; and what listeners hear."""
    table, other = Table(SCHEMA, *kind), Table(SCHEMA, *kind)
    heard: list[list[tuple[Operation, Any]]] = [[], []]
    table.listen(lambda operation, data: heard[0].append((operation, data)))
    other.listen(lambda operation, data: heard[1].append((operation, data)))
    for each in (table, other):
        _do(each, before, 0)
    with contextlib.suppress(_StopError), table.all_or_nothing():
        _do(table, undone, 100)
        raise _StopError
    assert _seen(table) == _seen(other)
    with table.all_or_nothing():
        _do(table, after, 200)
    _do(other, after, 200)
    assert _seen(table) == _seen(other)
    assert heard[0] == heard[1]
