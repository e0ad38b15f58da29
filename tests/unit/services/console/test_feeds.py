"""What feeds widgets: a query is asked as often as its board says."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from lockstep.clock import VirtualClock
from lockstep_services.console.feeds import Feeds
from lockstep_services.console.suite import Suite

QUERY = "from T select *"


class Counting:
    """A suite that answers every query with how many there were."""

    def __init__(self) -> None:
        self.asked = 0

    async def query(self, _app: str, _text: str) -> dict[str, Any]:
        """One more."""
        self.asked += 1
        return {"details": [{"name": "n"}], "records": [[self.asked]]}


async def settled() -> None:
    """What can run without time passing has run."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.parametrize(("refresh_ms", "asked"), [(1_000, 6), (5_000, 2), (0, 1)])
async def test_a_query_is_asked_at_the_pace_of_its_board(refresh_ms: int, asked: int) -> None:
    """Within five seconds; a board that stands still asks once."""
    clock, suite = VirtualClock(), Counting()
    feeds = Feeds(cast("Suite", suite), clock, refresh_ms)
    feeds.ask("A", QUERY)
    await settled()
    for _ in range(5):
        await clock.advance_ms(1_000)
        await settled()
    assert suite.asked == asked
    await feeds.close()


async def test_another_pace_holds_from_now_on() -> None:
    """Nobody waits for the end of a long rest."""
    clock, suite = VirtualClock(), Counting()
    feeds = Feeds(cast("Suite", suite), clock, 60_000)
    feeds.ask("A", QUERY)
    await settled()
    feeds.pace(1_000)
    await settled()
    await clock.advance_ms(1_000)
    await settled()
    assert suite.asked == 3
    rows = feeds.rows("A", "query", QUERY)
    assert rows is not None
    assert rows.rows == [[3]]
    feeds.pace(0)
    await settled()
    await clock.advance_ms(10_000)
    await settled()
    assert suite.asked == 4
    await feeds.close()
