"""Each change of a table by itself: out of PostgreSQL's messages, and by polling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from lockstep.clock import VirtualClock
from lockstep.databases import DatabaseError, ReadRows, RowOperation, datasource_of_url
from lockstep.databases.mysql.binlog import place_number
from lockstep.databases.polling import (
    Polling,
    events_of,
    literal_of,
    place_of,
    question_of,
    taken,
)
from lockstep.databases.postgres.listening import RowReader
from lockstep.databases.postgres.pgoutput import (
    UNCHANGED,
    Begin,
    Commit,
    Deleted,
    Relation,
    Truncated,
    Written,
)

ALL = frozenset(RowOperation)
SHAPE = Relation(7, "public", "t", ("id", "name", "fine"), (23, 1042, 16))


def test_messages_become_changes() -> None:
    """With the row as it is and as it was; other tables and TRUNCATE tell nothing."""
    messages = (
        Begin(1, 1), SHAPE,
        Written(7, ("1", "ann  ", "t"), is_new=True),
        Written(8, ("9",), is_new=True),
        Written(7, ("1", None, "f"), ("1", "ann", "t")),
        Written(7, ("1", UNCHANGED, "f")),
        Truncated((7,)),
        Deleted(7, ("1", None, None)),
        Commit(0x1_0000_0020),
    )  # fmt: skip
    [found] = RowReader(7, ALL, "m").transactions(messages)
    assert found.end == 0x1_0000_0020
    assert [one.entries for one in found.events] == [
        {"id": 1, "name": "ann", "fine": True},
        {"id": 1, "name": None, "fine": False, "before_id": 1, "before_name": "ann",
         "before_fine": True},
        {"id": 1, "fine": False, "before_id": None, "before_name": None, "before_fine": None},
        {"before_id": 1, "before_name": None, "before_fine": None},
    ]  # fmt: skip
    assert [one.id for one in found.events] == [f"m/1/20/{n}" for n in range(4)]


def test_an_identity_does_not_depend_on_what_is_wanted() -> None:
    """So a source whose operations change never takes one change for another."""
    messages = (SHAPE, Written(7, ("1", "a", "t"), is_new=True), Deleted(7, ("1", "a", "t")))
    [found] = RowReader(7, {RowOperation.DELETE}, "m").transactions((*messages, Commit(5)))
    assert [(one.id, one.operation) for one in found.events] == [("m/0/5/1", RowOperation.DELETE)]


def test_places_grow_from_file_to_file() -> None:
    """Whatever the position in the one before."""
    assert place_number("log.000009", 2**32 - 1) < place_number("log.000010", 4)


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        (0, "0"),
        (41, "41"),
        ("2026-03-01T09:59:00.000007", "'2026-03-01 09:59:00.000007'"),
        ("2026-03-01", "'2026-03-01 00:00:00.000000'"),
        ("2026-03-01T09:59:00+02:00", "'2026-03-01 07:59:00.000000'"),
    ],
)
def test_a_polled_value_is_a_place_and_back(value: Any, literal: str) -> None:
    """A number of 1 or more, from which the question is made again."""
    assert place_of(value, "c") >= 1
    assert literal_of(place_of(value, "c"), "mysql") == literal


@pytest.mark.parametrize("value", [-1, 2**62, True, 1.5, "S001", "1969-12-31", None])
def test_what_cannot_be_polled_is_told(value: Any) -> None:
    """With the column, the value and what to do."""
    with pytest.raises(DatabaseError, match=r"'c' holds .*") as told:
        place_of(value, "c")
    assert "listening" in str(told.value.hint)


def test_names_are_quoted() -> None:
    """As each database does it."""
    assert question_of("a.b", "c`", "mysql", 0, 5) == (
        "SELECT * FROM `a`.`b` WHERE `c``` IS NOT NULL ORDER BY `c``` LIMIT 5"
    )
    assert question_of("t", 'c"', "postgresql", 8, 5) == (
        'SELECT * FROM "t" WHERE "c""" > 7 ORDER BY "c""" LIMIT 5'
    )


def test_rows_of_one_value_are_taken_together() -> None:
    """Those of the last one wait where the answer was cut, and where it is a time that is new."""
    numbers = [{"c": 1}, {"c": 2}, {"c": 2}]
    assert [row["c"] for _, row in taken(numbers, "c", False, 0)] == [1, 2, 2]
    assert [row["c"] for _, row in taken(numbers, "c", True, 0)] == [1]
    times = [{"c": "2026-03-01T00:00:01"}, {"c": "2026-03-01T00:00:02"}]
    assert len(taken(times, "c", False, 0)) == 1
    assert len(taken(times, "c", False, place_of(times[1]["c"], "c"))) == 2


def test_rows_have_identities_in_any_order() -> None:
    """Equal rows are counted."""
    one, two = (5, {"c": 4, "n": "a"}), (5, {"c": 4, "n": "b"})
    there = {event.id for event in events_of([one, two, one], "m")}
    assert len(there) == 3
    assert there == {event.id for event in events_of([one, one, two], "m")}


class Remembered:
    """What outlives the one who polls."""

    def __init__(self) -> None:
        self.values: dict[str, int] = {}

    async def get(self, name: str) -> int:
        return self.values.get(name, 0)

    async def put(self, name: str, value: int) -> None:
        self.values[name] = value


async def test_polling_goes_on_behind_what_is_settled() -> None:
    """It begins behind what is there; what was not settled comes again under the same ids."""
    rows: list[Sequence[Any]] = [(1, "old")]

    async def ask(select: str, max_rows: int) -> ReadRows:
        if "MAX(" in select:
            return ReadRows(("max",), [(max((row[0] for row in rows), default=None),)], False)
        behind = int(select.partition("> ")[2].partition(" ")[0])
        return ReadRows(("id", "name"), [row for row in rows if row[0] > behind], False)

    clock, memory = VirtualClock(), Remembered()

    def polling() -> Polling:
        where = datasource_of_url("d", "mysql://h/d")
        return Polling(where, ask, "t", "id", "mark", memory, clock, interval_ms=1_000)

    first = polling()
    assert list(await first.read(max_rows=9, wait_ms=0)) == []
    rows += [(2, "a"), (3, "b")]
    second = polling()
    found = await second.read(max_rows=9, wait_ms=0)
    assert [one.entries["id"] for one in found] == [2, 3]
    third = polling()
    assert list(await third.read(max_rows=9, wait_ms=0)) == list(found)
    await third.settle()
    rows.append((4, "c"))
    [last] = await polling().read(max_rows=9, wait_ms=0)
    assert last.entries == {"id": 4, "name": "c"}
