"""Simulations of pages: how many run, what ends them, and how they are told."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
from nicegui import Client, ui

from lockstep.clock import SeededRandomness, SystemClock, VirtualClock
from lockstep.settings import load_settings
from lockstep.simulating import (
    Bounds,
    DatabaseRows,
    FeedSetup,
    Figures,
    Found,
    Phase,
    Sent,
    SimulationError,
    at_once,
    feed_of,
)
from lockstep.simulating.feeds import Event, Feed
from lockstep_services.console.pages.simulate import Simulator, row_of, word_of
from lockstep_services.console.shell import World
from lockstep_services.console.simulations import Simulations, bounds_of
from tests.unit.services.console.on_a_page import press, view_of

SETTINGS = load_settings({"LOCKSTEP_CONSOLE__MAX_SIMULATIONS": "2"}).console


def figures(phase: Phase, sent: int = 0, trouble: str = "", reason: str = "") -> Figures:
    """Of a feed."""
    return Figures("Reading", phase, sent, 1, reason, 2, 3, trouble, 50_000)


async def nothing(_rows: DatabaseRows, _most: int) -> Found:
    """No database."""
    raise AssertionError


async def feed() -> Feed:
    """Ten a second, without an end."""
    setup = FeedSetup(stream="Reading", random={"n": "1++"})
    bounds = Bounds(max_feeds=1, max_rate_per_s=100, max_rows=1)
    return await feed_of(setup, [("n", "int")], SeededRandomness(1), nothing, bounds)


async def test_only_so_many_run_at_a_time_and_an_ended_one_sends_nothing_more() -> None:
    """What is over makes room; the end of the console ends all."""
    clock, simulations = VirtualClock(), Simulations()
    sent: list[str] = []

    async def send(_stream: str, events: Sequence[Event], key: str) -> Sent:
        sent.append(key)
        return Sent(len(events))

    first = simulations.begin([await feed()], send, clock, SETTINGS, at_once)
    second = simulations.begin([await feed()], send, clock, SETTINGS, at_once)
    with pytest.raises(SimulationError, match="2 simulations run on this console already"):
        simulations.begin([await feed()], send, clock, SETTINGS, at_once)
    await clock.advance_ms(150)
    assert len(sent) == 4
    assert len(set(sent)) == 4
    await simulations.end(first)
    assert first.figures()[0].phase is Phase.STOPPED
    await clock.advance_ms(1_000)
    assert first.figures()[0].sent == 2
    await second.stop()
    third = simulations.begin([await feed()], send, clock, SETTINGS, at_once)
    simulations.begin([await feed()], send, clock, SETTINGS, at_once)
    await clock.advance_ms(50)
    before = len(sent)
    await simulations.close()
    assert third.is_over
    await clock.advance_ms(5_000)
    assert len(sent) == before


async def test_events_are_drawn_beside_the_loop_of_all_pages() -> None:
    """On another thread, where nothing else is said."""
    threads: list[bool] = []

    class Watched(SeededRandomness):
        def fraction(self) -> float:
            threads.append(threading.current_thread() is threading.main_thread())
            return super().fraction()

    async def send(_stream: str, events: Sequence[Event], _key: str) -> Sent:
        return Sent(len(events))

    setup = FeedSetup(stream="Reading", random={"n": "1..9"}, limit_events=3, rate_per_s=100)
    bounds = Bounds(max_feeds=1, max_rate_per_s=100, max_rows=1)
    made = await feed_of(setup, [("n", "int")], Watched(1), nothing, bounds)
    simulations = Simulations()
    run = simulations.begin([made], send, SystemClock(), SETTINGS)
    await run.wait()
    assert threads == [False] * 3
    await simulations.close()


class Datasource:
    """A suite with an app and a database that takes its time."""

    def __init__(self) -> None:
        self.asked, self.answers = asyncio.Event(), asyncio.Event()
        self.sent: list[str] = []

    async def ask(self, _path: str) -> dict[str, Any]:
        """The text of the app."""
        return {"text": "define stream Reading (n int);"}

    async def post(self, path: str, body: bytes, _headers: Mapping[str, str]) -> dict[str, Any]:
        """Rows, or a receipt."""
        if path.startswith("/v1/datasources/"):
            self.asked.set()
            await self.answers.wait()
            return {"columns": ["n"], "rows": [[1]], "is_cut": False}
        self.sent.append(path)
        return {"accepted": len(body.splitlines()), "refused_count": 0}


@pytest.mark.parametrize("is_closed", [False, True])
async def test_a_page_that_is_closed_while_rows_are_read_begins_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch, is_closed: bool
) -> None:
    """Nobody could stop it. A page that is open sends them."""
    monkeypatch.setattr(ui, "timer", lambda *_, **__: None)  # they wait for a browser
    suite, simulations = Datasource(), Simulations()
    rows = DatabaseRows(datasource="shop", table="t")
    with client:
        view = view_of(suite)
        view.world = cast("World", SimpleNamespace(
            simulations=simulations, clock=SystemClock(), settings=load_settings({}),
        ))  # fmt: skip
        page = Simulator(view, "A")
        page.build()
        page.offer(await page.fetch())
        page._feeds.clear()
        page._forms.clear()
        page._add(FeedSetup(stream="Reading", database=rows, limit_events=2, rate_per_s=1_000))
    press(client, "Start")
    await asyncio.wait_for(suite.asked.wait(), 10)
    if is_closed:
        await page._gone()
    suite.answers.set()
    while page._is_busy:
        await asyncio.sleep(0.001)
    assert (page._run is None) is is_closed
    if page._run is not None:
        await asyncio.wait_for(page._run.wait(), 10)
    assert bool(suite.sent) is not is_closed
    assert not simulations._running or not is_closed
    await simulations.close()


def test_a_feed_is_told_with_its_last_trouble() -> None:
    """What holds it up now goes before why an event was refused."""
    cells = row_of(figures(Phase.RUNNING, 1_234, "the app is behind", "n: missing"))
    assert [one.content for one in cells] == [
        "Reading", "running", "1,234 of 50,000", "1", "2", "3", "the app is behind",
    ]  # fmt: skip
    assert row_of(figures(Phase.DONE, reason="n: missing"))[-1].content == "n: missing"


@pytest.mark.parametrize(
    ("phases", "word"),
    [
        ((), "not started"),
        ((Phase.DONE, Phase.RUNNING), "running, 20 sent"),
        ((Phase.PAUSED, Phase.DONE), "paused, 20 sent"),
        ((Phase.DONE, Phase.FAILED), "failed, 20 sent"),
        ((Phase.DONE, Phase.DONE), "done, 20 sent"),
    ],
)
def test_a_word_tells_of_all_feeds(phases: tuple[Phase, ...], word: str) -> None:
    """The one that wants looking at."""
    assert word_of([figures(one, 10) for one in phases])[0] == word


def test_the_bounds_of_a_page_are_settings() -> None:
    """Each by its name."""
    assert bounds_of(SETTINGS) == Bounds(max_feeds=16, max_rate_per_s=10_000, max_rows=100_000)
