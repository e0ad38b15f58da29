"""An output log that takes nothing for long: what is told of it, and how often it is tried."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from lockstep.bus import Accepted, LogFullError, LogName, NoRoomError
from lockstep.clock import VirtualClock
from lockstep.events import OutputId, OutputRow, UnavailableError
from lockstep.leader.protocol import Permit, facts
from lockstep.telemetry import NO_TRACES, get_logger
from lockstep_services.processor.publish.publishing import Publishing
from lockstep_services.processor.replica.leading import Lead
from lockstep_services.processor.replica.replica import Trouble
from lockstep_services.processor.state.outbox import Outbox

ROW = OutputRow(OutputId(1, 0), "Out", 1, ("x",))
NAME = LogName("A", "g", 2)
PERMIT = Permit.of_claim(claimed_epoch=1, accepted_epoch=1, sequence=1)
WHERE = "out.A"
REFUSED, OVER = "cannot publish", "publishes again"


class Hasty(VirtualClock):
    """One that goes on by as much as somebody waits."""

    async def sleep_ms(self, duration_ms: int) -> None:
        """At once."""
        await self.advance_ms(duration_ms)


class Refusing:
    """An output log that refuses for as long as it is told to."""

    def __init__(self) -> None:
        self.error: UnavailableError | None = None
        self.asked = 0

    async def append(self, _record: object, *, expected_sequence: int) -> Accepted:
        """Refused, or stored."""
        self.asked += 1
        if self.error is not None:
            raise self.error
        return Accepted(expected_sequence + 1)


class Scene:
    """One replica that leads, with a row to publish."""

    def __init__(self) -> None:
        self.clock, self.log, self.trouble = Hasty(0), Refusing(), Trouble()
        outbox = Outbox()
        outbox.add(1, (ROW,), ())
        silent = SimpleNamespace(passed=lambda *_: None)
        site: Any = SimpleNamespace(
            name=NAME, clock=self.clock, log=get_logger(), labels={"app": NAME.app},
            output=self.log, traces=NO_TRACES,
            count=lambda *_: None, reached=lambda *_: None,
        )  # fmt: skip
        published: Any = SimpleNamespace(
            to_publish=None, recent=silent, rows=silent, told=0,
            passing=SimpleNamespace(published=lambda _: SimpleNamespace(traces=(), door_ms=0)),
        )  # fmt: skip
        running: Any = SimpleNamespace(engine=SimpleNamespace(outbox=outbox))
        self.publishing = Publishing(site, running, Lead(), published, self.trouble)

    def shown(self) -> str | None:
        """What the status shows as its trouble."""
        return self.trouble.text

    async def tried_for(self, limit_ms: int) -> int:
        """How often it was tried in that time."""
        before, end_ms = self.log.asked, self.clock.monotonic_ms() + limit_ms
        while self.clock.monotonic_ms() < end_ms:
            assert isinstance(await self.publishing.publish(PERMIT), facts.AppendUnknown)
        return self.log.asked - before

    async def published(self) -> None:
        """The log takes rows, and does so now."""
        self.log.error = None
        assert isinstance(await self.publishing.publish(PERMIT), facts.AppendAccepted)


async def test_what_is_refused_again_and_again_is_told_once_a_minute() -> None:
    """With the app's name, and once when it is over. The status shows it all the time."""
    scene = Scene()
    scene.log.error = NoRoomError("the bus has no room", where=WHERE)
    told: list[Any]
    with capture_logs() as told:
        await scene.tried_for(59_000)
        assert [one["event"] for one in told] == [REFUSED]
        assert scene.shown() == str(scene.log.error)
        await scene.tried_for(62_000)
        await scene.published()
        assert scene.shown() is None
        await scene.published()
    assert [one["event"] for one in told] == [REFUSED, REFUSED, REFUSED, OVER]
    assert {one["app"] for one in told} == {NAME.app}


async def test_another_error_is_told_at_once() -> None:
    """And the first one not again, where the two take turns; after rows went out it is new."""
    scene = Scene()
    told: list[Any]
    errors = NoRoomError("the bus has no room", where=WHERE), LogFullError(WHERE, 7)
    with capture_logs() as told:
        for _ in range(3):
            for scene.log.error in errors:
                await scene.tried_for(1)
        await scene.published()
        scene.log.error = errors[0]
        await scene.tried_for(1)
    assert [one.get("error") for one in told] == [*map(str, errors), None, str(errors[0])]


@pytest.mark.parametrize(
    ("error", "times"),
    [
        (NoRoomError("the bus has no room", where=WHERE), 10),
        (LogFullError(WHERE, 7), 10),
        (UnavailableError("the bus cannot be reached", where=WHERE), 100),
    ],
)
async def test_a_log_without_room_is_asked_once_a_second(
    error: UnavailableError, times: int
) -> None:
    """Room does not come of itself; a server may be back at any time."""
    scene = Scene()
    scene.log.error = error
    assert await scene.tried_for(10_000) == times
