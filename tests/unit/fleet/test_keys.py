"""Key groups: as crc32 of the key's text says, in columns and one by one."""

from __future__ import annotations

from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa
import pytest

from lockstep.events.columns import EventColumns, arrow_schema
from lockstep.fleet.keys import NO_GROUP, KeyGroups, key_group_of
from lockstep.plan import java, plan_of
from lockstep.plan.fleet import KEY_GROUPS
from lockstep.siddhiql import ast

TEXT = "define stream S (s string, i int, l long, d double, f float, b bool);\n"
PLAN = plan_of(TEXT + "from S[i > 2] select s, str:upper(s) as u, i % 3 as m insert into O;")
ROWS: list[tuple[Any, ...]] = [
    ("a", 1, 2**40, 0.1, 0.1, True),
    ("", -1, -5, -0.0, 1e10, False),
    (None, None, None, None, None, None),
    ("Zürich", 7, 0, 1e-5, 3.5, True),
    ("a", 1, 2**40, 0.1, 0.1, True),
    ("x" * 200, 2**31 - 1, 1, float("nan"), float("inf"), False),
]


def events(copies: int = 1) -> EventColumns:
    """All rows in one chunk, so many times."""
    schema, rows = arrow_schema(PLAN.schemas["S"]), ROWS * copies
    columns = [
        pa.array(column, type_)
        for column, type_ in zip(zip(*rows, strict=True), schema.types, strict=True)
    ]
    batch = pa.RecordBatch.from_arrays(columns, schema=schema)
    return EventColumns("S", 5, False, batch, np.array([len(rows)], np.int32), 5)


def query() -> Any:
    """The query that has the expressions of these tests."""
    (found,) = PLAN.checked.execution
    return found


@pytest.mark.parametrize("place", range(6))
@pytest.mark.parametrize("copies", [1, 40])
def test_a_plain_attribute_by_its_text(place: int, copies: int) -> None:
    """Every type, with nulls, long and empty texts, a few rows and many; equal keys have one
    code."""
    sent = events(copies)
    batch = sent.batch
    keyed = KeyGroups(PLAN, "S", ast.Variable(batch.schema.names[place]))
    groups, codes = keyed.of(sent), keyed.codes(sent, np.arange(len(sent)))
    for i, value in enumerate(batch.column(place).to_pylist()):
        if value is None:
            assert groups[i] == NO_GROUP
            continue
        text = java.text(value, single=place == 4)
        mixed = crc32(text.encode()) * 0x9E3779B1 % 2**32 >> 25
        assert groups[i] == mixed == key_group_of(text)
    assert codes[0] == codes[4]
    assert len(set(codes.tolist())) == (3 if place == 5 else 5)


def test_many_different_texts() -> None:
    """Summed byte by byte over all of them at once."""
    texts = [f"{'k' * (i % 40)}{i}" for i in range(3000)]
    batch = pa.RecordBatch.from_pydict({"k": texts}).slice(7)
    made = EventColumns("S", 5, False, batch, np.ones(len(batch), np.int32), 5)
    plan = plan_of("define stream S (k string); from S select k insert into O;")
    found = KeyGroups(plan, "S", ast.Variable("k")).of(made)
    assert found.tolist() == [key_group_of(text) for text in texts[7:]]


@pytest.mark.parametrize("item", [1, 2])
def test_an_expression_as_columns_and_the_reference_have_it(item: int) -> None:
    """A function of a text, and arithmetic."""
    key = query().selection[item].expression
    groups = KeyGroups(PLAN, "S", key)
    singly = KeyGroups(PLAN, "S", key)
    singly._columns = None
    one, other = groups.of(events()), singly.of(events())
    assert one.tolist() == other.tolist()
    # A function that refuses null leaves an event whose key can't be told.
    assert one[2] == (key_group_of("") if item == 1 else NO_GROUP)
    assert len(set(one.tolist())) > 2


def test_events_that_do_not_count_have_no_group() -> None:
    """`where`, in columns and one by one."""
    where = query().query.input.handlers[0].condition
    for columns in (True, False):
        groups = KeyGroups(PLAN, "S", ast.Variable("s"), where)
        if not columns:
            groups._columns = None
        found = (groups.of(events()) != NO_GROUP).tolist()
        assert found == [False, False, False, True, False, True]


def test_short_keys_spread_over_the_partitions() -> None:
    """Digits and letters do not all belong to one half."""
    for keys in ("0123456789", "abcdefghij"):
        halves = {key_group_of(key) * 2 // KEY_GROUPS for key in keys}
        assert halves == {0, 1}
