"""Watch: dashboards that people make, save, share and export; what an app has, asked and drawn."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

from nicegui import ui

from lockstep.cli.refusals import RefusedError
from lockstep.events import LockstepError
from lockstep_services.console import allowed, charts, figures, samples, widgets
from lockstep_services.console.feeds import SAMPLED_OVER, Feeds
from lockstep_services.console.look import (
    Table,
    answer_of,
    attempt,
    box,
    button,
    chip,
    confirmed,
    empty,
    tell,
    text,
)
from lockstep_services.console.shell import View, page
from lockstep_services.console.suite import live_path
from lockstep_services.console.widget_form import asked
from lockstep_services.console.widgets import Board, Rows, Widget

FIRST_EVERY_S = 1.0
"""How soon a board that stands still shows the first rows of each widget."""


_UNFIT: Final = (ValueError, TypeError, IndexError, OverflowError)
"""What rows may cause that are not as the widget takes them; other widgets go on."""


class Panel:
    """A widget on the page."""

    def __init__(self, view: View, widget: Widget, edit: Callable[[Widget], Any]) -> None:
        self.widget = widget
        self.is_filled = False
        with box(f"card widget w{widget.width}", "section"):
            with box("card-head"):
                text("h2", widget.title or widget.source)
                self._note = text("span", "", "hint")
                ui.button(icon="edit", on_click=lambda: edit(widget), color=None).props(
                    f'flat round dense size=sm aria-label="Change {_attribute(widget.title)}"'
                ).classes("widget-edit")
            self._waiting = text("p", "Waiting for rows …", "soft")
            self._body = box("widget-body")
            with self._body:
                self._shown = _drawn(view, widget)

    def show(self, found: Rows | None, span_s: int, trouble: str) -> None:
        """What is there now; `trouble`: why it is not the newest."""
        if found is None or (not found.rows and not found.total):
            missing = "" if found is None else found.missing
            self._waiting.set_text(trouble or missing or "Waiting for rows …")
            self._waiting.set_visibility(True)
            self._body.set_visibility(False)
            return
        self.is_filled = True
        self._waiting.set_visibility(False)
        self._body.set_visibility(True)
        rate = f"{figures.count(found.rate)} rows / s" if found.times else ""
        sampled = ", sampled: not every row is drawn" if found.rate > SAMPLED_OVER else ""
        fine = found.missing or rate + sampled
        self._note.set_text(f"Not up to date: {trouble}" if trouble else fine)
        try:
            self._shown(widgets.chosen(self.widget, found, span_s))
        except _UNFIT as error:
            self._note.set_text(f"It does not show what came: {error}")


def _attribute(content: str) -> str:
    return "".join(each for each in content if each.isalnum() or each in " :-_")


def _drawn(view: View, widget: Widget) -> Callable[[Rows], None]:
    """What shows rows as the widget's kind wants."""
    match widget.kind:
        case "line":
            line = charts.Times(view)
            return lambda rows: line.show(widgets.series(widget, rows))
        case "bar":
            bars = charts.Bars(view)
            return lambda rows: bars.show(widgets.latest(widget, rows))
        case "pie":
            pie = charts.Pie(view)
            return lambda rows: pie.show(widgets.latest(widget, rows))
        case "gauge":
            gauge = charts.Gauge(view)
            return lambda rows: gauge.show(widgets.level(widget, rows))
        case "map":
            plane = charts.Map(view)
            return lambda rows: plane.show(widgets.points(widget, rows))
        case "number":
            figure = text("div", "–", "figure")

            def put(rows: Rows) -> None:
                figure.set_text(figures.short(widgets.number(widget, rows)))

            return put
    return _table()


def _table() -> Callable[[Rows], None]:
    holder = box("dense widget-table")
    made: dict[tuple[str, ...], Table] = {}

    def show(rows: Rows) -> None:
        columns = ("Time (UTC)", *rows.names) if rows.times else tuple(rows.names)
        if columns not in made:  # the first rows, or others since an upgrade
            holder.clear()
            made.clear()
            with holder:
                made[columns] = Table(columns, empty="No rows.")
        last = list(range(len(rows.rows)))[-widgets.TABLE_ROWS :]
        if rows.times:
            shown = [
                [figures.time_of_day(rows.times[n]), *map(figures.value, rows.rows[n])]
                for n in reversed(last)
            ]
        else:
            shown = [[*map(figures.value, rows.rows[n])] for n in last]
        made[columns].show(shown)

    return show


