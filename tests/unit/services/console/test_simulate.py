"""Simulations of pages: how many run, what ends them, and how they are told."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lockstep.clock import SeededRandomness, VirtualClock
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
    feed_of,
)
from lockstep.simulating.feeds import Event, Feed
from lockstep_services.console.pages.simulate import row_of, word_of
from lockstep_services.console.simulations import Simulations, bounds_of

SETTINGS = load_settings({"LOCKSTEP_CONSOLE__MAX_SIMULATIONS": "2"}).console


def figures(phase: Phase, sent: int = 0, trouble: str = "", reason: str = "") -> Figures:
    """Of a feed."""
    return Figures("Reading", phase, sent, 1, reason, 2, 3, trouble, 50_000)


async def feed() -> Feed:
    """Ten a second, without an end."""

    async def nothing(_rows: DatabaseRows, _most: int) -> Found:
        raise AssertionError

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

    first = simulations.begin([await feed()], send, clock, SETTINGS)
    second = simulations.begin([await feed()], send, clock, SETTINGS)
    with pytest.raises(SimulationError, match="2 simulations run on this console already"):
        simulations.begin([await feed()], send, clock, SETTINGS)
    await clock.advance_ms(150)
    assert len(sent) == 4
    assert len(set(sent)) == 4
    await simulations.end(first)
    assert first.figures()[0].phase is Phase.STOPPED
    await clock.advance_ms(1_000)
    assert first.figures()[0].sent == 2
    await second.stop()
    third = simulations.begin([await feed()], send, clock, SETTINGS)
    simulations.begin([await feed()], send, clock, SETTINGS)
    await clock.advance_ms(50)
    before = len(sent)
    await simulations.close()
    assert third.is_over
    await clock.advance_ms(5_000)
    assert len(sent) == before


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
