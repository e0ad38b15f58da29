"""How an app was doing: rates, lag and latency over a time, and the failovers that fell into it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from nicegui import ui

from lockstep.events import LockstepError
from lockstep.events.paths import app_path
from lockstep_services.console import figures
from lockstep_services.console.charts import Past
from lockstep_services.console.look import Cell, Table, box, button, card, text
from lockstep_services.console.shell import View, page

MINUTE_MS: Final = 60_000
DAY_MS: Final = 86_400_000
SPANS: Final[Mapping[str, int]] = {
    "15 min": 15 * MINUTE_MS,
    "1 h": 60 * MINUTE_MS,
    "6 h": 360 * MINUTE_MS,
    "24 h": DAY_MS,
    "7 d": 7 * DAY_MS,
    "30 d": 30 * DAY_MS,
}
FIRST_SPAN: Final = "1 h"
POINTS: Final = 240
REFRESH_S: Final = 10.0
SHOWN_FAILOVERS: Final = 200
COLUMNS: Final = ("When (UTC)", "Unit", "From", "To", "Planned", "Nobody led", "Why")

Json = Mapping[str, Any]
Values = Sequence[float | None]


def points_of(times_ms: Sequence[int], values: Values) -> list[list[float | None]]:
    """What a chart is told of a series; None is a gap."""
    return [[at_ms, value] for at_ms, value in zip(times_ms, values, strict=True)]


def told(values: Values, unit: str) -> str:
    """The newest value, and the greatest, for those who do not see the chart. The step that is
    under way may have no sample yet."""
    known = [one for one in values if one is not None]
    if not known:
        return f"{unit}: nothing in this time"
    newest = [one for one in values[-2:] if one is not None]
    last = figures.count(newest[-1]) if newest else "nothing"
    return f"{unit}: now {last}, at most {figures.count(max(known))}"


def greatest(series: Sequence[Values]) -> list[float | None]:
    """Of several series, at each time."""
    return [
        max((one for one in values if one is not None), default=None)
        for values in zip(*series, strict=True)
    ]


def step_said(step_ms: int) -> str:
    """For how long a point stands."""
    return figures.duration(step_ms).replace(".0 ", " ")


def failover_row(one: Json) -> list[Cell]:
    """One failover as a row."""
    planned = {True: ("planned", "good"), False: ("not planned", "bad"), None: ("unknown", "soft")}
    word, kind = planned[one["planned"]]
    gap_ms = one["gap_ms"]
    return [
        Cell(figures.moment(one["at_ms"])),
        Cell(one["unit"]),
        Cell(one["from_node"]),
        Cell(one["to_node"]),
        Cell(word, chip=kind),
        Cell("unknown" if gap_ms is None else figures.duration(gap_ms)),
        Cell(one["why"] or "–", "wrap"),
    ]


class Panel:
    """A chart with its figures in words."""

    def __init__(self, view: View, title: str, unit: str) -> None:
        self._unit = unit
        with card() as panel:
            with box("card-head"):
                text("h2", title)
                self._said = text("span", "", "hint")
            self._chart = Past(view)
        panel.props(f'aria-label="{title}"')

    def show(
        self, found: Json, failovers: Sequence[Json], series: Sequence[tuple[str, Values]]
    ) -> None:
        """These series; in words, the greatest of them at each time."""
        self._said.set_text(told(greatest([values for _, values in series]), self._unit))
        times_ms = found["at_ms"]
        self._chart.show(
            (
                (found["from_ms"], found["to_ms"]),
                [(name, points_of(times_ms, values)) for name, values in series],
                [(one["at_ms"], f"{one['from_node']} → {one['to_node']}") for one in failovers],
            )
        )


class Panels:
    """All charts of an app, and the list below them."""

    def __init__(self, view: View) -> None:
        self._note = text("p", "", "hint").props("role=status")
        with box("split"):
            self._in = Panel(view, "Events in", "per second")
            self._out = Panel(view, "Rows out", "per second")
        with box("split"):
            self._lag = Panel(view, "Lag", "records that wait in the input log")
            self._latency = Panel(view, "Latency", "ms from the door to the output log")
        with box() as self._sinks_place:
            self._sinks = Panel(view, "Sinks' lag", "records that are not delivered")
        with card("Failovers", "who took the lead from whom; dashed lines in the charts", "flush"):
            self._table = Table(
                COLUMNS, empty="Nobody took the lead from anybody in this time.",
                number=("Nobody led",),
            )  # fmt: skip

    def show(self, answer: tuple[Json, Json]) -> None:
        """The coordinator's answers."""
        found, failovers = answer[0], answer[1]["failovers"]
        mean, most = found["mean"], found["max"]
        step = step_said(found["step_ms"])
        is_empty = all(one is None for one in mean["lag"])
        self._note.set_text(
            "Nobody has sampled this app in this time. A sample is taken every few seconds while"
            " a processor carries it."
            if is_empty
            else f"A point stands for {step}: rates are means, lag and latency the greatest."
            " Times are UTC. A gap: nobody carried the app, or no coordinator led."
        )
        self._in.show(found, failovers, [("events / s", mean["events_per_s"])])
        self._out.show(found, failovers, [("rows / s", mean["rows_per_s"])])
        self._lag.show(found, failovers, [("records", most["lag"])])
        latencies = [("half", most["latency_p50_ms"]), ("99 %", most["latency_p99_ms"])]
        self._latency.show(found, failovers, latencies)
        self._sinks_place.set_visibility(bool(found["sinks"]))
        sinks = [(one["sink"], one["max"]["lag"]) for one in found["sinks"]]
        self._sinks.show(found, failovers, sinks)
        self._table.show([failover_row(one) for one in failovers])


