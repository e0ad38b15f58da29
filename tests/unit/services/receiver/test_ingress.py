"""Messages of the bus's front door: no app waits for another, and each app's come in order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from structlog.testing import capture_logs

from lockstep.bus import BusLimits, LogFullError
from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import VirtualClock
from lockstep.events import LockstepError
from lockstep.frame import Tasks
from lockstep.settings import load_settings
from lockstep.telemetry import get_logger
from lockstep_services.receiver.ingress import IngressReader
from lockstep_services.receiver.messages import BusMessage

REDELIVERY_MS = 5_000
HELD = 6


class World:
    """A receiver's front door: what it takes, and which apps it may not."""

    def __init__(self, **given: str) -> None:
        self.clock = VirtualClock()
        limits = BusLimits(ingress_redelivery_ms=REDELIVERY_MS)
        self.carrier = MemoryCarrier(self.clock, limits)
        self.bus = MemoryBus(self.carrier)
        self.tasks = Tasks(self.clock, get_logger())
        self.closed: set[str] = set()
        self.away: dict[str, LockstepError] = {}
        self.taken: list[tuple[str, str]] = []
        held = {f"LOCKSTEP_RECEIVER__{name.upper()}": value for name, value in given.items()}
        gate: Any = self
        take: Any = self
        self.reader = IngressReader(
            self.bus, take, gate, self.tasks, self.clock, load_settings(held).receiver, get_logger()
        )

    def is_closed(self, app: str) -> bool:
        """As the gate says it."""
        return app in self.closed

    async def all(self, messages: Sequence[BusMessage]) -> None:
        """As `Transfer` takes them: the first one goes through in any case."""
        for message in messages:
            if message.app in self.away:
                raise self.away[message.app]
            self.taken.append((message.app, message.payload.decode()))
            await message.acknowledge()

    async def send(self, app: str, *bodies: str) -> None:
        """Publishes them in this order."""
        for body in bodies:
            await self.bus.ingress.publish(app, "S", body.encode())

    def of(self, app: str) -> list[str]:
        """What was taken of an app."""
        return [body for name, body in self.taken if name == app]

    @property
    def kept(self) -> int:
        """How many the bus still has."""
        return len(self.carrier.log("ingress.>").entries)

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[None]:
        """For as long as the block lasts."""
        self.tasks.supervise("ingress", self.reader.run)
        try:
            await self.clock.advance_ms(100)
            yield
        finally:
            await self.tasks.stop_all()


async def test_an_app_whose_processors_lag_holds_up_no_other() -> None:
    """Its messages wait, in their order, and each is taken once however often it comes again."""
    world = World()
    world.closed = {"A"}
    async with world.reading():
        await world.send("A", "1", "2")
        await world.send("B", "1")
        await world.clock.advance_ms(1_000)
        assert world.taken == [("B", "1")]
        await world.send("A", "3")
        await world.clock.advance_ms(3 * REDELIVERY_MS)
        await world.send("A", "4")
        await world.send("B", "2")
        await world.clock.advance_ms(1_000)
        assert world.taken == [("B", "1"), ("B", "2")]
        assert world.kept == 4
        world.closed.clear()
        await world.clock.advance_ms(2 * REDELIVERY_MS)
        assert world.of("A") == ["1", "2", "3", "4"]
        assert world.kept == 0
        assert world.tasks.names == {"ingress"}


async def test_an_app_whose_log_is_full_holds_up_no_other() -> None:
    """It is tried again, in its order, until there is room."""
    world = World()
    world.away["A"] = LogFullError("in.A", 5)
    async with world.reading():
        await world.send("A", "1", "2")
        await world.send("B", "1")
        await world.clock.advance_ms(3 * REDELIVERY_MS)
        await world.send("A", "3")
        await world.send("B", "2")
        await world.clock.advance_ms(1_000)
        assert world.taken == [("B", "1"), ("B", "2")]
        world.away.clear()
        await world.clock.advance_ms(REDELIVERY_MS)
        assert world.of("A") == ["1", "2", "3"]
        assert world.kept == 0


async def test_no_more_is_read_than_may_be_held() -> None:
    """The rest stays at the bus, for other receivers, and the log says whose fault it is. What
    then comes is in its order."""
    bodies = [str(n) for n in range(HELD + 4)]
    with capture_logs() as told:
        world = World(ingress_max_held_messages=str(HELD))
        world.closed = {"A"}
        async with world.reading():
            await world.send("A", *bodies)
            await world.send("B", "1")
            await world.clock.advance_ms(2 * REDELIVERY_MS)
            assert world.taken == []
            assert len(world.carrier.ingress_due) == HELD
            world.closed.clear()
            await world.clock.advance_ms(2 * REDELIVERY_MS)
            assert world.of("A") == bodies
            assert world.of("B") == ["1"]
    (full,) = [one for one in told if "front door is full" in one["event"]]
    assert (full["app"], full["held"]) == ("A", HELD)


async def test_no_more_bytes_are_read_than_may_be_held() -> None:
    """But for those of the last read."""
    world = World(ingress_max_held_bytes="10")
    world.closed = {"A"}
    async with world.reading():
        await world.send("A", "x" * 10)
        await world.clock.advance_ms(1_000)
        await world.send("B", "1")
        await world.clock.advance_ms(1_000)
        assert world.taken == []
        world.closed.clear()
        await world.clock.advance_ms(1_000)
        assert world.taken == [("A", "x" * 10), ("B", "1")]


async def test_what_was_begun_ends_before_the_receiver_does() -> None:
    """Also of an app whose processors lag; but who cannot be taken is not waited for."""
    world = World()
    world.closed = {"A", "C"}
    world.away["C"] = LogFullError("in.C", 5)
    async with world.reading():
        await world.send("A", "1", "2")
        await world.send("C", "1")
        await world.clock.advance_ms(1_000)
        assert world.taken == []
        world.tasks.supervise("drain", world.reader.drain)
        await world.clock.advance_ms(1_000)
        assert "drain" not in world.tasks.names
        assert world.of("A") == ["1", "2"]
        assert world.kept == 1
