"""Keys of requests: each is one of the stream that it is sent to, also beside what releases stored
that knew it as one of the whole log."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest

from lockstep.bus import InputLog, LogName
from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import VirtualClock
from lockstep.events import Attribute, AttributeType, EventsRecord, StreamSchema
from lockstep.events.codec import EncodedEntry, EventsHeader, decode_input, send_id_of
from lockstep.frame import Tasks
from lockstep.telemetry import get_logger
from lockstep_services.receiver.intake import Intake
from lockstep_services.receiver.runs import Run
from lockstep_services.receiver.submissions import IntakeLimits, Receipt
from lockstep_services.receiver.values import RawEvent

LIMITS = IntakeLimits(100_000, 1, 5, 3)
LOG = LogName("A", "main", 0)


def run_of(stream: str, *values: int) -> Sequence[Run]:
    """A record of each value."""
    schema = StreamSchema(stream, (Attribute("v", AttributeType.INT),))
    return [Run(schema, [(RawEvent((value,), None),) for value in values], 10)]


class Sender:
    """Sends to an intake that runs."""

    def __init__(self, intake: Intake, log: InputLog) -> None:
        self._intake = intake
        self.log = log

    async def send(self, stream: str, *values: int, key: str = "z", of: str = "") -> Receipt:
        """With a key of the stream; `of`: as an older release, with one of the log."""
        key_of = "" if of == "log" else stream
        runs = run_of(stream, *values)
        return await self._intake.submit(runs, key, key_of=key_of, in_order=False)

    async def stored(self) -> list[EncodedEntry]:
        """All records."""
        return list(await self.log.read_encoded(0, max_records=99, max_bytes=10**6, wait_ms=0))

    async def values(self) -> list[tuple[str, int]]:
        """What they hold."""
        found = []
        for each in await self.stored():
            record = decode_input(each.payload)
            assert isinstance(record, EventsRecord)
            found += [(record.stream, event.data[0]) for chunk in record.chunks for event in chunk]
        return found


@pytest.fixture
async def sender() -> AsyncIterator[Sender]:
    """Of one log in memory."""
    clock = VirtualClock()
    log = await MemoryBus(MemoryCarrier(clock)).input_log(LOG)

    async def opened() -> InputLog:
        return log

    tasks = Tasks(clock, get_logger())
    intake = Intake(opened, clock, lambda: "own", LIMITS)
    tasks.supervise("intake", intake.run)
    yield Sender(intake, log)
    await tasks.stop_all()


async def test_a_key_of_one_stream_is_not_one_of_another(sender: Sender) -> None:
    """Both sends are in, and each is known when it comes again, in whatever order."""
    first, second = await sender.send("Sale", 1), await sender.send("Other", 2)
    assert [first.duplicate, second.duplicate] == [False, False]
    for stream, before in (("Sale", first), ("Other", second), ("Sale", first)):
        again = await sender.send(stream, 3)
        assert (again.duplicate, again.first) == (True, before.first)
    assert await sender.values() == [("Sale", 1), ("Other", 2)]


async def test_the_processors_know_them_apart_too(sender: Sender) -> None:
    """For as long as they remember what was sent, which is longer than the carrier does."""
    await sender.send("Sale", 1)
    await sender.send("Other", 2)
    headers = [each.header for each in await sender.stored()]
    ids = [header.send_id for header in headers if isinstance(header, EventsHeader)]
    assert ids == [send_id_of("Sale\nz#0"), send_id_of("Other\nz#0")]


async def test_the_order_within_a_send_is_kept_where_its_key_is_taken(sender: Sender) -> None:
    """Whether the other send was shorter or longer."""
    await sender.send("Sale", 1)
    assert not (await sender.send("Other", 2, 3, 4)).duplicate
    assert not (await sender.send("Third", 5)).duplicate
    assert (await sender.send("Other", 2, 3, 4)).duplicate
    assert [value for _, value in await sender.values()] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("values", [(1,), (1, 2, 3)])
@pytest.mark.parametrize("first", ["log", ""])
async def test_a_send_that_is_repeated_over_an_update_is_stored_once(
    sender: Sender, first: str, values: tuple[int, ...]
) -> None:
    """An older release took it and the newer one sees it again, or the other way round: also with
    receivers of both at the same time."""
    assert not (await sender.send("Sale", *values, of=first)).duplicate
    for of in ("", "log", ""):
        assert (await sender.send("Sale", *values, of=of)).duplicate
    assert len(await sender.values()) == len(values)


async def test_of_what_the_log_has_forgotten_nobody_knows_the_stream(sender: Sender) -> None:
    """So nothing is dropped as sent before: a send to another stream is in, once."""
    await sender.send("Sale", 1)
    await sender.send("Sale", 2, key="y")
    await sender.log.trim(1)
    assert not (await sender.send("Other", 3)).duplicate
    assert (await sender.send("Other", 3)).duplicate
    await sender.log.trim(2)
    assert not (await sender.send("Other", 4, 5, key="y")).duplicate
    assert (await sender.send("Other", 4, 5, key="y")).duplicate
    assert await sender.values() == [("Other", 3), ("Other", 4), ("Other", 5)]


@pytest.mark.parametrize("values", [(1,), (1, 2, 3)])
async def test_a_send_that_the_log_has_forgotten_comes_again_under_its_id(
    sender: Sender, values: tuple[int, ...]
) -> None:
    """The processors know it by that, so it counts once. From then on the carrier knows it, too."""
    await sender.send("Sale", *values)
    before = [each.header for each in await sender.stored()]
    await sender.log.trim(1)
    assert not (await sender.send("Sale", *values)).duplicate
    assert (await sender.send("Sale", *values)).duplicate
    again = [each.header for each in await sender.stored()][len(values) - 1 :]
    ids = [each.send_id for each in before if isinstance(each, EventsHeader)]
    assert [each.send_id for each in again if isinstance(each, EventsHeader)] == ids
