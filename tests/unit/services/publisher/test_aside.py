"""`on.error`: where rows go that a sink does not take."""

from __future__ import annotations

import sys
from collections.abc import Callable, MutableMapping
from dataclasses import replace
from typing import Any

import pytest
import structlog

from lockstep.bus import LogName
from lockstep.bus.limits import BusLimits
from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import VirtualClock
from lockstep.events import (
    Attribute,
    AttributeType,
    EventsRecord,
    StreamSchema,
    UnavailableError,
)
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.plan import plan_of
from lockstep.siddhiql import check
from lockstep_services.publisher.aside import MAX_REASON, SHOWN_ROWS, Aside, fault_schema
from lockstep_services.publisher.contract import OnError, RefusedRow, SinkBinding
from tests.unit.services.publisher.parts import row

TEXT = (
    "@app:name('A') define stream In (a int);"
    " @OnError(action='STREAM') @sink(type='log', on.error='STREAM') define stream S (a int);"
    " from In select a insert into S;"
    " from !S select a, convert(_error, 'string') as why insert into Bad;"
)
APP = check(TEXT)
BINDING = SinkBinding("A", APP.schemas["S"], "S.0.log")


def _bus() -> MemoryBus:
    return MemoryBus(MemoryCarrier(VirtualClock(), BusLimits()))


async def _bus_of_the_app() -> MemoryBus:
    """With its input log, which is there as long as the app is deployed."""
    bus = _bus()
    await bus.input_log(LogName("A"))
    return bus


def _aside(bus: MemoryBus, on_error: OnError) -> Aside:
    binding = replace(BINDING, on_error=on_error)
    return Aside(binding, bus, VirtualClock(), structlog.get_logger(), "node")


def _refused(*values: int) -> list[RefusedRow]:
    return [RefusedRow(row(value, value), f"unlucky {value}") for value in values]


async def _inputs(bus: MemoryBus) -> list[EventsRecord]:
    log = await bus.input_log(LogName("A"))
    entries = await log.read(0, max_records=100, max_bytes=10**6, wait_ms=0)
    return [each.record for each in entries if isinstance(each.record, EventsRecord)]


async def _letters(bus: MemoryBus) -> list[str]:
    return [each.letter.reason for each in await bus.dead_letters.read("A")]


async def test_to_the_fault_stream_once_each() -> None:
    """With the row's time and the reason; repeated, nothing more comes in."""
    bus = await _bus_of_the_app()
    aside = _aside(bus, OnError.STREAM)
    await aside.put(_refused(7))
    await aside.put(_refused(7, 8))
    found = await _inputs(bus)
    assert [
        (one.stream, one.chunks[0][0].timestamp_ms, one.chunks[0][0].data) for one in found
    ] == [
        ("!S", 1_007, (7, "sink S.0.log: unlucky 7")),
        ("!S", 1_008, (8, "sink S.0.log: unlucky 8")),
    ]
    assert await _letters(bus) == []


async def test_what_is_sent_there_is_what_the_app_expects() -> None:
    """The schema is that of the checked app, and its queries see the row."""
    assert fault_schema(BINDING.schema) == APP.schemas["!S"]
    bus = await _bus_of_the_app()
    await _aside(bus, OnError.STREAM).put(_refused(7))
    log = await bus.input_log(LogName("A"))
    entries = await log.read_encoded(0, max_records=9, max_bytes=10**6, wait_ms=0)
    rows = ReferenceExecutor(plan_of(TEXT)).run_encoded(entries).rows
    assert [(one.stream, one.data) for one in rows] == [("Bad", (7, "sink S.0.log: unlucky 7"))]


@pytest.mark.parametrize("on_error", [OnError.STORE, OnError.WAIT])
async def test_to_the_error_store_once_each(on_error: OnError) -> None:
    """Also what a sink that waits for its destination is refused."""
    bus = _bus()
    aside = _aside(bus, on_error)
    await aside.put(_refused(7))
    await aside.put(_refused(7, 8))
    assert await _letters(bus) == ["sink S.0.log: unlucky 7", "sink S.0.log: unlucky 8"]
    assert await _inputs(bus) == []


async def test_to_the_log_alone() -> None:
    """Each row with its identity, up to a limit; nothing is kept."""
    bus = _bus()
    with structlog.testing.capture_logs() as told:
        await _aside(bus, OnError.LOG).put(_refused(*range(1, SHOWN_ROWS + 3)))
    lines: list[MutableMapping[str, Any]] = list(told)
    assert (lines[0]["event"], lines[0]["id"]) == ("row dropped", "A/main/0/1.0")
    assert (lines[0]["row"], lines[0]["reason"]) == ("(1,)", "unlucky 1")
    assert len(lines) == SHOWN_ROWS + 1
    assert (lines[-1]["event"], lines[-1]["rows"]) == ("more rows dropped", 2)
    assert (await _letters(bus), await _inputs(bus)) == ([], [])


async def test_a_long_reason_is_cut() -> None:
    """It may quote what the row holds, as an address does."""
    bus = await _bus_of_the_app()
    for number, on_error in enumerate((OnError.STREAM, OnError.STORE)):
        refused = [RefusedRow(row(number, number), "x" * 2_000_000)]
        await _aside(bus, on_error).put(refused)
    told = f"sink S.0.log: {'x' * MAX_REASON}"
    assert [one.chunks[0][0].data for one in await _inputs(bus)] == [(0, told)]
    assert await _letters(bus) == [told]


def deep() -> Any:
    """Deeper than a record is written, though JSON is."""
    value: Any = 1
    for _ in range(sys.getrecursionlimit() * 7 // 10):
        value = [value]
    return value


def long() -> str:
    """A record has room for it, but not for a reason beside it."""
    return "x" * (BusLimits().max_message_bytes - 200)


@pytest.mark.parametrize("odd", [long, deep])
async def test_what_the_fault_stream_cannot_hold_is_buried(odd: Callable[[], Any]) -> None:
    """A row with its reason may be larger than the row. Those around it are sent there."""
    bus = await _bus_of_the_app()
    schema = StreamSchema("S", (Attribute("a", AttributeType.OBJECT),))
    binding = replace(BINDING, schema=schema, on_error=OnError.STREAM)
    aside = Aside(binding, bus, VirtualClock(), structlog.get_logger(), "node")
    refused = [RefusedRow(row(at, value), "y" * 300) for at, value in enumerate((1, odd(), 3))]
    for _ in range(2):  # repeated, nothing more comes in
        with structlog.testing.capture_logs() as told:
            await aside.put(refused)
        assert [one.chunks[0][0].data[0] for one in await _inputs(bus)] == [1, 3]
        assert [one.letter.position for one in await bus.dead_letters.read("A")] == [1]
        assert [(one["event"], one["rows"]) for one in told] == [
            ("rows sent to the fault stream", 2),
            ("rows put aside", 1),
        ]


@pytest.mark.parametrize("on_error", [OnError.STREAM, OnError.STORE])
async def test_a_bus_that_is_away_is_told(on_error: OnError) -> None:
    """So the sink's cursor does not move over the rows."""
    bus = _bus()
    bus.link.reachable = False
    with pytest.raises(UnavailableError):
        await _aside(bus, on_error).put(_refused(7))
