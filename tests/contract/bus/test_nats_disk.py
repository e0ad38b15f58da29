"""A NATS server that could not write a record answers to no further one for that stream: so it
looks from here, played with a stream that listens elsewhere for a while."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from nats.aio.msg import Msg
from structlog.testing import capture_logs

from lockstep.bus import Accepted, DeadLetter
from lockstep.bus.nats import NatsBus
from lockstep.bus.nats.errors import TakesNothingError
from lockstep.bus.subjects import (
    DEAD_ALL,
    DEAD_STREAM,
    input_subject,
    output_subject,
    stream_name,
)
from lockstep.clock import SystemRandomness
from lockstep.embedded import NatsServer
from lockstep.events import UnavailableError
from tests.contract.bus.carriers import fresh_log, one_event, rows, with_limits
from tests.contract.pausing import paused

pytestmark = pytest.mark.servers

IMPATIENT_MS = 500


@pytest.fixture
async def bus(server: NatsServer) -> AsyncIterator[NatsBus]:
    """One that does not try for long."""
    limits = with_limits(publish_timeout_ms=IMPATIENT_MS)
    connected = await NatsBus.connect(server.url, limits, SystemRandomness())
    yield connected
    await connected.close()


async def listen(bus: NatsBus, stream: str, subject: str) -> None:
    """The stream keeps what comes there from now on."""
    info = await bus._jetstream.call(f"STREAM.INFO.{stream}")
    config = {**info["config"], "subjects": [subject]}
    await bus._jetstream.call(f"STREAM.UPDATE.{stream}", config)


@asynccontextmanager
async def silent(bus: NatsBus, stream: str, subject: str) -> AsyncIterator[None]:
    """Nobody answers to what comes for the stream meanwhile."""

    async def swallow(_message: Msg) -> None:
        """As the server does."""

    await listen(bus, stream, f"elsewhere.{stream}")
    swallowing = await bus._connection.subscribe(subject, swallow)
    try:
        yield
    finally:
        await bus._connection.unsubscribe(swallowing)
        await listen(bus, stream, subject)


def told_of(told: Sequence[Any], log: str) -> list[str]:
    """What the log says of one of the bus."""
    return [one["event"] for one in told if one.get("log") == log]


BOTH = ["the bus takes no records for this log", "the bus takes records for this log again"]
NAMED = r"takes no records.*disk.*restart"


async def test_a_log_that_takes_no_records_is_named(bus: NatsBus) -> None:
    """To whoever sends, each time, and in the log once; and once when it takes them again. Another
    log goes on meanwhile."""
    name = fresh_log()
    subject = input_subject(name)
    log, other = await bus.input_log(name), await bus.input_log(fresh_log())
    await log.append(one_event(0))
    told: list[Any]
    with capture_logs() as told:
        async with silent(bus, stream_name(subject), subject):
            for number in (1, 2):
                with pytest.raises(TakesNothingError, match=NAMED):
                    await log.append(one_event(number), dedup_id=f"{number}")
                await other.append(one_event(number))
        for number in (1, 2, 3):
            await log.append(one_event(number), dedup_id=f"{number}")
    assert told_of(told, subject) == BOTH
    assert (await log.bounds())[1] == 4


async def test_so_is_an_output_log(bus: NatsBus) -> None:
    """To the processor that publishes, and in its log."""
    name = fresh_log()
    subject = output_subject(name)
    log = await bus.output_log(name)
    await log.append(rows(1, 1), expected_sequence=0)
    told: list[Any]
    with capture_logs() as told:
        async with silent(bus, stream_name(subject), subject):
            for _ in range(2):
                with pytest.raises(TakesNothingError, match=NAMED):
                    await log.append(rows(1, 2), expected_sequence=1)
        assert await log.append(rows(1, 2), expected_sequence=1) == Accepted(2)
    assert told_of(told, subject) == BOTH


async def test_so_are_the_dead_letters(bus: NatsBus) -> None:
    """They are one stream, of all apps."""
    letter = DeadLetter("A", "S", "why", b"{}", "application/json", 0, "processor/a")
    told: list[Any]
    with capture_logs() as told:
        async with silent(bus, DEAD_STREAM, DEAD_ALL):
            for _ in range(2):
                with pytest.raises(TakesNothingError, match=NAMED):
                    await bus.dead_letters.append(letter)
        await bus.dead_letters.append(letter)
    assert told_of(told, DEAD_STREAM) == BOTH


async def test_a_server_that_answers_nothing_is_not_blamed_for_a_log(
    bus: NatsBus, server: NatsServer
) -> None:
    """It hangs: nobody can tell what it will take."""
    log = await bus.input_log(fresh_log())
    await log.append(one_event(0))
    with paused(server.pid), pytest.raises(UnavailableError, match="not answered in time") as told:
        await log.append(one_event(1))
    assert not isinstance(told.value, TakesNothingError)
