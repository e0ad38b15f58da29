"""Places in which people try texts: counted before their processes are there, and given back."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest
from nicegui import Client

from lockstep.settings import load_settings
from lockstep.testing.workshop import Workshop, WorkshopError
from lockstep_services.console import allowed
from lockstep_services.console.pages.trying import Trial
from lockstep_services.console.shell import World
from lockstep_services.console.workshops import Workshops
from tests.unit.services.console.on_a_page import settled, view_of


class Process:
    """A workshop without a process; `ready` lets all go on."""

    ready: asyncio.Event
    made: list[Process]

    def __init__(self) -> None:
        self.is_open = True

    @classmethod
    async def open(cls, _limits: Any) -> Process:
        """When that is allowed."""
        one = cls()
        cls.made.append(one)
        await cls.ready.wait()
        return one

    async def close(self) -> None:
        """It is over."""
        self.is_open = False

    async def ask(self, _command: Any) -> dict[str, Any]:
        """A text without a stream."""
        return {"schemas": {}, "inputs": [], "clock_ms": 0, "streams": {}, "faults": []}


@pytest.fixture
def workshops(monkeypatch: pytest.MonkeyPatch) -> Workshops:
    """Two at most."""
    Process.ready, Process.made = asyncio.Event(), []
    monkeypatch.setattr(Workshop, "open", Process.open)
    return Workshops(load_settings({"LOCKSTEP_CONSOLE__MAX_WORKSHOPS": "2"}).console)


async def test_no_more_are_taken_at_once_than_there_may_be(workshops: Workshops) -> None:
    """Those whose process is not ready yet have a place; a place that is given back is free."""
    tasks = [asyncio.create_task(workshops.take()) for _ in range(6)]
    await settled()
    Process.ready.set()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert [isinstance(one, WorkshopError) for one in found] == [False, False, *[True] * 4]
    await workshops.give_back(cast("Workshop", found[0]))
    last = await workshops.take()
    assert last.is_open
    await workshops.close()


async def test_who_gives_up_waiting_gives_the_place_back(workshops: Workshops) -> None:
    """Nobody else has to wait for it."""
    for _ in range(3):
        task = asyncio.create_task(workshops.take())
        await settled()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    Process.ready.set()
    assert (await workshops.take()).is_open
    await workshops.close()


async def trial_of(client: Client, workshops: Workshops, monkeypatch: pytest.MonkeyPatch) -> Trial:
    """The page Try."""

    async def may_code(_: Any) -> bool:
        return False

    async def current() -> str:
        return ""

    monkeypatch.setattr(allowed, "may_code", may_code)
    with client:
        view = view_of(None)
        view.world = cast("World", SimpleNamespace(workshops=workshops))
        trial = Trial(view)
        trial.build()
    monkeypatch.setattr(trial._editor, "current", current)
    return trial


async def test_two_clicks_start_one_process(
    client: Client, workshops: Workshops, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two the page would know one. A page that is gone by then ends it, too."""
    trial = await trial_of(client, workshops, monkeypatch)

    async def clicked() -> None:
        with client:
            await trial._start()

    clicks = [asyncio.create_task(clicked()) for _ in range(2)]
    await settled()
    Process.ready.set()
    await asyncio.gather(*clicks)
    assert len(workshops._taken) == 1
    Process.ready.clear()
    click = asyncio.create_task(clicked())
    await settled()
    await trial._gone()
    Process.ready.set()
    await click
    assert not workshops._taken
    await workshops.close()
