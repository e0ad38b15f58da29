"""What a change of @store, of @purge or of a password does to tables and aggregations that have
rows: they go on, and what is not in the store comes into it, or is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from lockstep.events import (
    EventsRecord,
    InputEvent,
    InputRecord,
    LogEntry,
    TickRecord,
    WriteRecord,
)
from lockstep.execute.local import open_local
from lockstep.execute.succession import Succeeded, succeed
from lockstep.plan import build
from lockstep.siddhiql import check

S = "define stream S (k string, v int, t long); "
STORE = "@store(type='rdbms', jdbc.url='jdbc:postgresql://db/x', username='u', password='old') "
BUCKETS = (
    "define aggregation G from S select k, sum(v) as n group by k aggregate by t every min...hour; "
)
TABLE = "@PrimaryKey('k') define table T (k string, v int); "
INTO_TABLE = "from S select k, v update or insert into T on T.k == k; "
MINUTE_MS = 60_000
NO_PURGE = "@purge(enable='false') "

both = pytest.mark.parametrize("columnar", [False, True], ids=["reference", "columns"])


def events(*rows: tuple[Any, ...], at_ms: int = 0) -> EventsRecord:
    """A record of S, a chunk each."""
    return EventsRecord("S", at_ms, tuple((InputEvent(at_ms, row),) for row in rows))


class Upgrade:
    """An app that folded some records and goes on as another text. `rows`: those of the outputs
    behind that."""

    def __init__(self, old: str, new: str, first: Sequence[InputRecord], *, columnar: bool) -> None:
        before, after = build(check(S + old)), build(check(S + new))
        one = open_local(before, columnar=columnar)
        one.run_slice([LogEntry(at, record) for at, record in enumerate(first, 1)])
        self.found: Succeeded = succeed(before, one.snapshot(), after)
        self.executor = open_local(after, columnar=columnar)
        self.executor.restore(self.found.snapshot)

    def run(self, record: InputRecord) -> list[tuple[str, str, tuple[Any, ...]]]:
        """What the outputs are told of one more record."""
        result = self.executor.run_slice([LogEntry(self.executor.position + 1, record)])
        return [(row.stream, row.operation.name, row.data) for row in result.rows]

    def read(self, text: str) -> list[tuple[Any, ...]]:
        """The rows of an on-demand query."""
        return self.executor.on_demand(text)


HOURS = "from G within 0L, 36000000L per 'hour' select k, n"


@both
@pytest.mark.parametrize(
    "about",
    [
        STORE.replace("old", "new"),
        STORE + "@info(description='sales') ",
        STORE + "@purge(enable='true', @retentionPeriod(min='48 hours')) ",
        STORE + NO_PURGE,
    ],
)
def test_buckets_are_exported_as_if_nothing_had_been_changed(about: str, columnar: bool) -> None:
    """Those that are in the store are written when they change, with what was in them before."""
    first = [events(("a", 100, 0)), events(("a", 100, MINUTE_MS))]
    then = events(("a", 1, 65_000), ("a", 1, 30_000), ("a", 5, 60 * MINUTE_MS))
    same = Upgrade(STORE + BUCKETS, STORE + BUCKETS, first, columnar=columnar)
    other = Upgrade(STORE + BUCKETS, about + BUCKETS, first, columnar=columnar)
    rows = other.run(then)
    assert rows == same.run(then)
    assert rows == [
        ("G_MINUTES", "UPSERT", (0, "a", 0, 30_000, 101)),
        ("G_MINUTES", "UPSERT", (MINUTE_MS, "a", MINUTE_MS, 65_000, 101)),
        ("G_HOURS", "UPSERT", (0, "a", 0, 65_000, 202)),
    ]
    assert other.found.lost == ()
    assert other.read(HOURS) == [("a", 202), ("a", 5)]


@both
@pytest.mark.parametrize("old", ["", STORE.replace("db/x", "db/y")], ids=["none", "elsewhere"])
def test_a_new_store_of_buckets_gets_those_that_are_finished(old: str, columnar: bool) -> None:
    """With the next event, and each once."""
    first = [events(("a", 1, 0), ("b", 2, MINUTE_MS), ("a", 4, 60 * MINUTE_MS))]
    upgrade = Upgrade(old + BUCKETS, STORE + BUCKETS, first, columnar=columnar)
    assert upgrade.found.lost == ()
    assert upgrade.run(events(("a", 8, 60 * MINUTE_MS))) == [
        ("G_MINUTES", "UPSERT", (0, "a", 0, 0, 1)),
        ("G_MINUTES", "UPSERT", (MINUTE_MS, "b", MINUTE_MS, MINUTE_MS, 2)),
        ("G_HOURS", "UPSERT", (0, "a", 0, 0, 1)),
        ("G_HOURS", "UPSERT", (0, "b", 0, MINUTE_MS, 2)),
    ]
    assert upgrade.run(events(("a", 16, 61 * MINUTE_MS))) == [
        ("G_MINUTES", "UPSERT", (60 * MINUTE_MS, "a", 60 * MINUTE_MS, 60 * MINUTE_MS, 12)),
    ]


def every(minutes: int) -> str:
    """Purging so often."""
    return f"@purge(enable='true', interval='{minutes} min') "


@both
@pytest.mark.parametrize(
    ("old", "new", "due_minutes"),
    [
        (NO_PURGE, every(20), 50),
        (every(40), NO_PURGE, None),
        (every(60), every(20), 50),
        (every(40), every(40), 40),
    ],
)
def test_when_buckets_are_purged(
    old: str, new: str, due_minutes: int | None, columnar: bool
) -> None:
    """From the upgrade on as the new text says; as before, where it says the same."""
    hours = BUCKETS.replace("min...hour", "sec, hour").replace(" by t", "")
    first: list[InputRecord] = [events(("a", 1, 0)), TickRecord(30 * MINUTE_MS)]
    upgrade = Upgrade(old + hours, new + hours, first, columnar=columnar)
    seconds = "from G within 0L, 36000000L per 'sec' select n"
    assert upgrade.read(seconds) == [(1,)]
    upgrade.run(TickRecord((due_minutes or 600) * MINUTE_MS - 1))
    assert upgrade.read(seconds) == [(1,)]
    upgrade.run(TickRecord((due_minutes or 600) * MINUTE_MS))
    assert upgrade.read(seconds) == ([(1,)] if due_minutes is None else [])


@both
def test_the_rows_that_a_new_store_of_a_table_lacks_are_told(columnar: bool) -> None:
    """And the query that is told writes them."""
    first = [events(("a", 1, 0), ("b", 2, 0))]
    upgrade = Upgrade(TABLE + INTO_TABLE, STORE + TABLE + INTO_TABLE, first, columnar=columnar)
    (told,) = upgrade.found.lost
    assert told.startswith("the store of table 'T' (")
    query = told.partition("query: ")[2].removesuffix(")")
    assert upgrade.run(WriteRecord(query, "once", 0)) == [
        ("T", "UPSERT", ("a", 1)),
        ("T", "UPSERT", ("b", 2)),
    ]


@both
def test_an_empty_table_lacks_nothing_in_its_store(columnar: bool) -> None:
    """Nor one whose password alone is another."""
    into = "from S[v > 9] select k, v update or insert into T on T.k == k; "
    first = [events(("a", 1, 0))]
    empty = Upgrade(TABLE + into, STORE + TABLE + into, first, columnar=columnar)
    assert empty.found.lost == ()
    other = STORE.replace("old", "new")
    same = Upgrade(STORE + TABLE + INTO_TABLE, other + TABLE + INTO_TABLE, first, columnar=columnar)
    assert same.found.lost == ()
    assert same.run(events(("a", 2, 0))) == [("T", "UPSERT", ("a", 2))]


@both
def test_who_sums_up_buckets_goes_on_where_their_store_changes(columnar: bool) -> None:
    """It reads what is in them alone."""
    reading = (
        "@info(name='r') from S join G within 0L, 9000L per 'min' select minForever(G.n) as n"
        " insert into O;"
    )
    old, new = STORE + BUCKETS + reading, STORE.replace("old", "new") + BUCKETS + reading
    first = [events(("a", 1, 0), ("a", 2, 0))]
    upgrade = Upgrade(old, new, first, columnar=columnar)
    assert upgrade.run(events(("a", 4, 0))) == [("O", "EVENT", (1,))]
    assert upgrade.found.lost == ()
