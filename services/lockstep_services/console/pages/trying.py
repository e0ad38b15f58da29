"""Try: a text on a virtual clock, in a process of its own; nothing is deployed, nothing is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from nicegui import ui

from lockstep.editing import Known
from lockstep.events import LockstepError
from lockstep.testing.workshop import Workshop
from lockstep_services.console import drawing, figures
from lockstep_services.console.editor import Editor
from lockstep_services.console.look import (
    Cell,
    Table,
    box,
    button,
    card,
    chip,
    empty,
    restyle,
    tell,
    tell_error,
    text,
)
from lockstep_services.console.shell import View, page

SHOWN_ROWS: Final = 50
MAX_UPLOAD_BYTES: Final = 1_048_576
STEPS: Final = {1_000: "1 second", 10_000: "10 seconds", 60_000: "1 minute", 3_600_000: "1 hour",
                86_400_000: "1 day"}  # fmt: skip


class Trial:
    """One text under trial: what was done to it, and what every stream carried."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._shop: Workshop | None = None
        self._schemas: Mapping[str, Sequence[Sequence[str]]] = {}
        self._calls: list[str] = []
        self._rows: dict[str, list[Sequence[Any]]] = {}
        self._counts: dict[str, int] = {}
        self._tables: dict[str, tuple[Table, Any]] = {}
        self._text = ""

    def build(self) -> None:
        """All of the page."""
        with self._view.actions:
            self._clock = chip("not started", "soft")
            button("Save as a test", self._save)
            self._begin = button("Start", self._start, kind="primary")
        with box("split"):
            with box("stack"):
                self._editor = Editor("", self._known)
                self._editor.style("min-height:280px;max-height:420px")
                self._editor.props["starter"] = _STARTER
                self._trouble = text("div", "", "banner")
                self._trouble.set_visibility(False)
                self._build_feed()
            with box("stack"):
                self._nothing = empty(
                    "Nothing has run yet",
                    "Start takes the text as it stands. Then send events and move the clock:"
                    " every stream's rows show here.",
                    "science",
                )
                self._found = box("stack")
        ui.context.client.on_delete(self._end)

    def _build_feed(self) -> None:
        with card("Feed it") as self._feed:
            with box("row"):
                self._stream = ui.select([], label="Stream", on_change=self._fields)
                self._stream.props("outlined dense options-dense").classes("grow")
            with ui.tabs() as tabs:
                one, file, drawn, asked = (
                    ui.tab(name) for name in ("One event", "CSV", "Random", "Query")
                )
            with ui.tab_panels(tabs, value=one, animated=False):
                with ui.tab_panel(one):
                    self._inputs = box("fields")
                    button("Send", self._send_one, kind="primary small", icon="send")
                with ui.tab_panel(file):
                    text("p", "A line each, values in the stream's order; a head line with the "
                         "attributes' names may stand first.", "hint")  # fmt: skip
                    self._csv = ui.textarea(placeholder="attic,31.5").props(
                        'outlined dense autogrow aria-label="CSV"'
                    )
                    with box("row"):
                        button("Send all", self._send_csv, kind="primary small", icon="send")
                        ui.upload(
                            label="or a file", auto_upload=True, on_upload=self._upload,
                            max_file_size=MAX_UPLOAD_BYTES,
                        ).props("flat bordered").classes("upload")  # fmt: skip
                with ui.tab_panel(drawn):
                    text("p", "A range 20..30, a choice a|b|c, or a pattern room-[1-9]; a column "
                         "each.", "hint")  # fmt: skip
                    self._rules = box("fields")
                    with box("row"):
                        self._many = ui.number("Events", value=20, min=1, max=1_000, precision=0)
                        self._gap = ui.number("ms apart", value=100, min=0, precision=0)
                        for each in (self._many, self._gap):
                            each.props("outlined dense").style("width:120px")
                        button("Send", self._send_random, kind="primary small", icon="casino")
                with ui.tab_panel(asked):
                    self._query = ui.input("On-demand query", placeholder="from Rooms select *")
                    self._query.props("outlined dense").classes("mono")
                    button("Ask", self._ask, kind="primary small")
                    self._answer = box("stack")
            ui.separator().style("margin:16px 0")
            with box("row"):
                self._step = ui.select(STEPS, value=60_000, label="Time").props(
                    "outlined dense options-dense"
                )
                button("Let it pass", self._advance, icon="fast_forward", kind="small")
        self._feed.set_visibility(False)

    async def _known(self, source: str, found: Known) -> None:
        is_stale = self._shop is not None and source != self._text
        self._begin.set_text("Start again" if self._shop is not None else "Start")
        if found.problems:
            first = found.problems[0]
            self._tell(f"line {first.line}:{first.column}: {first.message}")
        else:
            self._tell("The text has changed. Start again to try it." if is_stale else "")

    def _tell(self, message: str) -> None:
        self._trouble.set_text(message)
        self._trouble.set_visibility(bool(message))

    async def _start(self) -> None:
        await self._end()
        try:
            self._shop = await self._view.world.workshops.take()
        except LockstepError as error:
            tell_error(error)
            return
        self._text, self._calls, self._rows, self._counts = self._editor.text, [], {}, {}
        self._tables.clear()
        self._found.clear()
        found = await self._do({"do": "open", "text": self._text})
        if found is None:
            await self._end()
            return
        self._tell("")
        self._schemas = {name: found["schemas"][name] for name in found["inputs"]}
        self._feed.set_visibility(True)
        self._nothing.set_visibility(False)
        self._begin.set_text("Start again")
        self._stream.set_options(list(self._schemas), value=next(iter(self._schemas), None))
        self._fields()
        self._show(found)

    async def _end(self) -> None:
        if self._shop is not None:
            await self._view.world.workshops.give_back(self._shop)
            self._shop = None

    async def _do(self, command: Mapping[str, Any]) -> dict[str, Any] | None:
        if self._shop is None:
            return None
        try:
            found = await self._shop.ask(command)
        except LockstepError as error:
            tell_error(error)
            await self._end()
            restyle(self._clock, "bad")
            self._clock.set_text("ended")
            return None
        if "error" in found:
            told = found["error"]
            place = f"line {told['line']}:{told['column']}: " if told.get("line") else ""
            hint = f" – {told['hint']}" if told.get("hint") else ""
            self._tell(f"{place}{told['message']}{hint}")
            return None
        return found

    def _fields(self) -> None:
        """A field for each attribute of the chosen stream."""
        schema = self._schemas.get(self._stream.value or "", ())
        self._inputs.clear()
        self._rules.clear()
        with self._inputs:
            self._values = [_field(name, kind, "") for name, kind in schema]
        with self._rules:
            self._draws = [_field(name, kind, drawing.example(kind)) for name, kind in schema]

    async def _send(self, rows: Sequence[Sequence[Any]], at_ms: list[int] | None = None) -> None:
        stream = self._stream.value
        found = await self._do({"do": "send", "stream": stream, "rows": rows, "at_ms": at_ms})
        if found is not None:
            times = ["-"] * len(rows) if at_ms is None else list(map(str, at_ms))
            words = [
                f"{time} {' '.join(map(drawing.word, row))}"
                for time, row in zip(times, rows, strict=True)
            ]
            self._calls.append(f"{stream} {' | '.join(words)}")
            self._tell("")
            self._show(found)

    async def _send_one(self) -> None:
        try:
            row = drawing.row_of([one.value for one in self._values], self._kinds())
        except ValueError as error:
            self._tell(str(error))
            return
        await self._send([row])

    async def _send_csv(self) -> None:
        schema = self._schemas.get(self._stream.value or "", ())
        try:
            rows = drawing.csv_rows(self._csv.value or "", schema)
        except ValueError as error:
            self._tell(str(error))
            return
        for row in rows:
            await self._send([row])
        tell(f"{len(rows)} events sent")

    async def _upload(self, event: Any) -> None:
        self._csv.value = (await event.file.read()).decode("utf-8", errors="replace")

    async def _send_random(self) -> None:
        rules = [str(one.value or "") for one in self._draws]
        count, gap = int(self._many.value or 1), int(self._gap.value or 0)
        try:
            rows = drawing.drawn(rules, self._kinds(), count)
        except ValueError as error:
            self._tell(str(error))
            return
        for row in rows:
            await self._send([row])
            if gap:
                await self._pass(gap)

    def _kinds(self) -> list[tuple[str, str]]:
        return [(name, kind) for name, kind in self._schemas.get(self._stream.value or "", ())]

    async def _advance(self) -> None:
        await self._pass(int(self._step.value))

    async def _pass(self, by_ms: int) -> None:
        found = await self._do({"do": "advance", "by_ms": by_ms})
        if found is not None:
            self._calls.append(f"@advance {by_ms} millisec")
            self._show(found)

    async def _ask(self) -> None:
        found = await self._do({"do": "query", "text": self._query.value or ""})
        if found is None:
            return
        self._tell("")
        self._calls.append(f"@query {self._query.value}")
        self._answer.clear()
        with self._answer:
            width = max((len(row) for row in found["rows"]), default=1)
            table = Table([str(number + 1) for number in range(width)], empty="No rows.")
            table.show([[figures.value(one) for one in row] for row in found["rows"]])
        self._show(found)

    def _show(self, found: Mapping[str, Any]) -> None:
        self._clock.set_text(f"clock {figures.duration(found['clock_ms'])}")
        restyle(self._clock, "good")
        for name, rows in found["streams"].items():
            kept = self._rows.setdefault(name, [])
            self._counts[name] = self._counts.get(name, 0) + len(rows)
            kept += rows
            del kept[:-SHOWN_ROWS]
            self._table(name)
        for fault in found["faults"]:
            self._tell(f"an event was dropped: {fault}")
        if found.get("left_out"):
            self._tell(f"{found['left_out']} more rows came than are shown here")

    def _table(self, name: str) -> None:
        if name not in self._tables:
            width = len(self._rows[name][0]) - 1
            known = self._schemas.get(name)
            columns = [one[0] for one in known] if known else [str(n + 1) for n in range(width)]
            with self._found, card(classes="flush dense"):
                with box("card-head"):
                    text("h2", name)
                    count = chip("", "calm")
                self._tables[name] = (Table(["Time", *columns], empty=""), count)
        table, count = self._tables[name]
        count.set_text(f"{figures.count(self._counts[name])} rows")
        table.show(
            [
                [Cell(figures.duration(row[0]), "soft"), *(figures.value(one) for one in row[1:])]
                for row in reversed(self._rows[name])
            ]
        )

    async def _save(self) -> None:
        if self._shop is None or not self._calls:
            tell("Start and send something first: the test holds what was done.", "warning")
            return
        calls = "\n".join(["--- test: what was tried in the console", *self._calls])
        found = await self._do({"do": "test", "text": self._text, "calls": calls})
        if found is not None:
            ui.download.content(found["file"].encode(), "app.test")
            tell("Keep it beside the app as <app>.test; `lockstep test` runs it.")


def _field(name: str, kind: str, value: str) -> ui.input:
    return ui.input(f"{name} ({kind})", value=value).props("outlined dense")


_STARTER: Final = """@app:name('Hot')
define stream Reading (room string, celsius double);

@info(name='hot')
from Reading[celsius > 30.0] select room, celsius insert into HotRoom;
"""


@page("/try", "Try")
async def build(view: View) -> None:
    """The browser's draft, under trial."""
    Trial(view).build()
