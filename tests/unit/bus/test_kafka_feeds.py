"""What is heard of a topic while the broker lets us read it, and when it does not."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from lockstep.bus.errors import BusRefusedError, BusRightsError
from lockstep.bus.kafka import live
from lockstep.bus.kafka.window import Raw
from lockstep.events import LockstepError, UnavailableError

REFUSAL = BusRefusedError("the bus does not let us do this: denied", where="t")
LACKING = BusRightsError("the bus does not let us do this: denied", where="t")


class Answers:
    """A topic's reader that answers one after the other, and nothing more then."""

    topic = "t"

    def __init__(self, *answers: LockstepError | Raw) -> None:
        self._answers = list(answers)

    async def read(self, offset: int, **_: int) -> Sequence[Raw]:
        """The next answer."""
        if not self._answers:
            await asyncio.Event().wait()
        answer = self._answers.pop(0)
        if isinstance(answer, LockstepError):
            raise answer
        return [answer]

    def leave(self) -> None:
        """Nothing to give back."""


class Clock:
    """Waits no longer than a turn."""

    async def sleep_ms(self, _: int) -> None:
        """The others get their turn."""
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("errors", "warnings"),
    [
        ([UnavailableError("away"), UnavailableError("away")], 0),
        ([REFUSAL, REFUSAL, REFUSAL], 1),
        ([REFUSAL, UnavailableError("away"), REFUSAL], 2),
        ([LACKING, LACKING, LACKING], 1),
    ],
    ids=["away", "refused", "both", "not allowed"],
)
async def test_who_listens_hears_again_once_it_may(
    monkeypatch: pytest.MonkeyPatch, errors: list[LockstepError], warnings: int
) -> None:
    """A process would be deaf until its restart; what does not pass by itself is said once."""
    tape = Answers(*errors, Raw(0, 0, b"", b"x"))
    monkeypatch.setattr(live, "Tape", lambda *_: tape)
    world: Any = SimpleNamespace(broker=None, clock=Clock())
    heard: asyncio.Queue[list[Raw]] = asyncio.Queue()
    feed = live.Feed(world, "t", heard.put_nowait)
    with capture_logs() as logs:
        await feed.open(0)
        async with asyncio.timeout(10):
            assert [raw.value for raw in await heard.get()] == [b"x"]
        await feed.close()
    told = [entry for entry in logs if entry["log_level"] == "warning"]
    assert [entry["event"] for entry in told] == ["nothing is heard"] * warnings