class Choice:
    """The time span; a button for each."""

    def __init__(self, chosen: str) -> None:
        self.chosen = chosen if chosen in SPANS else FIRST_SPAN
        self._buttons: dict[str, ui.button] = {}

    def add(self, on_change: Any) -> None:
        """The buttons; `on_change` is called when another one is chosen."""
        with box("row").props('role=group aria-label="Time span"'):
            for name in SPANS:
                self._buttons[name] = button(name, partial(self._choose, name, on_change))
        self._mark()

    async def _choose(self, name: str, on_change: Any) -> None:
        self.chosen = name
        self._mark()
        await on_change()

    def _mark(self) -> None:
        for name, one in self._buttons.items():
            is_chosen = name == self.chosen
            one.classes(add="primary" if is_chosen else "", remove="" if is_chosen else "primary")
            one.props(f"aria-pressed={'true' if is_chosen else 'false'}")


@page("/apps/{name}/figures", "Figures")
async def build(view: View) -> None:
    """Of the app that the address names."""
    app = view.parameter("name")
    choice = Choice(view.parameter("span"))

    async def fetch() -> tuple[Json, Json]:
        to_ms = view.world.clock.now_ms()
        span = {"from": str(to_ms - SPANS[choice.chosen]), "to": str(to_ms)}
        path = app_path(app)
        found, failovers = await asyncio.gather(
            view.suite.ask(f"{path}/figures", **span, points=str(POINTS)),
            view.suite.ask(f"{path}/failovers", **span, limit=str(SHOWN_FAILOVERS)),
        )
        return found, failovers

    async def again() -> None:
        wanted = choice.chosen
        try:
            found = await fetch()
        except LockstepError as error:
            view.trouble(str(error))
            return
        if wanted == choice.chosen:  # nobody chose another one meanwhile
            view.trouble("")
            panels.show(found)

    with view.actions:
        choice.add(again)
        name = quote(app, safe="")
        ui.link("The app", f"/apps/{name}").classes("btn")
        ui.link("Archive", f"/history?app={name}").classes("btn")
    panels = Panels(view)
    await view.keep(fetch, panels.show, REFRESH_S)