class Dashboard:
    """A board on the page: shown, changed, saved."""

    def __init__(self, view: View, board: Board, name: str) -> None:
        self._view = view
        self._board = board
        self._name = name
        self._panels: list[Panel] = []
        self._feeds = Feeds(view.suite, view.world.clock, board.refresh_s * 1_000)

    def build(self) -> None:
        """All of the page."""
        with self._view.actions:
            span = ui.select(widgets.SPANS, value=self._board.span_s, on_change=self._spanned)
            span.props('outlined dense options-dense aria-label="Time span"')
            refresh = ui.select(
                widgets.REFRESHES, value=self._board.refresh_s, on_change=self._paced
            )
            refresh.props('outlined dense options-dense aria-label="Shown anew every"')
            button("Add a widget", lambda: self._edit(None), icon="add")
            with (
                ui.button(icon="more_horiz", color=None)
                .props('flat aria-label="More"')
                .classes("btn"),
                ui.menu(),
            ):
                ui.menu_item("Copy the link", self._link)
                ui.menu_item("Export as JSON", self._export)
                if self._name:
                    delete = ui.menu_item("Delete …", self._delete)
                    self._view.allowed.offer(delete, allowed.DELETE_BOARD)
            save = button("Save", self._save, kind="primary")
            self._view.allowed.offer(save, allowed.SAVE_BOARD)
        self._grid = box("board")
        with empty(
            "This dashboard is empty", "A widget shows a stream, a table or a query of an app.",
            "dashboard_customize",
        ) as self._nothing:  # fmt: skip
            button("Add a widget", lambda: self._edit(None), kind="primary")
        self._draw()
        self._timer = ui.timer(self._board.refresh_s or FIRST_EVERY_S, self._tick)
        ui.context.client.on_delete(self._feeds.close)

    def _draw(self) -> None:
        self._grid.clear()
        self._panels.clear()
        self._nothing.set_visibility(not self._board.widgets)
        with self._grid:
            for widget in self._board.widgets:
                self._panels.append(Panel(self._view, widget, self._edit))
                if widget.of == "query":
                    self._feeds.ask(widget.app, widget.source)
                else:
                    self._feeds.follow(widget.app)

    def _tick(self) -> None:
        if self._feeds.is_refused:
            ui.navigate.to(self._view.log_in)
        self._show(again=bool(self._board.refresh_s))

    def _show(self, *, again: bool = True) -> None:
        """What is new; not `again`: only where nothing was shown yet."""
        for panel in self._panels:
            if panel.is_filled and not again:
                continue
            one = panel.widget
            found = self._feeds.rows(one.app, one.of, one.source)
            trouble = self._feeds.trouble(one.app, one.of, one.source)
            panel.show(found, self._board.span_s, trouble)

    def _spanned(self, event: Any) -> None:
        self._board.span_s = int(event.value)

    def _paced(self, event: Any) -> None:
        self._board.refresh_s = int(event.value)
        self._timer.interval = self._board.refresh_s or FIRST_EVERY_S
        self._feeds.pace(self._board.refresh_s * 1_000)

    async def _edit(self, widget: Widget | None) -> None:
        apps = await attempt(self._view.suite.apps())
        if not apps:
            tell("Deploy an app first.", "warning")
            return
        changed = await asked(self._view, [one["app"] for one in apps], widget)
        if changed is None:
            return
        at = self._board.widgets.index(widget) if widget in self._board.widgets else None
        if changed == "delete":
            self._board.widgets.remove(widget)  # type: ignore[arg-type]
        elif isinstance(changed, Widget) and at is not None:
            self._board.widgets[at] = changed
        elif isinstance(changed, Widget):
            self._board.widgets.append(changed)
        self._draw()
        self._show()

    async def _save(self) -> None:
        with ui.dialog() as dialog, box("dialog card"):
            text("h2", "Save the dashboard")
            field = ui.input("Name", value=self._name or self._board.title).props("outlined")
            field.classes("full")
            text(
                "p", "Everybody who may use this suite sees it, and its address shares it.", "soft"
            )
            with box("dialog-actions"):
                button("Cancel", lambda: dialog.submit(None), kind="quiet")
                button("Save", lambda: dialog.submit(field.value), kind="primary")
        name = await answer_of(dialog)
        if not name or not await self._may_replace(name):
            return
        self._board.title = name
        body = json.loads(widgets.write_board(self._board))
        path = f"/v1/dashboards/{quote(name, safe='')}"
        if await attempt(self._view.suite.tell("PUT", path, body)) is not None:
            ui.navigate.to(f"/watch/{quote(name, safe='')}")

    async def _may_replace(self, name: str) -> bool:
        """Whether there is no other dashboard of this name, or the person wants that."""
        if name == self._name:
            return True
        found = await attempt(self._view.suite.ask("/v1/dashboards"))
        if found is None:
            return False
        says = ("There is a dashboard of this name already. It is gone for everybody.",)
        return name not in found["dashboards"] or await confirmed(
            f"Replace {name}?", says, "Replace", danger=True
        )

    def _link(self) -> None:
        if not self._name:
            tell("Save it first: then it has an address.", "warning")
            return
        ui.run_javascript("navigator.clipboard.writeText(location.href)")
        tell("The link is copied")

    def _export(self) -> None:
        ui.download.content(widgets.write_board(self._board), f"{self._name or 'dashboard'}.json")

    async def _delete(self) -> None:
        says = ("It is gone for everybody. Apps and their rows are not touched.",)
        if await confirmed(f"Delete {self._name}?", says, "Delete", danger=True):
            path = f"/v1/dashboards/{quote(self._name, safe='')}"
            if await attempt(self._view.suite.tell("DELETE", path)) is not None:
                ui.navigate.to("/watch")


