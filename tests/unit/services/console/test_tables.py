"""The page of tables: what an app holds, and the queries that the page makes of a person's."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from nicegui import Client

from lockstep.editing import known
from lockstep.siddhiql import parse_on_demand
from lockstep.testing import VirtualApp
from lockstep_services.console.feeds import query_of
from lockstep_services.console.pages.tables import (
    Asking,
    changes,
    grid_of,
    held_in,
    limited,
)
from tests.unit.services.console.on_a_page import press, settled, texts, view_of

APP = """@app:name('Shop')
define stream Sale (shop string, price double, at long);
@PrimaryKey('shop') @Index('price')
define table Best (shop string, price double);
define table Log (shop string);
define window Last (shop string, price double) length(5);
define aggregation PerShop from Sale select shop, sum(price) as total group by shop
aggregate by at every sec ... hour;
from Sale select shop, price update or insert into Best on Best.shop == shop;
"""


def test_all_that_an_app_holds_is_listed() -> None:
    """With its columns and its key; streams hold nothing."""
    found = {one.name: one for one in held_in(known(APP))}
    assert {name: (one.kind, one.key) for name, one in found.items()} == {
        "Best": ("table", ("shop",)),
        "Log": ("table", ()),
        "Last": ("window", ()),
        "PerShop": ("aggregation", ("shop",)),
    }
    assert [cell.content for cell in found["Best"].row()] == [
        "Best", "table", "shop string, price double", "shop",
    ]  # fmt: skip


def test_the_first_queries_are_answered() -> None:
    """What the page begins with is taken by the app, also a page of rows of it."""
    app = VirtualApp(APP)
    for one in held_in(known(APP)):
        query = query_of(one.kind, one.name)
        cut = limited(query, 50, 100)
        assert cut is not None
        app.on_demand(query)
        app.on_demand(cut)


@pytest.mark.parametrize(
    ("query", "cut"),
    [
        ("from Best", "from Best\n select * limit 5 offset 10"),
        ("from Best select shop;", "from Best select shop\n limit 5 offset 10"),
        ("from Best select shop -- all", "from Best select shop -- all\n limit 5 offset 10"),
        ("from Best select shop limit 3", None),
        ("from Best select shop offset 3", None),
        ("delete Best on Best.price > 3.0", None),
        ("from Best selct shop", None),
    ],
)
def test_a_page_of_rows(query: str, cut: str | None) -> None:
    """A query with a limit of its own, a change and a mistake go as they are."""
    assert limited(query, 5, 10) == cut
    if cut is not None:
        assert parse_on_demand(cut).selector.limit is not None


@pytest.mark.parametrize(
    ("query", "does"),
    [
        ("from Best select *", False),
        ("select 'a' as shop, 1.0 as price insert into Best", True),
        ("delete Best on Best.price > 3.0", True),
        ("nonsense", False),
    ],
)
def test_a_change_is_known_before_it_is_asked(query: str, does: bool) -> None:
    """So that its consequence can be said first."""
    assert changes(query) is does


class Rows:
    """A suite with 2,000 rows, which answers when it may."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.asked: list[str] = []

    async def query(self, _app: str, query: str) -> dict[str, Any]:
        """As many as the query wants."""
        self.asked.append(query.partition(" limit ")[2])
        await self.may_answer.wait()
        limit, _, offset = query.partition(" limit ")[2].partition(" offset ")
        rows = range(int(offset), min(2_000, int(offset) + int(limit)))
        return {"details": [{"name": "n", "dataType": "INT"}], "records": [[n] for n in rows]}


async def test_the_next_page_begins_behind_the_rows_that_are_shown(client: Client) -> None:
    """Also with another limit; nobody turns while a page is asked for."""
    suite = Rows()
    with client:
        view = view_of(suite)
        asking = Asking(view, "A")
    asking.suggest("from T")
    press(client, "Ask")
    await settled()
    assert "rows 1 to 200; there may be more" in texts(client)
    asking._limit.set_value(1_000)
    press(client, "Next")
    await settled()
    assert "rows 201 to 1,200; there may be more" in texts(client)
    suite.may_answer.clear()
    for _ in range(3):
        press(client, "Next")
    await settled()
    asking._limit.set_value(50)
    suite.may_answer.set()
    await settled()
    assert "rows 1,201 to 2,000" in texts(client)
    press(client, "Before")
    await settled()
    assert suite.asked == [
        "200 offset 0", "1000 offset 200", "1000 offset 1200", "50 offset 1150",
    ]  # fmt: skip


def test_the_grid_takes_any_name_and_value() -> None:
    """A dot in a name is no path, markup stays a text, and no long loses digits."""
    answer: dict[str, Any] = {
        "details": [{"name": "a.b", "dataType": "LONG"}, {"name": "c", "dataType": "STRING"},
                    {"name": "d", "dataType": "BOOL"}],
        "records": [[2**53 + 1, "<b>", True], [7, None, None]],
    }  # fmt: skip
    grid = grid_of(answer)
    assert [one["field"] for one in grid["columnDefs"]] == ["c0", "c1", "c2"]
    assert grid["columnDefs"][0]["headerName"] == "a.b"
    assert grid["rowData"] == [
        {"c0": "9007199254740993", "c1": "<b>", "c2": "true"},
        {"c0": 7, "c1": None, "c2": None},
    ]
    assert not grid["pagination"]
    assert grid_of({**answer, "records": [[1, "a", True]] * 51})["pagination"]
