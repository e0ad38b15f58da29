"""Rows that were published before an upgrade and are delivered behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from lockstep.bus import Accepted, LogName
from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import VirtualClock
from lockstep.events import (
    ClaimRecord,
    Generation,
    Life,
    OutputId,
    OutputRecord,
    OutputRow,
    StreamSchema,
)
from lockstep.events.outputs import in_columns
from lockstep.settings import load_settings
from lockstep.siddhiql import check
from lockstep.telemetry import Metrics, get_logger
from lockstep_services.publisher.contract import OnError
from lockstep_services.publisher.letters import row_of
from lockstep_services.publisher.pump import Pump
from lockstep_services.publisher.sharing import SharedReads
from tests.unit.services.publisher.parts import Told, row, stored_sink

SINK = "@sink(type='log', @map(type='json')) "
BEFORE = "define stream S (k string, v int, w int);"


def schema_of(definition: str) -> StreamSchema:
    """Of the stream."""
    return check(definition).schemas["S"]


class World:
    """An app's output log, and a sink of the stream as it is now."""

    def __init__(self, now: str, on_error: OnError = OnError.STORE) -> None:
        self.clock = VirtualClock()
        self.bus = MemoryBus(MemoryCarrier(self.clock))
        self.told = Told()
        sink = stored_sink(SINK + now, [self.told])
        sink.binding = replace(sink.binding, on_error=on_error)
        reads = SharedReads(partial(self.bus.output_log, LogName("A")), self.clock)
        self.pump = Pump(
            sink, self.bus, self._keeper(), self.clock, load_settings({}).publisher, Metrics(),
            get_logger(), "node", reads,
        )  # fmt: skip

    def _keeper(self) -> Any:
        async def held(_: int) -> bool:
            return True

        return SimpleNamespace(held=True, wait_held=held)

    async def deliver(
        self, *published: tuple[str, Sequence[OutputRow]], takes_ms: int = 500
    ) -> None:
        """A record per definition, which its rows were published under; all of them wait when the
        sink begins."""
        log = await self.bus.output_log(LogName("A"))
        done = await log.append(
            ClaimRecord(1, "me", 0, Generation(Life(1, 1), 0)), expected_sequence=0
        )
        for definition, rows in published:
            assert isinstance(done, Accepted)
            columns = in_columns(rows, {"S": schema_of(definition)})
            done = await log.append(OutputRecord(1, columns), expected_sequence=done.sequence)
        task = asyncio.create_task(self.pump.run())
        await self.clock.advance_ms(takes_ms)
        task.cancel()
        await asyncio.wait({task})
        assert isinstance(done, Accepted)
        assert self.pump.cursor == done.sequence

    @property
    def events(self) -> list[Any]:
        """That the destination has."""
        return [msgspec.json.decode(text)["event"] for text in self.told.texts]

    async def letters(self) -> list[tuple[str, Any]]:
        """The reasons, and the events in the payloads."""
        found = await self.bus.dead_letters.read("A")
        return [
            (one.letter.reason, msgspec.json.decode(one.letter.payload)["event"]) for one in found
        ]


async def test_values_are_delivered_under_the_names_that_they_were_published_with() -> None:
    """Also in one batch with rows of now, in the order of the log."""
    now = "define stream S (k string, w int, v int);"
    world = World(now)
    await world.deliver((BEFORE, [row(1, "a", 1, 100)]), (now, [row(2, "b", 200, 2)]))
    assert world.events == [{"k": "a", "w": 100, "v": 1}, {"k": "b", "w": 200, "v": 2}]
    assert await world.letters() == []


@pytest.mark.parametrize("on_error", [OnError.STORE, OnError.STREAM, OnError.WAIT])
async def test_what_does_not_fit_is_put_aside_with_its_names(on_error: OnError) -> None:
    """In the error store, as the fault stream has other attributes, too; those behind it arrive.
    When the stream has its old attributes again, the row can be sent again."""
    now = "define stream S (k string, x string, w int, v int);"
    world = World(now, on_error)
    await world.deliver((BEFORE, [row(1, "a", 1, 100)]), (now, [row(2, "b", "new", 200, 2)]))
    assert world.events == [{"k": "b", "x": "new", "w": 200, "v": 2}]
    assert await world.letters() == [
        (
            "sink S.0.log: published with 3 values; 'S' has 4 attributes now",
            {"k": "a", "v": 1, "w": 100},
        )
    ]
    (stored,) = await world.bus.dead_letters.read("A")
    assert row_of(stored.letter, schema_of(BEFORE)) == row(1, "a", 1, 100)


async def test_a_value_that_does_not_convert_costs_its_row_alone() -> None:
    """The letter has the row as it was published."""
    world = World("define stream S (w int, k string);")
    before = "define stream S (k string, w long);"
    await world.deliver((before, [row(1, "a", 1), row(2, "b", 1 << 40), row(3, "c", 3)]))
    assert world.events == [{"w": 1, "k": "a"}, {"w": 3, "k": "c"}]
    assert await world.letters() == [
        (
            "sink S.0.log: 'S.w' holds a long that is no int: 1099511627776",
            {"k": "b", "w": 1 << 40},
        )
    ]


async def test_of_a_record_the_rows_of_other_streams_are_left_alone() -> None:
    """Whatever their attributes are."""
    world = World("define stream S (w int, k string);")
    other = OutputRow(OutputId(2, 0), "T", 1_002, (5,))
    await world.deliver(("define stream S (k string, w int);", [row(1, "a", 1), other]))
    assert world.events == [{"w": 1, "k": "a"}]
    assert await world.letters() == []
