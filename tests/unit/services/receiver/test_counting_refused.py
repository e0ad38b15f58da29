"""What a receiver counts of events that it refuses: each once, however often they are sent."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, Final

import pytest

from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import SeededRandomness, VirtualClock
from lockstep.events import Attribute, AttributeType, StreamSchema
from lockstep.settings import load_settings
from lockstep.telemetry import Metrics
from lockstep_services.receiver.accept import Acceptor, Sending
from lockstep_services.receiver.decode import JSON, NDJSON, MalformedBodyError
from lockstep_services.receiver.submissions import Receipt

SCHEMA = StreamSchema("S", (Attribute("v", AttributeType.INT),))
REFUSED: Final = "lockstep_receiver_events_refused_total"
LETTERS: Final = "lockstep_dead_letters_total"
LINES = b'{"v": 1}\n{"v": "warm"}\n{"w": 2}\n'


class Intake:
    """Durable at once; knows the keys."""

    def __init__(self) -> None:
        self._keys: set[str] = set()

    def submit(self, _runs: object, key: str, **_: object) -> asyncio.Future[Receipt]:
        """See Intake."""
        done = asyncio.get_running_loop().create_future()
        done.set_result(Receipt(1, 1, duplicate=key in self._keys))
        self._keys.add(key)
        return done


class Door:
    """A receiver of one app."""

    def __init__(self) -> None:
        intake, self.metrics, clock = Intake(), Metrics(), VirtualClock(1_000)
        view = SimpleNamespace(
            name="A", streams={"S": SCHEMA}, deployment=SimpleNamespace(version="v", text=""),
            checked=SimpleNamespace(asked=()),
        )  # fmt: skip

        async def find(_app: str) -> Any:
            return view

        catalogue: Any = SimpleNamespace(views=[view], find=find, get=lambda _: view)
        intakes: Any = SimpleNamespace(of=lambda _: intake)
        unused: Any = None
        self.acceptor = Acceptor(
            MemoryBus(MemoryCarrier(clock)), catalogue, intakes, unused, clock, SeededRandomness(1),
            load_settings({}), self.metrics, "n", schemas=unused,
        )  # fmt: skip
        no_sources: Any = SimpleNamespace(http=lambda *_: None)
        self.acceptor.sources = no_sources

    async def send(self, body: bytes, kind: str, key: str | None = None) -> int:
        """How many of its events were refused."""
        accepted = await self.acceptor.accept("A", "S", body, Sending(kind, key=key))
        return len(accepted.refused)

    def counted(self, reason: str = "invalid", stream: str = "S") -> tuple[float, float]:
        """(refused, dead letters)"""
        labels = {"app": "A", "stream": stream, "reason": reason}
        return self.metrics.value(REFUSED, **labels), self.metrics.value(LETTERS, **labels)


async def test_a_send_that_is_repeated_is_counted_once() -> None:
    """Its letters are stored once, too: an alert must not ring for who only tries again."""
    door = Door()
    for _ in range(3):
        assert await door.send(LINES, NDJSON, "one") == 2
    assert door.counted() == (2, 2)
    assert await door.send(LINES, NDJSON, "other") == 2
    assert door.counted() == (4, 4)


async def test_nor_is_one_of_which_nothing_was_taken_counted_again() -> None:
    """There is no receipt that says that it was there."""
    door = Door()
    for _ in range(3):
        assert await door.send(b'{"v": "warm"}\n{"v": "cold"}\n', NDJSON, "one") == 2
    assert door.counted() == (2, 2)


@pytest.mark.parametrize(
    ("kind", "body", "events"),
    [
        (JSON, b'{"v": "warm"}', 1),
        (JSON, b"{", 1),
        (JSON, b'[{"v": 1}, {"v": "warm"}]', 1),  # as many at least
        (NDJSON, b"", 1),
        (NDJSON, b"{}\n" * 5_000, 5_000),  # more lines than are told one by one
    ],
)
async def test_events_that_go_with_their_whole_send_are_counted(
    kind: str, body: bytes, events: int
) -> None:
    """Who sends them is told, and so is who watches."""
    door = Door()
    with pytest.raises(MalformedBodyError):
        await door.send(body, kind)
    assert door.counted("whole") == (events, 0)
    assert door.counted() == (0, 0)


async def test_so_are_lines_of_several_streams() -> None:
    """Of which nobody knows the stream."""
    door = Door()
    with pytest.raises(MalformedBodyError):
        await door.acceptor.accept_mixed("A", b"no json\n" * 2_000, Sending(NDJSON))
    assert door.counted("whole", stream="*") == (2_000, 0)
