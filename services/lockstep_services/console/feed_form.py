"""The form of one stream's feed: what is sent, how fast, and how much."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from nicegui import ui

from lockstep.events import LockstepError
from lockstep.simulating import Columns, DatabaseRows, FeedSetup, example
from lockstep_services.console import allowed, figures
from lockstep_services.console.look import box, button, said, text
from lockstep_services.console.shell import View

RANDOM, CSV, DATABASE = "Random", "CSV", "Database"
_RULES: Final = (
    "For each attribute a range 20..30, a choice a|b, a pattern room-[1-9], a sequence 1++,"
    " a regular expression /[a-z]{3}/, or =text that stays. Empty: null."
)
_CSV: Final = (
    "A line each, values in the stream's order; with times, the first line has to name all columns."
)
_DATABASE: Final = (
    "A datasource of the suite. Columns are found by the attributes' names. It is read, and never"
    " changed."
)

_NO_DATABASE: Final = "The suite knows no datasource: datasources.file of its settings names them."


class FeedForm:
    """Fields for one stream."""

    def __init__(self, view: View, streams: Mapping[str, Columns], first: FeedSetup) -> None:
        self._view = view
        self._streams = streams
        self._file: tuple[str, str] | None = None
        with box("row"):
            self.stream = ui.select(
                list(streams), value=first.stream, label="Stream", on_change=lambda: self._rules({})
            )
            self.stream.props("outlined dense options-dense").classes("grow")
        with ui.tabs() as self._tabs:
            tabs = {name: ui.tab(name) for name in (RANDOM, CSV, DATABASE)}
        view.allowed.offer(tabs[DATABASE], allowed.READ_DATABASE)
        kind = DATABASE if first.database else CSV if first.csv is not None else RANDOM
        with ui.tab_panels(self._tabs, value=kind, animated=False):
            with ui.tab_panel(RANDOM):
                text("p", _RULES, "hint")
                self._fields = box("fields full")
            with ui.tab_panel(CSV):
                self._build_csv(first.csv or "")
            with ui.tab_panel(DATABASE):
                self._build_database(first.database)
        self._build_pace(first)
        self._rules(first.random or {})

    def _build_csv(self, written: str) -> None:
        text("p", _CSV, "hint")
        self._csv = ui.textarea(value=written, placeholder="attic,31.5")
        self._csv.props('outlined dense aria-label="CSV" input-class=mono').classes("full")
        with box("row"):
            ui.upload(
                label="or a file", auto_upload=True, on_upload=self._upload,
                max_file_size=self._view.world.settings.console.simulation_max_bytes,
            ).props("flat bordered").classes("upload")  # fmt: skip
            self._told = text("span", "", "hint").props("role=status")
            self._forget = button("Without the file", self._without_file, kind="quiet small")
            self._forget.set_visibility(False)

    def _build_database(self, first: DatabaseRows | None) -> None:
        rows = first or DatabaseRows(datasource="")
        text("p", _DATABASE, "hint")
        with box("fields full"):
            self._datasource = ui.input("Datasource", value=rows.datasource)
            self._table = ui.input("Table", value=rows.table)
        self._select = ui.textarea("or a SELECT", value=rows.select)
        for each in (self._datasource, self._table, self._select):
            each.props("outlined dense")
        self._select.props("autogrow input-class=mono").classes("full")
        self._known = text("p", "", "hint").props("role=status")
        if not self._view.allowed.why_not(allowed.NAME_DATABASES):
            ui.timer(0, self._name_datasources, once=True)

    async def _name_datasources(self) -> None:
        try:
            known = await self._view.suite.datasources()
        except LockstepError as error:
            self._known.set_text(said(error))
            return
        self._datasource.set_autocomplete([one["name"] for one in known])
        named = ", ".join(f"{one['name']} ({one['kind']})" for one in known)
        self._known.set_text(f"The suite knows: {named}." if known else _NO_DATABASE)

    def _build_pace(self, first: FeedSetup) -> None:
        seconds = None if first.for_ms is None else first.for_ms / 1_000
        with box("fields pace"):
            self._rate = ui.number("Events per second", value=first.rate_per_s, min=0)
            self._limit = ui.number("At most, events", value=first.limit_events, min=1, precision=0)
            self._for = ui.number("At most, seconds", value=seconds, min=0)
            self._repeat = ui.number("Rounds (0: no end)", value=first.repeat, min=0, precision=0)
            self._times = ui.input("Column of times", value=first.time_column)
            self._speed = ui.number("Times as fast", value=first.speed, min=0)
        plain: list[Any] = [self._rate, self._limit, self._for, self._repeat]
        for each in (*plain, self._times, self._speed):
            each.props("outlined dense")
        self._keep = ui.checkbox("Events carry the time of their row", value=first.keep_times)
        for one in (self._repeat, self._times, self._speed, self._keep):
            one.bind_visibility_from(self._tabs, "value", lambda kind: kind != RANDOM)

    def _rules(self, given: Mapping[str, Any]) -> None:
        """A field for each attribute of the chosen stream."""
        self._fields.clear()
        self._given: dict[str, Any] = {}
        self._draws: dict[str, ui.input] = {}
        with self._fields:
            for name, kind in self._streams.get(str(self.stream.value), ()):
                rule = given.get(name, None if given else example(kind))
                shown = "" if rule is None else rule if isinstance(rule, str) else json.dumps(rule)
                self._given[name] = (shown, rule)
                made = ui.input(f"{name} ({kind})", value=shown)
                self._draws[name] = made.props("outlined dense")

    async def _upload(self, event: Any) -> None:
        written = await event.file.read()
        self._file = (event.file.name, written.decode("utf-8", errors="replace"))
        self._told.set_text(f"{event.file.name}, {figures.size(len(written))}")
        self._forget.set_visibility(True)
        self._csv.set_enabled(False)

    def _without_file(self) -> None:
        self._file = None
        self._told.set_text("")
        self._forget.set_visibility(False)
        self._csv.set_enabled(True)

    def setup(self) -> FeedSetup:
        """What the fields say; not checked yet."""
        kind, seconds = str(self._tabs.value), self._for.value
        is_random = kind == RANDOM
        return FeedSetup(
            stream=str(self.stream.value or ""),
            random=self._written_rules() if is_random else None,
            csv=(self._file[1] if self._file else str(self._csv.value or ""))
            if kind == CSV
            else None,
            database=self._written_database() if kind == DATABASE else None,
            rate_per_s=float(self._rate.value or 0),
            speed=None if is_random or not self._speed.value else float(self._speed.value),
            time_column="" if is_random else str(self._times.value or "").strip(),
            keep_times=not is_random and bool(self._keep.value),
            repeat=1 if is_random else int(self._repeat.value or 0),
            limit_events=_whole(self._limit.value),
            for_ms=None if not seconds else round(float(seconds) * 1_000),
        )

    def _written_rules(self) -> dict[str, Any]:
        """A rule of a loaded set-up that was not touched stays what it was, a list for example."""
        found: dict[str, Any] = {}
        for name, field in self._draws.items():
            shown, rule = self._given[name]
            written = str(field.value or "").strip()
            if written == shown and rule is not None:
                found[name] = rule
            elif written:
                found[name] = written
        return found

    def _written_database(self) -> DatabaseRows:
        return DatabaseRows(
            datasource=str(self._datasource.value or "").strip(),
            table=str(self._table.value or "").strip(),
            select=str(self._select.value or "").strip(),
        )


def _whole(value: Any) -> int | None:
    return None if not value else int(value)
