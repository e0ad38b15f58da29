"""One app: who leads, who stands by, groups and nodes, saved states, and every command."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from nicegui import ui

from lockstep.cli.progress import past_said
from lockstep.clock import SystemClock
from lockstep.control import (
    FAILING,
    PAST_DONE,
    PAST_FAILED,
    PAST_FOLDING,
    PAST_GOING_OVER,
    PAST_NONE,
)
from lockstep.events.paths import app_path
from lockstep_services.console import allowed, charts, figures
from lockstep_services.console.connectors import ConnectorTable
from lockstep_services.console.look import (
    Cell,
    Table,
    Tile,
    answer_of,
    attempt,
    box,
    button,
    card,
    confirmed,
    text,
)
from lockstep_services.console.shell import View, page

POINTS: Final = 300
FOLLOW_MS: Final = 1_000
REPLICAS = ("Node", "Unit", "Role", "Lag", "Behind", "Events / s", "Busy", "State rows", "Trouble")
REVISIONS = ("Taken (UTC)", "Version", "Position", "Size", "Verified", "Revision")
Status = Mapping[str, Any]


@dataclass(slots=True)
class Trail:
    """Rates and lag since the page was opened; a second each, the last five minutes."""

    rates: list[float] = field(default_factory=list)
    lags: list[float] = field(default_factory=list)

    def add(self, rate: float, lag: float) -> None:
        """One second more."""
        for series, new in ((self.rates, rate), (self.lags, lag)):
            series.append(new)
            del series[:-POINTS]


def role_of(replica: Status) -> Cell:
    """Leads, stands by ready, or not yet; or fails."""
    if replica["role"] == "active":
        return Cell("leads", chip="good")
    if replica["role"] == FAILING:
        return Cell("fails", chip="bad")
    return Cell("ready", chip="calm") if replica["ready"] else Cell("catching up", chip="warn")


def replica_row(replica: Status) -> list[Cell]:
    """One replica as a row."""
    trouble = replica["trouble"] or ""
    if replica["began_empty"]:
        trouble = f"{trouble} began empty: {'; '.join(replica['began_empty'])}".strip()
    if (past := replica.get("past")) and past["phase"] in (PAST_FOLDING, PAST_GOING_OVER):
        trouble = f"{trouble} past {past_said(past)}".strip()
    return [
        Cell(replica["node"]),
        Cell(replica["unit"]),
        role_of(replica),
        Cell(figures.count(replica["lag"])),
        Cell(figures.duration(replica["behind_ms"])),
        Cell(figures.count(replica["events_per_s"])),
        Cell(f"{replica['busy_permille'] / 10:.1f} %"),
        Cell(figures.count(replica["state_rows"])),
        Cell(trouble or "–", "wrap"),
    ]


def revision_row(one: Status) -> list[Cell]:
    """One revision as a row."""
    return [
        Cell(figures.moment(one["created_ms"])),
        Cell(one["version"][:8], "mono"),
        Cell(figures.count(one["position"])),
        Cell(figures.size(one["size_bytes"])),
        Cell("yes" if one["verified"] else "no", chip="good" if one["verified"] else "warn"),
        Cell(one["revision"], "mono soft"),
    ]


def can_hand_over(status: Status) -> bool:
    """Whether there is a ready standby."""
    return any(one["ready"] and one["role"] != "active" for one in status["replicas"])


class Commands:
    """What can be done with the app; each says first what will happen."""

    def __init__(self, view: View, app: str) -> None:
        self._view = view
        self._suite = view.suite
        self._app = app
        self.status: Status = {"replicas": ()}

    def add(self) -> None:
        """The buttons."""
        name = quote(self._app, safe="")
        ui.link("Change the text", f"/write?app={name}").classes("btn")
        ui.link("Versions", f"/apps/{name}/versions").classes("btn")
        ui.link("Watch", f"/watch?app={name}").classes("btn")
        ui.link("Figures", f"/apps/{name}/figures").classes("btn")
        ui.link("Flow", f"/apps/{name}/flow").classes("btn")
        ui.link("Tables", f"/apps/{name}/tables").classes("btn")
        ui.link("Simulate", f"/apps/{name}/simulate").classes("btn")
        offer = partial(self._view.allowed.offer, app=self._app)
        offer(button("Hand over", self._hand_over), allowed.HAND_OVER)
        with (
            ui.button(icon="more_horiz", color=None)
            .props('flat aria-label="More commands"')
            .classes("btn"),
            ui.menu(),
        ):
            offer(ui.menu_item("Save the state now", self._snapshot), allowed.SNAPSHOT)
            offer(ui.menu_item("Restore a saved state …", self._restore), allowed.RESTORE)
            ui.separator()
            offer(ui.menu_item("Undeploy …", self._undeploy), allowed.UNDEPLOY)
            offer(ui.menu_item("Undeploy and purge …", self._purge), allowed.UNDEPLOY)

    async def _hand_over(self) -> None:
        if not can_hand_over(self.status):
            ui.notify("No standby is ready, so nobody could take the lead.", type="warning")
            return
        says = (
            "A ready standby leads from the next event on.",
            "Nothing is lost and nothing is published twice. Results may pause for some tenths of"
            " a second.",
        )
        if await confirmed(f"Hand over {self._app}?", says, "Hand over", danger=False):
            path = f"{app_path(self._app)}/handover"
            await attempt(self._suite.tell("POST", path), "Handed over")

    async def _snapshot(self) -> None:
        path = f"{app_path(self._app)}/snapshot"
        await attempt(self._suite.tell("POST", path), "The state is saved")

    async def _restore(self) -> None:
        found = await attempt(self._suite.ask(f"{app_path(self._app)}/revisions"))
        there = [
            one
            for one in (found or {}).get("revisions", ())
            if one["verified"] and one.get("unit") is None  # one of a unit alone is no app's
        ]
        if not there:
            ui.notify("No verified state is saved yet.", type="warning")
            return
        with ui.dialog() as dialog, box("dialog card"):
            text("h2", f"Restore {self._app}")
            choices = {
                one["revision"]: f"{figures.moment(one['created_ms'])} · position "
                f"{one['position']} · {figures.size(one['size_bytes'])}"
                for one in there
            }
            chosen = ui.select(choices, value=there[0]["revision"], label="Saved state")
            chosen.props("outlined dense").classes("wrap").style("width:100%;margin-bottom:16px")
            time = ui.input("Or the state of a time (UTC)", placeholder="2026-03-01 09:59")
            time.props("outlined dense clearable").style("width:100%;margin-bottom:16px")
            with box("consequences", "ul"):
                text("li", "The app goes on with that state and with the next event.")
                text("li", "What came between then and now is not in it any more.")
                text("li", "What was published since then stays published.")
            with box("dialog-actions"):
                button("Cancel", lambda: dialog.submit(None), kind="quiet")
                button(
                    "Restore",
                    lambda: dialog.submit((chosen.value, (time.value or "").strip())),
                    kind="danger",
                )
        if wanted := await answer_of(dialog):
            await self._restored(*wanted)

    async def _restored(self, revision: str, time: str) -> None:
        path = f"{app_path(self._app)}/restore"
        if not time:
            await attempt(self._suite.tell("POST", path, {"revision": revision}), "Restored")
        elif (to_ms := figures.moment_ms(time)) is None:
            ui.notify(f"'{time}' is no time, as 2026-03-01 09:59 is.", type="warning")
        else:
            asked = self._suite.tell("POST", path, {"to_ms": to_ms})
            answer = await attempt(asked, f"{self._app} goes back to {time}")
            if answer is not None and answer["folds"]:
                await self._followed(time)

    async def _followed(self, time: str) -> None:
        """Says how the way back has ended; the app goes on meanwhile."""
        while found := await attempt(self._suite.ask(f"{app_path(self._app)}/past")):
            if found["phase"] == PAST_FAILED:
                ui.notify(f"The app goes on as it was: {found['why']}", type="negative")
                return
            if found["phase"] in (PAST_DONE, PAST_NONE):
                ui.notify(f"{self._app} goes on with its state of {time}", type="positive")
                return
            await SystemClock().sleep_ms(FOLLOW_MS)

    async def _undeploy(self) -> None:
        says = (
            "Processing stops. Senders are answered 404, results and sinks stand still.",
            "Its logs and saved states stay: the same text, deployed again, goes on with them.",
        )
        await self._remove("Undeploy", says, purge="false")

    async def _purge(self) -> None:
        says = (
            "Processing stops. Senders are answered 404, results and sinks stand still.",
            "Its logs, saved states and the places that its sinks have reached are removed.",
            "This cannot be undone. An app of this name begins empty.",
        )
        await self._remove("Undeploy and purge", says, purge="true")

    async def _remove(self, action: str, says: Sequence[str], *, purge: str) -> None:
        if await confirmed(f"{action} {self._app}?", says, action, danger=True):
            gone = await attempt(self._suite.tell("DELETE", app_path(self._app), purge=purge))
            if gone is not None:
                ui.navigate.to("/apps")


@page("/apps/{name}", "App")
async def build(view: View) -> None:
    """The app that the address names."""
    app = view.parameter("name")
    commands = Commands(view, app)
    with view.actions:
        commands.add()
    with box("tiles"):
        labels = ("State", "Events in / s", "Rows out / s", "Lag", "Behind", "State rows")
        tiles = {label: Tile(label) for label in labels}
    trail = Trail()
    with box("split"):
        with card("Rows out / s", "since this page was opened"):
            rate = charts.Line(view, "rows / s")
        with card("Lag", "records that wait in the input log"):
            lag = charts.Line(view, "records")
    with card("Replicas", "one leads each unit, the others stand by", "flush"):
        numbers = ("Lag", "Behind", "Events / s", "Busy", "State rows")
        replicas = Table(REPLICAS, empty="No processor carries this app yet.", number=numbers)
    with card("Sinks", "how far each has delivered", "flush") as sinks_card:
        sinks = Table(
            ("Sink", "Delivered to", "Log end", "Trouble", "Node"), empty="",
            number=("Delivered to", "Log end"),
        )  # fmt: skip
    with card("Sources and sinks", "paused ones go on where they stopped", "flush") as ways_card:
        ways = ConnectorTable(view, app)
    with card("Saved states", "newest first; a restore goes back to one", "flush"):
        revisions = Table(
            REVISIONS, empty="None yet. One is taken every half minute while events come.",
            number=("Position", "Size"),
        )  # fmt: skip

    async def fetch() -> tuple[Status, Status, Status]:
        status, live, saved = await asyncio.gather(
            view.suite.ask(f"{app_path(app)}/status"),
            view.suite.show("/v1/live"),
            view.suite.ask(f"{app_path(app)}/revisions"),
        )
        seen: Status = next((one for one in live["apps"] if one["app"] == app), {})
        return status, seen, saved

    def show(found: tuple[Status, Status, Status]) -> None:
        status, seen, saved = found
        commands.status = status
        _show_tiles(tiles, status, seen)
        trail.add(seen.get("rate", 0), seen.get("lag", 0))
        rate.show([("rows / s", trail.rates)])
        lag.show([("records", trail.lags)])
        replicas.show([replica_row(one) for one in status["replicas"]])
        sinks_card.set_visibility(bool(status["sinks"]))
        sinks.show(
            [[one["sink"], str(one["sequence"]), str(one["log_end"]),
              Cell(one["trouble"] or "–", "wrap"), one["node"]] for one in status["sinks"]]
        )  # fmt: skip
        ways_card.set_visibility(bool(status["connectors"]))
        ways.show(status["connectors"])
        revisions.show([revision_row(one) for one in saved["revisions"][:10]])

    await view.keep(fetch, show, 1.0)


def _show_tiles(tiles: Mapping[str, Tile], status: Status, seen: Status) -> None:
    leaders = [one for one in status["replicas"] if one["role"] == "active"]
    word = {"active": "running", "passive": "nobody leads", "inactive": "nobody carries it"}
    units = len(status["units"])
    hint = status["waiting"] or f"{units} unit{'' if units == 1 else 's'}"
    is_led = status["status"] == "active"
    tiles["State"].set(word[status["status"]], "good" if is_led else "bad", hint)
    tiles["Events in / s"].set(figures.count(sum(one["events_per_s"] for one in leaders)))
    tiles["Rows out / s"].set(figures.count(seen.get("rate", 0)))
    lag = max((one["lag"] for one in leaders), default=0)
    tiles["Lag"].set(figures.count(lag), "warn" if lag > 1_000 else "soft", "records")
    behind = max((one["behind_ms"] for one in leaders), default=0)
    tiles["Behind"].set(figures.duration(behind), "warn" if behind > 3_000 else "soft")
    tiles["State rows"].set(figures.count(sum(one["state_rows"] for one in leaders)))
