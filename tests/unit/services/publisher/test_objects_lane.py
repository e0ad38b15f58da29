"""Rows that stand together in objects: each once, however publishers die, overlap and cut."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator, Sequence

import pytest

from lockstep.events import OutputRow, UnavailableError
from lockstep.mapping import MessageWriter, build_distribution
from lockstep.sinks.objects import Gathering, MadeObject, ObjectSink
from lockstep_services.publisher.contract import (
    Batch,
    RowsRefusedError,
    SinkBinding,
    SinkSetupError,
)
from lockstep_services.publisher.sinks.cursor import StoredCursorSink
from lockstep_services.publisher.sinks.objects import objects_lane
from tests.unit.services.publisher.parts import Cursors, KilledError, Mortal, row, sink_of


class Shelf(ObjectSink):
    """Objects in memory, which outlive publishers; away as often as told."""

    def __init__(self, made: dict[str, MadeObject], rows: int = 3) -> None:
        self.made = made
        self.gathering = Gathering(rows, 1_000)
        self.path = ("out", "{{k}}")
        self.away = 0
        self.killed = 0

    async def create(self, made: MadeObject, *, anew: bool) -> str | None:
        if self.away:
            self.away -= 1
            raise OSError("away")
        await asyncio.sleep(0)
        there = self.made.get(made.name)
        if there is None or anew:
            self.made[made.name] = made
        if self.killed:
            self.killed -= 1
            raise KilledError
        return None if there is None or anew else there.last

    @property
    def values(self) -> list[int]:
        """Of all rows, by path, in the order of the names."""
        lines = [line for name in sorted(self.made) for line in self._lines(name)]
        return [json.loads(line)["event"]["v"] for line in lines]

    def _lines(self, name: str) -> Sequence[bytes]:
        return self.made[name].payload.splitlines()


def sink(shelf: Shelf, cursors: Cursors, mapping: str = "type='json'") -> StoredCursorSink:
    """As the publisher builds it; what was in memory before is gone."""
    schema, annotation = sink_of(
        f"@sink(type='log', @map({mapping})) define stream S (k string, v int);"
    )
    binding = SinkBinding("A", schema, "S.0.shelf")
    lane = objects_lane(binding, MessageWriter(schema, annotation), shelf)
    return StoredCursorSink(binding, cursors, build_distribution(schema, annotation), [lane])


def rows(count: int, paths: str = "a") -> list[OutputRow]:
    """Two of a position."""
    return [row(1 + n // 2, paths[n % len(paths)], n, ordinal=n % 2) for n in range(count)]


def batch(begin: int, end: int, all_rows: Sequence[OutputRow]) -> Batch:
    """The records of the log have one row each here."""
    return Batch(end, all_rows[begin:end])


async def test_objects_have_so_many_rows_and_a_rest_goes_with_the_last() -> None:
    """Of each path; named by their first row, with the last one beside them."""
    shelf = Shelf({})
    await sink(shelf, Cursors()).deliver(batch(0, 11, rows(11)))
    assert {
        name: (len(one.payload.splitlines()), one.last) for name, one in shelf.made.items()
    } == {
        "out/a/A.S.00000000000000000001.000000.ndjson": (3, "2.0"),
        "out/a/A.S.00000000000000000002.000001.ndjson": (3, "3.1"),
        "out/a/A.S.00000000000000000004.000000.ndjson": (5, "6.0"),
    }
    assert {one.content_type for one in shelf.made.values()} == {"application/x-ndjson"}


async def test_a_table_has_its_header_and_a_group_is_one_message() -> None:
    """In each object."""
    shelf = Shelf({}, rows=2)
    await sink(shelf, Cursors(), "type='csv', header='true'").deliver(batch(0, 4, rows(4)))
    assert [one.payload for one in shelf.made.values()] == [
        b"k,v\na,0\na,1\n", b"k,v\na,2\na,3\n",
    ]  # fmt: skip
    grouped = Shelf({}, rows=2)
    await sink(grouped, Cursors(), "type='json', event.grouping.enabled='true'").deliver(
        batch(0, 3, rows(3))
    )
    (only,) = grouped.made.values()
    assert [each["event"]["v"] for each in json.loads(only.payload)] == [0, 1, 2]
    assert only.content_type == "application/json"


def test_forms_that_cannot_stand_below_one_another() -> None:
    """Are refused, with what to write."""
    with pytest.raises(SinkSetupError) as refused:
        sink(Shelf({}), Cursors(), "type='msgpack'")
    assert "event.grouping.enabled" in str(refused.value.hint)


async def test_a_row_that_is_refused_holds_up_no_other() -> None:
    """A path that leads elsewhere; the others are there, once."""
    shelf = Shelf({})
    found = [row(1, "a", 1), row(2, "..", 2), row(3, "a", 3)]
    written = sink(shelf, Cursors())
    with pytest.raises(RowsRefusedError) as refused:
        await written.deliver(Batch(3, found))
    assert [one.row for one in refused.value.refused] == [found[1]]
    await written.deliver(Batch(3, [found[0], found[2]]))
    assert shelf.values == [1, 3]
    assert not written.takes_again


async def test_what_has_arrived_is_not_sent_again_when_the_store_was_away() -> None:
    """And nothing is left out."""
    shelf = Shelf({})
    written = sink(shelf, Cursors())
    shelf.away = 1
    with pytest.raises(UnavailableError):
        await written.deliver(batch(0, 9, rows(9)))
    assert shelf.values == []
    await written.deliver(batch(0, 9, rows(9)))
    assert shelf.values == list(range(9))


async def test_an_object_that_reaches_beyond_the_batch_keeps_the_cursor() -> None:
    """Until the batch has come that it ends in: else rows behind it would be begun anew."""
    made: dict[str, MadeObject] = {}
    cursors = Mortal()
    cursors.deaths = 1
    everything = rows(8)
    with pytest.raises(KilledError):
        await sink(Shelf(made), cursors).deliver(batch(0, 5, everything))
    after = sink(Shelf(made), cursors)
    await after.deliver(batch(0, 2, everything))
    assert cursors.kept == {}
    again = sink(Shelf(made), cursors)  # it, too, dies here
    assert await again.open() == 0
    await again.deliver(batch(0, 2, everything))
    await again.deliver(Batch(2, []))
    assert cursors.kept == {}
    await again.deliver(batch(2, 8, everything))
    assert list(cursors.kept.values()) == [8]
    assert Shelf(made).values == list(range(8))


async def test_a_log_that_was_lost_and_begun_anew_overwrites() -> None:
    """Its identities are those of other rows."""
    shelf = Shelf({})
    written = sink(shelf, Cursors())
    await written.deliver(batch(0, 3, rows(3)))
    await written.begin_again()
    await written.deliver(Batch(3, [row(1, "a", 70), row(2, "a", 80)]))
    assert shelf.values == [70, 80]


@pytest.mark.parametrize("seed", range(60))
async def test_publishers_that_die_and_overlap(seed: int) -> None:
    """Two at a time, each with its own cuts, cursors that one of them moves behind the other, and
    deaths before and behind an object: all rows of each path are there once."""
    drawn = random.Random(seed)
    made: dict[str, MadeObject] = {}
    cursors = Mortal()
    everything = rows(drawn.randint(5, 60), "ab"[: drawn.randint(1, 2)])

    async def publish() -> bool:
        """Whether it came to the end."""
        shelf = Shelf(made, drawn.randint(1, 7))
        written = sink(shelf, cursors)
        begin = await written.open()
        for end in _cuts(drawn, begin, len(everything)):
            shelf.killed = int(drawn.random() < 0.1)
            cursors.deaths = int(drawn.random() < 0.1)
            try:
                await written.deliver(batch(begin, end, everything))
            except KilledError:
                return False
            begin = end
        return True

    async with asyncio.timeout(30):
        while not all(await asyncio.gather(publish(), publish())):
            pass
    wanted = sorted(everything, key=lambda one: (one.data[0], one.id))
    assert Shelf(made).values == [one.data[1] for one in wanted]


def _cuts(drawn: random.Random, begin: int, end: int) -> Iterator[int]:
    while begin < end:
        begin = min(end, begin + drawn.randint(1, 12))
        yield begin
