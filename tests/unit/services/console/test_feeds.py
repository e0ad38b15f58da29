"""What feeds widgets: a query is asked as often as its board says."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from lockstep.cli.refusals import RefusedError
from lockstep.clock import VirtualClock
from lockstep_services.console.feeds import Feeds
from lockstep_services.console.suite import Suite
from lockstep_services.console.widgets import Rows
from tests.unit.services.console.on_a_page import settled

QUERY = "from T select *"


class Counting:
    """A suite that answers every query with how many there were."""

    def __init__(self) -> None:
        self.asked = 0

    async def query(self, _app: str, _text: str) -> dict[str, Any]:
        """One more."""
        self.asked += 1
        return {"details": [{"name": "n"}], "records": [[self.asked]]}


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


class Presenter:
    """A suite whose presenter tells of a stream S, a list of rows, and ends the connection."""

    def __init__(self, *told: list[list[Any]]) -> None:
        self.told = list(told)
        self.names = ["room", "mean"]
        self.edition, self.digest_edition = "1", "1"
        self.missing: str | None = None
        self.shown: list[str] = []

    async def show(self, path: str) -> dict[str, Any]:
        """What there is."""
        self.shown.append(path)
        attributes = [
            {"name": name, "type": kind}
            for name, kind in zip(self.names, ("string", "double", "long"), strict=False)
        ]
        return {"edition": self.edition, "streams": [{"name": "S", "attributes": attributes}],
                "tables": [{"name": "T", "attributes": attributes}]}  # fmt: skip

    async def digests(self, _app: str) -> AsyncIterator[dict[str, Any]]:
        """One."""
        rows = self.told.pop(0)
        stream = {"total": 3, "rate": 0.0, "rows": rows}
        table = {"count": 1, "missing": self.missing, "rows": [["attic", 1.0]]}
        yield {"edition": self.digest_edition, "streams": {"S": stream}, "tables": {"T": table}}


def rows_of(*positions: int, more: tuple[Any, ...] = ()) -> list[list[Any]]:
    """As a digest has them."""
    return [[f"{one}.0", one * 1_000, "attic", float(one), *more] for one in positions]


async def heard(suite: Presenter, then: Any = None) -> tuple[list[Any], Rows]:
    """The times that were there after each connection, and the rows at the end."""
    clock, times = VirtualClock(), []
    feeds = Feeds(cast("Suite", suite), clock, 1_000)
    feeds.follow("A")
    while suite.told:
        await settled()
        found = feeds.rows("A", "stream", "S")
        times.append(list(found.times) if found is not None else None)
        if then is not None:
            then()
        if suite.told:
            await clock.advance_ms(1_000)
            await settled()
            found = feeds.rows("A", "stream", "S")
            times.append(list(found.times) if found is not None else None)
    await feeds.close()
    assert found is not None
    return times, found


async def test_an_apps_name_is_one_part_of_the_address() -> None:
    """Also one with a slash; nobody would be told of another app."""
    suite = Presenter(rows_of(1))
    feeds = Feeds(cast("Suite", suite), VirtualClock(), 1_000)
    feeds.follow("a/b")
    await settled()
    await feeds.close()
    assert suite.shown == ["/v1/live/a%2Fb"]


async def test_longs_that_came_as_texts_are_numbers_again() -> None:
    """By the attribute's type: a string of digits stays one."""
    suite = Presenter([["1.0", 1_000, "9007199254740993", None, "9007199254740993"]])
    suite.names = ["room", "mean", "count"]
    _, found = await heard(suite)
    assert found.rows == [["9007199254740993", None, 2**53 + 1]]


class Refusing:
    """A suite that refuses every query, of the app B as of a stranger."""

    async def query(self, app: str, _text: str) -> dict[str, Any]:
        """With a reason that names the app."""
        raise RefusedError(401 if app == "B" else 404, {"title": f"{app} is refused"}, None)


async def test_each_app_has_its_own_trouble_with_a_query() -> None:
    """Two widgets may ask two apps the same."""
    feeds = Feeds(cast("Suite", Refusing()), VirtualClock(), 1_000)
    feeds.ask("A", QUERY)
    await settled()
    assert not feeds.is_refused
    feeds.ask("B", QUERY)
    await settled()
    await feeds.close()
    assert "A is refused" in feeds.trouble("A", "query", QUERY)
    assert "B is refused" in feeds.trouble("B", "query", QUERY)
    assert feeds.trouble("A", "stream", "S") == ""
    assert feeds.is_refused


@pytest.mark.parametrize("reason", [None, "Rows may be missing: trimmed."])
async def test_why_rows_of_a_table_are_missing_is_kept(reason: str | None) -> None:
    """As the presenter says it."""
    suite = Presenter(rows_of(1))
    suite.missing = reason
    feeds = Feeds(cast("Suite", suite), VirtualClock(), 1_000)
    feeds.follow("A")
    await settled()
    found = feeds.rows("A", "table", "T")
    await feeds.close()
    assert found is not None
    assert (found.rows, found.missing) == ([["attic", 1.0]], reason or "")


async def test_who_connects_again_has_no_row_twice() -> None:
    """The presenter begins with its last rows; those behind the last one that is here are new."""
    times, found = await heard(Presenter(rows_of(1, 2, 10), rows_of(2, 10, 11)))
    assert times == [[1_000, 2_000, 10_000], [1_000, 2_000, 10_000, 11_000]]
    assert [row[1] for row in found.rows] == [1.0, 2.0, 10.0, 11.0]


async def test_a_log_that_begins_anew_is_shown_anew() -> None:
    """Its rows have lower numbers, and are none that were seen."""
    times, _ = await heard(Presenter(rows_of(8, 9), rows_of(1, 2)))
    assert times[-1] == [1_000, 2_000]


async def test_an_upgrade_brings_other_attributes() -> None:
    """Rows of before have no place beside those of after."""
    suite = Presenter(rows_of(1, 2), rows_of(2, 3, more=(7,)))

    def upgrade() -> None:
        suite.names = ["room", "mean", "count"]

    _, found = await heard(suite, upgrade)
    assert found.names == ["room", "mean", "count"]
    assert found.rows == [["attic", 2.0, 7], ["attic", 3.0, 7]]


async def test_rows_of_another_edition_wait_for_their_names() -> None:
    """An upgrade between the question for the names and the first rows."""
    suite = Presenter(rows_of(1, more=(7,)), rows_of(1))
    suite.digest_edition = "2"

    def found_out() -> None:
        suite.edition = "2"

    times, _ = await heard(suite, found_out)
    assert times == [None, [1_000]]
