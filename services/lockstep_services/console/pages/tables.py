"""Tables: what an app holds, with its columns and keys, and any on-demand query asked of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from nicegui import ui

from lockstep.cli.refusals import RefusedError
from lockstep.editing import Known, known
from lockstep.events import LockstepError
from lockstep.events.paths import app_path
from lockstep.siddhiql import SiddhiQLError, ast, parse_on_demand
from lockstep_services.console import allowed, figures
from lockstep_services.console.feeds import query_of
from lockstep_services.console.look import (
    Cell,
    Table,
    box,
    button,
    card,
    confirmed,
    empty,
    said,
    text,
)
from lockstep_services.console.shell import View, page
from lockstep_services.console.widgets import NUMBERS

COLUMNS: Final = ("Name", "Kind", "Columns", "Key")
KINDS: Final = {"table": "table", "window": "named window", "aggregation": "aggregation"}
LIMITS: Final = (50, 200, 1_000, 5_000)
PAGE_ROWS: Final = 50
FEW_ROWS: Final = 10
MAX_EXACT: Final = 2**53
SPREAD: Final = "spread over"
_NUMBER: Final = {
    "type": "numericColumn",
    "filter": "agNumberColumnFilter",
    ":comparator": """(a, b) => {
      const [x, y] = [a, b].map((one) => typeof one === "string" ? BigInt(one) : one);
      return x === y ? 0 : x === null ? -1 : y === null ? 1 : x < y ? -1 : 1;
    }""",
}
"""What the grid is told of a column of numbers, of which long ones are texts. Nulls come first."""
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Held:
    """Something that an app holds rows in."""

    name: str
    kind: str
    columns: tuple[tuple[str, str], ...]
    key: tuple[str, ...]

    def row(self) -> list[Cell]:
        """As a line of the list."""
        return [
            Cell(self.name, "mono strong"),
            Cell(KINDS[self.kind]),
            Cell(", ".join(f"{name} {kind}" for name, kind in self.columns), "columns"),
            Cell(", ".join(self.key) or "–", "mono"),
        ]


def held_in(found: Known) -> list[Held]:
    """Tables, named windows and aggregations of a text, in its order. The key of an aggregation
    is what it groups by."""
    return [
        Held(one.name, one.kind, one.attributes, _key_of(found, one.name))
        for one in found.names.values()
        if one.kind in KINDS
    ]


def _key_of(found: Known, name: str) -> tuple[str, ...]:
    if found.app is None:
        return ()
    if name in found.app.tables:
        keys = found.app.tables[name].annotations
        return next((one.positional for one in keys if one.name.lower() == "primarykey"), ())
    if name in found.app.aggregations:
        grouped = found.app.aggregations[name].definition.selector.group_by
        return tuple(one.name for one in grouped)
    return ()


def changes(query: str) -> bool:
    """Whether it changes what the app holds; what cannot be read is refused by who is asked."""
    try:
        return not isinstance(parse_on_demand(query).action, ast.ReturnEvents | None)
    except SiddhiQLError:
        return False


def limited(query: str, limit: int, offset: int) -> str | None:
    """The query for a page of rows; None where it has a limit of its own, or none can be set."""
    try:
        tree = parse_on_demand(query)
        if tree.action is not None or tree.selector.limit or tree.selector.offset:
            return None
        select = "" if tree.selector.explicit else " select *"
        cut = f"{query.strip().rstrip(';')}\n{select} limit {limit} offset {offset}"
        parse_on_demand(cut)
    except SiddhiQLError:
        return None
    return cut


def grid_of(answer: Json) -> dict[str, Any]:
    """An answer's columns and rows as the grid wants them. Fields have numbers: a name may be
    anything. By itself the grid would take the type of a column from its first row."""
    columns = [
        {
            "headerName": one["name"], "field": f"c{number}", "headerTooltip": one["dataType"],
            **(_NUMBER if one["dataType"].lower() in NUMBERS else {}),
        }
        for number, one in enumerate(answer["details"])
    ]  # fmt: skip
    rows = [
        {one["field"]: _cell(value) for one, value in zip(columns, row, strict=True)}
        for row in answer["records"]
    ]
    return {
        "columnDefs": columns,
        "rowData": rows,
        "defaultColDef": {"sortable": True, "filter": True, "resizable": True, "flex": 1,
                          "minWidth": 110, "cellDataType": False,
                          ":valueFormatter": "(cell) => cell.value ?? '–'"},
        "pagination": len(rows) > PAGE_ROWS,
        "paginationPageSize": PAGE_ROWS,
        "paginationPageSizeSelector": [PAGE_ROWS, 200, 1_000],
        "domLayout": "autoHeight" if len(rows) <= FEW_ROWS else "normal",
        "enableCellTextSelection": True,
    }  # fmt: skip


def _cell(value: Any) -> Any:
    """Numbers, texts and nulls as they are; what else there is as people read it. Browsers' numbers
    have 53 bits, so longer ones go as texts."""
    if isinstance(value, bool | list | dict):
        return figures.value(value)
    return str(value) if isinstance(value, int) and abs(value) > MAX_EXACT else value


class Asking:
    """The query box and its answer, a page of rows at a time."""

    def __init__(self, view: View, app: str) -> None:
        self._view = view
        self._app = app
        self._offset = 0
        self._rows = 0
        """At most, from the offset on, as they were asked for."""

        self._asked = ""
        self._is_asking = False
        with card("Ask", "an on-demand query: reads, or inserts, updates and deletes"):
            self.query = ui.textarea("Query").props("outlined autogrow input-class=mono")
            self.query.classes("full").on("keydown.ctrl.enter", self._first)
            with box("row"):
                ask = button("Ask", self._first, kind="primary")
                view.allowed.offer(ask, allowed.QUERY, app=app)
                self._limit = ui.select(list(LIMITS), value=LIMITS[1], label="Rows at most")
                self._limit.props("outlined dense options-dense").style("width:160px")
                self._before = button(
                    "Before", lambda: self._turn(-int(self._limit.value)), kind="quiet"
                )
                self._next = button("Next", lambda: self._turn(self._rows), kind="quiet")
                self._told = text("span", "", "hint grow").props("role=status")
        self._place = box("answer")
        self._offer(has_before=False, has_next=False)

    def suggest(self, query: str) -> None:
        """Another query in the box."""
        self.query.set_value(query)

    def _offer(self, *, has_before: bool, has_next: bool) -> None:
        self._before.set_enabled(has_before)
        self._next.set_enabled(has_next)

    async def _first(self) -> None:
        """What stands in the box, from its first row on; a change says first that it is one."""
        query = str(self.query.value or "").strip()
        if not query or self._is_asking:
            return
        if changes(query):
            says = (f"It changes what {self._app} holds, for everybody.", "It cannot be undone.")
            if not await confirmed("Change rows?", says, "Change", danger=True):
                return
        self._asked, self._offset = query, 0
        await self._ask()

    async def _turn(self, rows: int) -> None:
        """On by the rows that are shown, or back by as many as there may be now."""
        if not self._is_asking:
            self._offset = max(0, self._offset + rows)
            await self._ask()

    async def _ask(self) -> None:
        self._is_asking = True
        self._rows = int(self._limit.value)
        self._told.set_text("asking …")
        try:
            answer, is_cut = await self._answer()
        except LockstepError as error:
            self._told.set_text("")
            self._offer(has_before=self._offset > 0, has_next=False)
            self._place.clear()
            with self._place, card():
                text("p", said(error), "reason").props("role=alert")
        else:
            self._show(answer, is_cut=is_cut)
        finally:
            self._is_asking = False

    async def _answer(self) -> tuple[Json, bool]:
        """And whether it is one page of more; what is spread over partitions comes as a whole."""
        suite = self._view.suite
        cut = limited(self._asked, self._rows, self._offset)
        if cut is not None:
            try:
                return await suite.query(self._app, cut), True
            except RefusedError as error:
                if SPREAD not in str(error):
                    raise
        return await suite.query(self._app, self._asked), False

    def _show(self, answer: Json, *, is_cut: bool) -> None:
        limit, rows = self._rows, answer["records"]
        self._place.clear()
        if "changed" in answer:
            self._told.set_text(f"{answer['changed']:,} rows changed")
            self._offer(has_before=False, has_next=False)
            return
        is_full = is_cut and len(rows) == limit
        self._offer(has_before=is_cut and self._offset > 0, has_next=is_full)
        first = self._offset if is_cut else 0
        span = f"rows {first + 1:,} to {first + len(rows[:limit]):,}" if rows else "no row"
        more = f"; {len(rows):,} came" if len(rows) > limit else ""
        self._told.set_text(f"{span}{more}{'; there may be more' if is_full else ''}")
        with self._place, card(classes="flush"):
            shown = {**answer, "records": rows[:limit]}
            grid = ui.aggrid(grid_of(shown), auto_size_columns=False).classes("grid")
            if len(shown["records"]) <= FEW_ROWS:
                grid.classes("few")


@page("/apps/{name}/tables", "Tables")
async def build(view: View) -> None:
    """Of the app that the address names."""
    app = view.parameter("name")
    with view.actions:
        ui.link("The app", f"/apps/{quote(app, safe='')}").classes("btn")
        ui.link("Watch", f"/watch?app={quote(app, safe='')}").classes("btn")
    held = box()
    asking = Asking(view, app)

    async def fetch() -> list[Held]:
        source = (await view.suite.ask(app_path(app)))["text"]
        return held_in(await asyncio.to_thread(known, source))

    with held:
        await view.once(fetch, lambda found: _listed(asking, found))


def _listed(asking: Asking, found: Sequence[Held]) -> None:
    """What there is, and a first query of each."""
    if not found:
        empty("This app holds nothing", "It has no table, named window or aggregation.")
        return
    with card("What it holds", "", "flush"):
        Table(COLUMNS, empty="").show([one.row() for one in found])
    with box("row"):
        text("span", "Begin with", "soft")
        for one in found:
            first = partial(asking.suggest, query_of(one.kind, one.name))
            button(one.name, first, kind="small mono")
    if not asking.query.value:
        asking.suggest(query_of(found[0].kind, found[0].name))
