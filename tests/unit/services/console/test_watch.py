"""Watch: a widget says when it is old, and one that cannot be drawn leaves the others alone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from nicegui import Client, ui

from lockstep_services.console.feeds import Feeds
from lockstep_services.console.pages.watch import Dashboard, Panel
from lockstep_services.console.widget_form import asked
from lockstep_services.console.widgets import Board, Rows, Widget
from tests.unit.services.console.on_a_page import press, settled, texts, view_of

NAMES = ["room", "mean"]
TABLE = Widget(kind="table", app="A", source="S", title="Rooms")


class Told(Feeds):
    """What a test says that there is."""

    def __init__(self, found: Rows) -> None:
        self.found = found
        self._troubles = {}
        self.is_refused = True

    def rows(self, app: str, of: str, source: str) -> Rows:
        """Of all."""
        return self.found


async def edited(_: Widget) -> None:
    """Nobody does."""


async def test_rows_that_are_old_say_so(client: Client) -> None:
    """While the presenter is away they stay, with the reason; then that goes."""
    rows = Rows(NAMES, [["attic", 31.5]], [1_000], 2.0, 1)
    with client:
        panel = Panel(view_of(None), TABLE, edited)
    panel.show(rows, 300, "cannot reach it")
    assert "Not up to date: cannot reach it" in texts(client)
    assert "attic" in texts(client)
    panel.show(rows, 300, "")
    assert {"2 rows / s", "Time (UTC)", "00:00:01"} <= set(texts(client))


async def test_a_table_without_all_rows_says_so(client: Client) -> None:
    """With the presenter's reason, until there is none."""
    with client:
        panel = Panel(view_of(None), TABLE, edited)
    panel.show(Rows(NAMES, [["attic", 31.5]], missing="Rows may be missing: trimmed."), 300, "")
    assert "Rows may be missing: trimmed." in texts(client)
    panel.show(Rows(NAMES, [["attic", 31.5]]), 300, "")
    assert "Rows may be missing: trimmed." not in texts(client)


async def test_a_table_takes_the_attributes_of_an_upgrade(client: Client) -> None:
    """Its columns are those of the rows."""
    with client:
        panel = Panel(view_of(None), TABLE, edited)
    panel.show(Rows(NAMES, [["attic", 31.5]], [1_000]), 300, "")
    panel.show(Rows([*NAMES, "count"], [["hall", 20.0, 7]], [2_000]), 300, "")
    assert {"count", "hall", "20", "7"} <= set(texts(client))
    assert "attic" not in texts(client)


async def test_one_widget_that_fails_leaves_the_others_alone(client: Client) -> None:
    """It says that it does not show what came."""
    rows = Rows(NAMES, [["attic", 31.5, "too much"]], [1_000], 0.0, 1)
    board = Board(widgets=[TABLE, Widget(kind="number", app="A", source="S", value="mean")])
    with client:
        dashboard = Dashboard(view_of(None), board, "")
        dashboard._panels = [Panel(view_of(None), one, edited) for one in board.widgets]
    dashboard._feeds = Told(rows)
    dashboard._show()
    assert [one for one in texts(client) if str(one).startswith("It does not show what came")]
    assert "31.5" in texts(client)


async def test_who_is_known_no_more_logs_in_and_comes_back(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the very page, with what its address asks for."""
    went: list[str] = []
    monkeypatch.setattr(ui.navigate, "to", went.append)
    with client:
        view = view_of(None)
        view.request.scope.update(raw_path=b"/watch", query_string=b"app=a%2Fb")
        dashboard = Dashboard(view, Board(), "")
    dashboard._feeds = Told(Rows(NAMES, []))
    dashboard._tick()
    assert went == ["/login?to=/watch%3Fapp%3Da%252Fb"]


class Saved:
    """A suite with one dashboard."""

    def __init__(self) -> None:
        self.kept: list[str] = []

    async def ask(self, _path: str) -> dict[str, Any]:
        """Its names."""
        return {"dashboards": ["Rooms"]}

    async def tell(self, _method: str, path: str, _body: Any) -> dict[str, Any]:
        """Keeps another one."""
        self.kept.append(path)
        return {}


async def test_a_dashboard_of_the_name_is_replaced_when_that_is_wanted(client: Client) -> None:
    """Its own name, and one that nobody has, need no question."""
    suite = Saved()
    with client:
        of_its_own = Dashboard(view_of(suite), Board(), "Rooms")
        other = Dashboard(view_of(suite), Board(), "")
        assert await of_its_own._may_replace("Rooms")
        assert await other._may_replace("Halls")

    async def ask() -> bool:
        with client:
            return await other._may_replace("Rooms")

    for button, answer in (("Cancel", False), ("Replace", True)):
        task = asyncio.create_task(ask())
        await settled()
        assert "Replace Rooms?" in texts(client)
        press(client, button)
        assert await task is answer


FIELDS = ["Filter", "To"]


async def test_a_wrong_filter_leaves_the_form_as_it_is(client: Client) -> None:
    """It is mended there; a gauge may end at nought."""
    gauge = Widget(kind="gauge", app="A", source="S")

    async def ask() -> Any:
        with client:
            return await asked(view_of(Overview()), ["A"], gauge)

    task = asyncio.create_task(ask())
    await settled()
    fields: dict[str, Any] = {
        one.props["label"]: one
        for one in client.elements.values()
        if one.props.get("label") in FIELDS
    }
    fields["Filter"].set_value("room")
    fields["To"].set_value(0)
    press(client, "Done")
    await settled()
    assert not task.done()
    fields["Filter"].set_value("room == attic")
    press(client, "Done")
    found = await task
    assert (found.where, found.high) == ("room == attic", 0.0)


class Overview:
    """A suite with an app of one stream."""

    async def show(self, _path: str) -> dict[str, Any]:
        """Its stream."""
        attributes = [{"name": one} for one in NAMES]
        return {"streams": [{"name": "S", "attributes": attributes}], "tables": []}

    async def ask(self, _path: str) -> dict[str, Any]:
        """Its text."""
        return {"text": "define stream S (room string, mean double);"}
