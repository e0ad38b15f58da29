"""Units that go together: whoever is awaited elsewhere does not wait for the others' states."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from lockstep.clock import SystemClock
from lockstep_services.processor.runner import Farewell, GroupRunner

APPS = 12


def leaving(others: list[Any], given: list[str], saved: list[str], name: str) -> GroupRunner:
    """A unit that leads; its last revision takes a while."""
    runner = GroupRunner.__new__(GroupRunner)

    async def flush(_: int) -> bool:
        return True

    async def end() -> None:
        given.append(name)

    async def take_last() -> None:
        await asyncio.sleep(0.1)
        saved.append(name)

    parts: Any = SimpleNamespace(
        _replica=SimpleNamespace(
            lead=SimpleNamespace(is_active=True),
            site=SimpleNamespace(others=lambda: others),
            reach=SimpleNamespace(folding_ms=0),
        ),
        _publishing=SimpleNamespace(flush=flush),
        _leadership=SimpleNamespace(end=end),
        _revisions=SimpleNamespace(take_last=take_last, is_quick=lambda _: True, has_more=True),
        _around=SimpleNamespace(clock=SystemClock()),
        _fold=None,
        _is_over=asyncio.Event(),
        _is_leaving=False,
    )
    vars(runner).update(vars(parts))
    return runner


async def test_leads_are_given_away_before_last_revisions_are_taken() -> None:
    """Whoever goes on elsewhere does not wait for the states of apps that nobody goes on with."""
    standby = (SimpleNamespace(draining=False), SimpleNamespace(role="standby"))
    leaver = (SimpleNamespace(draining=True), SimpleNamespace(role="standby"))
    given: list[str] = []
    saved: list[str] = []
    names = [f"alone {number}" for number in range(APPS)]
    runners = [
        leaving([leaver] * (number % 2), given, saved, one) for number, one in enumerate(names)
    ]
    runners.append(leaving([leaver, standby], given, saved, "awaited"))
    until_ms = SystemClock().monotonic_ms() + 60_000
    farewell = Farewell(asyncio.Semaphore(2), asyncio.Semaphore(1), until_ms)
    going = [asyncio.create_task(one.drain(farewell, is_gone=False)) for one in runners]
    async with asyncio.timeout(30):
        while len(given) < len(runners):
            await asyncio.sleep(0)
        assert len(saved) < APPS
        await asyncio.gather(*going)
    assert sorted(saved) == sorted(names)