@page("/watch", "Watch")
async def build(view: View) -> None:
    """The saved dashboards; of the app that the address names, one made for it; or a sample's."""
    sample = samples.boards().get(view.parameter("sample"))
    if sample is not None:
        Dashboard(view, sample, "").build()
        return
    app = view.parameter("app")
    if app:
        await view.once(lambda: view.suite.show(live_path(app)), partial(_made_for, view, app))
        return
    if "new" in view.request.query_params:
        Dashboard(view, Board(), "").build()
        return

    async def fetch() -> tuple[Any, Sequence[Mapping[str, Any]]]:
        saved, apps = await asyncio.gather(view.suite.ask("/v1/dashboards"), view.suite.apps())
        return saved, apps

    await view.once(fetch, lambda found: _listed(view, found[0]["dashboards"], found[1]))


def _made_for(view: View, app: str, overview: Mapping[str, Any]) -> None:
    board = Board(title=app, widgets=widgets.suggested(app, overview))
    Dashboard(view, board, "").build()


def _listed(view: View, saved: Sequence[str], apps: Sequence[Mapping[str, Any]]) -> None:
    with view.actions:
        button("Import", lambda: _import(view, saved), icon="upload")
        ui.link("New dashboard", "/watch?new").classes("btn primary")
    if not saved and not apps:
        empty(
            "Nothing to watch yet",
            "Deploy an app; then make a dashboard of its streams.",
            "insights",
        )
        return
    if saved:
        text("h2", "Dashboards")
        with box("shelf"):
            for name in saved:
                with ui.link(target=f"/watch/{quote(name, safe='')}").classes("card"):
                    ui.icon("dashboard").props("aria-hidden=true")
                    text("b", name)
    text("h2", "Made by themselves")
    with box("shelf"):
        for one in apps:
            with ui.link(target=f"/watch?app={quote(one['app'], safe='')}").classes("card"):
                ui.icon("auto_graph").props("aria-hidden=true")
                text("b", one["app"])
                chip("its streams and tables", "soft")
    deployed = {one["app"] for one in apps}
    offered = {n: b for n, b in samples.boards().items() if deployed >= {w.app for w in b.widgets}}
    if offered:
        text("h2", "From the samples")
        with box("shelf"):
            for name, board in offered.items():
                with ui.link(target=f"/watch?sample={quote(name, safe='')}").classes("card"):
                    ui.icon("menu_book").props("aria-hidden=true")
                    text("b", board.title)
                    chip(", ".join(sorted({one.app for one in board.widgets})), "soft")


async def _import(view: View, saved: Sequence[str]) -> None:
    """A dashboard's document, kept under a name that is free."""
    with ui.dialog() as dialog, box("dialog card"):
        text("h2", "Import a dashboard")
        name = ui.input("Name").props("outlined").classes("full")
        document = ui.textarea("JSON, as it was exported").props("outlined").classes("full")
        with box("dialog-actions"):
            button("Cancel", lambda: dialog.submit(False), kind="quiet")
            button("Import", lambda: dialog.submit(True), kind="primary")
    if not await answer_of(dialog):
        return
    try:
        board = widgets.read_board((document.value or "").encode())
    except ValueError as error:
        tell(str(error), "warning")
        return
    board.title = name.value or board.title
    if not board.title or board.title in saved:
        tell("Give it a name that no other dashboard has.", "warning")
        return
    path = f"/v1/dashboards/{quote(board.title, safe='')}"
    body = json.loads(widgets.write_board(board))
    if await attempt(view.suite.tell("PUT", path, body)) is not None:
        ui.navigate.to(f"/watch/{quote(board.title, safe='')}")


@page("/watch/{name}", "Watch")
async def saved_board(view: View) -> None:
    """The dashboard of that name."""
    name = view.parameter("name")
    path = f"/v1/dashboards/{quote(name, safe='')}"
    await view.once(partial(_found, view, path), partial(_saved, view, name))


async def _found(view: View, path: str) -> Board | LockstepError | ValueError:
    """The board, or why there is none to show. What passes by is raised, and asked for again."""
    try:
        return widgets.read_board(json.dumps(await view.suite.ask(path)).encode())
    except RefusedError as error:
        if error.status == HTTPStatus.UNAUTHORIZED:
            raise
        return error
    except ValueError as error:
        return error


def _saved(view: View, name: str, found: Board | LockstepError | ValueError) -> None:
    if isinstance(found, Board):
        Dashboard(view, found, name).build()
    elif isinstance(found, LockstepError):
        empty("There is no such dashboard", str(found), "search_off")
    else:
        empty("This dashboard cannot be shown", str(found), "error")
