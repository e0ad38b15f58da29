"""History: what is archived of an app, and the past asked by SQL; an answer can be taken along as
CSV or Parquet."""

from __future__ import annotations

import asyncio
import csv
import io
import itertools
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
from nicegui import ui

from lockstep.events import LockstepError
from lockstep.events.paths import app_path
from lockstep_services.console import figures
from lockstep_services.console.look import Cell, Table, Tile, box, button, card, empty, tell, text
from lockstep_services.console.look import said as told
from lockstep_services.console.shell import View, page

SHOWN_ROWS: Final = 500
"""On the page; the export has all that were asked for."""

LIMIT: Final = 1_000
MAX_LIMIT: Final = 10_000
REFRESH_S: Final = 5.0
COLUMNS: Final = ("Table", "Side", "Rows", "Size", "From", "To", "Positions")
SIDES: Final = {"input": "came in", "output": "went out"}
ARCHIVE_SINKS: Final = "archive."
NUMBERS: Final = ("int", "uint", "float", "double", "decimal")
KEPT_TYPES: Final = {
    str(one): one
    for one in (
        pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(),
        pa.uint64(), pa.float32(), pa.float64(), pa.bool_(),
    )
}  # fmt: skip
"""Arrow's, by the names that the coordinator gives them. Values of others came as texts."""

Json = Mapping[str, Any]


def row_of(table: Json) -> list[Cell]:
    """What is archived of a stream."""
    side = "in" if table["side"] == "input" else "out"
    span = "–" if table["first"] is None else f"{table['first']:,} to {table['last']:,}"
    return [
        Cell(f"{table['stream']}__{side}", "mono strong"),
        Cell(SIDES[table["side"]]),
        Cell(f"{table['rows']:,}"),
        Cell(figures.size(table["size_bytes"])),
        Cell("–" if table["from_ms"] is None else figures.moment(table["from_ms"])),
        Cell("–" if table["to_ms"] is None else figures.moment(table["to_ms"])),
        Cell(span),
    ]


def day_and_time(milliseconds: int) -> tuple[str, str, str]:
    """For a tile: its value, how it looks, its hint."""
    day, _, time = figures.moment(milliseconds).partition(" ")
    return day, "soft", f"{time} UTC"


def behind_of(sinks: Sequence[Json]) -> tuple[int | None, list[str]]:
    """By how many records the archive is behind its logs, and what troubles it; None: nobody
    writes it."""
    ours = [one for one in sinks if one["sink"].startswith(ARCHIVE_SINKS)]
    troubles = [one["trouble"] for one in ours if one.get("trouble")]
    if not ours:
        return None, troubles
    return sum(max(0, one["log_end"] - one["sequence"]) for one in ours), troubles


def csv_of(answer: Json) -> str:
    """With the columns' names in front."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(answer["columns"])
    writer.writerows(answer["rows"])
    return file.getvalue()


def parquet_of(answer: Json) -> bytes:
    """A column of the answer each: numbers and bools with their types, others as texts. Readers
    refuse two columns of one name: the second one of `user` is `user_2`."""
    columns: list[pa.Array] = []
    for number, name in enumerate(answer["types"]):
        values, kind = [row[number] for row in answer["rows"]], KEPT_TYPES.get(name)
        if kind is None:
            values = [one if one is None else str(one) for one in values]
        columns.append(pa.array(values, kind or pa.string()))
    file = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_arrays(columns, names=_told_apart(answer["columns"])), file)
    return bytes(file.getvalue())


def _told_apart(names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        others = (f"{name}_{number}" for number in itertools.count(2))
        free = (one for one in (name, *itertools.islice(others, len(names))) if one not in found)
        found.append(next(free))
    return found


def figures_path(app: str) -> str:
    """The page that tells how an app was doing."""
    return f"/apps/{quote(app, safe='')}/figures"


class Archived:
    """What there is of the chosen app."""

    def __init__(self) -> None:
        with box("tiles"):
            self._rows = Tile("Rows", hint="events and published rows")
            self._size = Tile("On disk", hint="compressed")
            self._from = Tile("From")
            self._to = Tile("To")
            self._behind = Tile("Behind by", hint="records of the logs")
        with card("Tables", "named as the streams; __in came in, __out went out", "flush"):
            self._table = Table(
                COLUMNS, empty="Nothing is archived of this app.", number=("Rows", "Size")
            )

    def show(self, found: tuple[Json, Json]) -> None:
        """The coordinator's answers."""
        streams = [one for one in found[0]["tables"] if one["stream"]]
        self._rows.set(figures.count(sum(one["rows"] for one in streams)))
        self._size.set(figures.size(sum(one["size_bytes"] for one in found[0]["tables"])))
        times = [one[key] for one in streams for key in ("from_ms", "to_ms")]
        known = [one for one in times if one is not None]
        if known:
            self._from.set(*day_and_time(min(known)))
            self._to.set(*day_and_time(max(known)))
        behind, troubles = behind_of(found[1].get("sinks", ()))
        kind = "bad" if troubles else "soft"
        hint = troubles[0] if troubles else "records of the logs"
        self._behind.set("–" if behind is None else figures.count(behind), kind, hint)
        self._table.show([row_of(one) for one in streams])


