"""How looks at the ends of logs are spread, and who does not wait for a turn."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from lockstep.bus import OutputTail
from lockstep.clock import VirtualClock
from lockstep.settings import load_settings
from lockstep_services.processor.publish.following import (
    FULL_SHARE,
    QUIET_LOOK_MS,
    FollowLoop,
)
from lockstep_services.processor.replica.looking import APART_MS, LookPace

REPLICAS = 1_000


def test_few_look_when_they_want_to() -> None:
    """No replica waits that is alone, and of ten none long enough to be noticed."""
    pace = LookPace()
    assert [pace.wait_ms(now_ms) for now_ms in range(0, 5_000, 500)] == [0] * 10
    assert max(pace.wait_ms(10_000) for _ in range(10)) < 100


def test_of_many_each_has_its_turn() -> None:
    """In the order in which they asked; afterwards nobody waits for those who have looked."""
    pace = LookPace()
    assert [pace.wait_ms(0) for _ in range(REPLICAS)] == [APART_MS * n for n in range(REPLICAS)]
    assert pace.wait_ms(APART_MS * REPLICAS) == 0


class Logs:
    """Both logs of a replica; counts when it looks."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self.looks_ms: list[int] = []

    async def tail(self) -> OutputTail:
        """An empty log's."""
        return OutputTail(sequence=0, epoch=0, last_id=None)

    async def bounds(self) -> tuple[int, int]:
        """Of a log in which nothing stands."""
        self.looks_ms.append(self._clock.monotonic_ms())
        return 1, 0


@pytest.mark.parametrize(("share", "waits"), [(2 * FULL_SHARE, True), (FULL_SHARE, False)])
async def test_who_holds_back_much_looks_at_once(share: int, waits: bool) -> None:
    """What is published of it makes room; nobody waits for who holds back little."""
    clock, settings = VirtualClock(0), load_settings({})
    logs, pace = Logs(clock), LookPace()
    held = settings.processor.hold_back_max_outputs // share
    for _ in range(100):
        pace.wait_ms(0)
    site: Any = SimpleNamespace(
        clock=clock, settings=settings, looks=pace, output=logs, input=logs, name=None
    )
    nothing: Any = SimpleNamespace(
        saw=lambda *_: None, ms=lambda *_: 0, text=None, is_active=False, folding_since_ms=None
    )
    replica: Any = SimpleNamespace(
        site=site, lead=nothing, published=nothing, trouble=nothing,
        running=SimpleNamespace(engine=SimpleNamespace(outbox=range(held), position=0)),
        reach=SimpleNamespace(behind=nothing, log_end=0),
    )  # fmt: skip
    following = FollowLoop(replica, lambda _: None)

    looking = asyncio.ensure_future(following._in_turn())
    await clock.advance_ms(100 * APART_MS - 1)
    assert bool(logs.looks_ms) is not waits
    await clock.advance_ms(1)
    await looking
    assert logs.looks_ms == [100 * APART_MS if waits else 0]


@pytest.mark.parametrize("is_active", [True, False])
async def test_who_leads_and_read_to_the_end_does_not_look(is_active: bool) -> None:
    """Of a thousand busy apps each look would be a request for every event. A standby looks: the
    end of the output log is nothing that its reader tells."""
    clock = VirtualClock(1_000_000)
    logs, looks = Logs(clock), LookPace()
    site: Any = SimpleNamespace(
        clock=clock, settings=load_settings({}), looks=looks, output=logs, input=logs,
        name=None, others=list,
    )  # fmt: skip
    engine = SimpleNamespace(outbox=Outbox(), position=7)
    reach = SimpleNamespace(
        behind=SimpleNamespace(saw=lambda *_: None), log_end=7, end_read=7, may_fold=True,
        folding_since_ms=None, folded=asyncio.Event(),
    )  # fmt: skip
    replica: Any = SimpleNamespace(
        site=site, lead=SimpleNamespace(is_active=is_active, epoch=1), reach=reach,
        published=SimpleNamespace(saw=lambda _: None, last_id=None),
        trouble=SimpleNamespace(text=None),
        running=SimpleNamespace(engine=engine, is_settled=True, generation=None),
    )  # fmt: skip
    following = FollowLoop(replica, lambda _: None)
    following._looked_ms = clock.monotonic_ms()  # once, when there was nothing

    running = asyncio.ensure_future(following.run())
    await clock.advance_ms(QUIET_LOOK_MS - 1)
    assert bool(logs.looks_ms) is not is_active
    if is_active:
        # What is there and was not read is no end.
        reach.log_end = 9
        reach.folded.set()
        await clock.advance_ms(QUIET_LOOK_MS)
        assert logs.looks_ms
    running.cancel()


class Outbox:
    """Nothing waits in it."""

    is_empty = True

    def __len__(self) -> int:
        return 0