class Asking:
    """The query and its answer."""

    def __init__(self, view: View, app: Any) -> None:
        self._view = view
        self._app = app
        self._running: asyncio.Future[Any] | None = None
        self._answer: Json | None = None
        with card("Ask", "SQL that reads; streams and attributes are named as in the app"):
            self._sql = ui.textarea("SQL", value="").props("outlined autogrow input-class=mono")
            self._sql.classes("full").on("keydown.ctrl.enter", self._ask)
            with box("row"):
                button("Ask", self._ask, kind="primary")
                self._cancel = button("Cancel", self._give_up)
                self._limit = ui.number("Rows at most", value=LIMIT, min=1, max=MAX_LIMIT)
                self._limit.props("outlined dense").style("width:130px")
                self._exports = [
                    button("Export CSV", self._save_csv, kind="quiet"),
                    button("Export Parquet", self._save_parquet, kind="quiet"),
                ]
                self._told = text("span", "", "hint grow")
            self._cancel.disable()
            for one in self._exports:
                one.disable()
        self._place = box("answer")

    def suggest(self, found: Json) -> None:
        """A first query, where nothing is written yet."""
        names = [one for one in found["tables"] if one["stream"]]
        if names and not self._sql.value:
            side = "in" if names[-1]["side"] == "input" else "out"
            self._sql.set_value(
                f"select * from {names[-1]['stream']}__{side} order by _position desc limit 20"  # noqa: S608
            )

    async def _ask(self) -> None:
        if self._running is not None or not str(self._sql.value).strip():
            return
        suite, clock = self._view.suite, self._view.world.clock
        body = {"sql": str(self._sql.value), "limit": int(self._limit.value or LIMIT)}
        path = f"{app_path(str(self._app.value))}/archive/query"
        self._running = asyncio.ensure_future(suite.tell("POST", path, body))
        self._cancel.enable()
        self._told.set_text("asking …")
        began_ms = clock.monotonic_ms()
        try:
            await asyncio.wait({self._running})
            if self._running.cancelled():
                self._told.set_text("given up")
                return
            self._show(self._running.result(), clock.monotonic_ms() - began_ms)
        except LockstepError as error:
            self._refused(error)
        finally:
            self._running = None
            self._cancel.disable()

    def _give_up(self) -> None:
        """Closing the connection ends the query where it runs."""
        if self._running is not None:
            self._running.cancel()

    def _refused(self, error: LockstepError) -> None:
        self._told.set_text("")
        self._place.clear()
        with self._place, card():
            text("p", told(error), "reason")

    def _show(self, answer: Json, took_ms: int) -> None:
        self._answer = answer
        for one in self._exports:
            one.enable()
        rows = answer["rows"]
        more = ", and there are more" if answer["more"] else ""
        first = f"; the first {SHOWN_ROWS} are shown" if len(rows) > SHOWN_ROWS else ""
        self._told.set_text(f"{len(rows):,} rows in {figures.duration(took_ms)}{more}{first}")
        names = [f"{name}" for name in answer["columns"]]
        numeric = [
            name
            for name, kind in zip(names, answer["types"], strict=True)
            if kind.startswith(NUMBERS)
        ]
        self._place.clear()
        with self._place, card(classes="flush dense"):
            table = Table(names, empty="No row.", number=numeric)
            table.show([[figures.value(one) for one in row] for row in rows[:SHOWN_ROWS]])

    def _save_csv(self) -> None:
        if self._answer is not None:
            self._save(csv_of(self._answer).encode(), "csv")

    def _save_parquet(self) -> None:
        if self._answer is not None:
            self._save(parquet_of(self._answer), "parquet")

    def _save(self, content: bytes, suffix: str) -> None:
        ui.download.content(content, f"{self._app.value}.{suffix}")
        tell("Exported")


@page("/history", "History")
async def build(view: View) -> None:
    """Of the app that the address names, else of the first."""
    await view.once(view.suite.apps, partial(_asked, view))


def _asked(view: View, deployed: Sequence[Json]) -> None:
    """The page, once the apps are known."""
    apps = [one["app"] for one in deployed]
    if not apps:
        empty("No app is deployed", "What apps took in and gave out is asked here.", "history")
        return
    named = view.parameter("app")
    with view.actions:
        app = ui.select(apps, value=named if named in apps else apps[0])
        app.props('outlined dense options-dense aria-label="App"').style("min-width:180px")
        button("Figures and failovers", lambda: ui.navigate.to(figures_path(str(app.value))))
    asking = Asking(view, app)
    archived = Archived()

    async def fetch() -> tuple[Json, Json]:
        path = app_path(str(app.value))
        found, status = await asyncio.gather(
            view.suite.ask(f"{path}/archive"), view.suite.ask(f"{path}/status")
        )
        return found, status

    def show(found: tuple[Json, Json]) -> None:
        archived.show(found)
        asking.suggest(found[0])

    view.follow(fetch, show, REFRESH_S)
