"""Scheduled scripts: when each is due, how its last run ended; one of them with its texts, its runs
and what can be done with it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from nicegui import ui

from lockstep_services.console import allowed, figures
from lockstep_services.console.look import (
    Cell,
    Table,
    Tile,
    attempt,
    box,
    button,
    card,
    confirmed,
    text,
)
from lockstep_services.console.shell import View, page

SCRIPTS: Final = (
    "Script",
    "State",
    "Last run (UTC)",
    "Rows",
    "Attempts",
    "Next due (UTC)",
    "Output",
    "Version",
    "Error",
)
RUNS: Final = (
    "Due (UTC)",
    "State",
    "Version",
    "Rows",
    "Attempts",
    "Took",
    "Ended (UTC)",
    "By",
    "Error",
)
KINDS: Final[Mapping[str, str]] = {
    "due": "calm", "running": "calm", "sending": "warn", "succeeded": "good", "failed": "bad",
    "cancelled": "warn",
}  # fmt: skip
MAX_RUNS: Final = "50"
Told = Mapping[str, Any]


def script_path(name: str) -> str:
    """The path of a script."""
    return f"/v1/batch/{quote(name, safe='')}"


def state_of(script: Told) -> Cell:
    """Paused, or how its last run is doing."""
    if script["paused"]:
        return Cell("paused", chip="warn")
    last = script["last"]
    return Cell(last["state"], chip=KINDS.get(last["state"], "soft")) if last else Cell("never ran")


def script_row(script: Told) -> list[Cell]:
    """One script with its last run."""
    name, last = script["script"], script["last"] or {}
    return [
        Cell(name, "strong", link=f"/scripts/{quote(name, safe='')}"),
        state_of(script),
        Cell(moment(last.get("ended_ms") or last.get("due_ms"))),
        Cell(number(last.get("rows"))),
        Cell(number(last.get("attempts"))),
        Cell(moment(script["next_ms"]) if script["cron"] else "by hand"),
        Cell(script["output"]),
        Cell(str(script["version"])),
        Cell(last.get("error") or "–", "wrap"),
    ]


def run_row(run: Told) -> list[Cell]:
    """One run."""
    begun, ended = run["begun_ms"], run["ended_ms"]
    return [
        Cell(moment(run["due_ms"])),
        Cell(run["state"], chip=KINDS.get(run["state"], "soft")),
        Cell(str(run["version"])),
        Cell(number(run["rows"])),
        Cell(number(run["attempts"])),
        Cell(figures.duration(ended - begun) if begun and ended else "–"),
        Cell(moment(ended)),
        Cell("hand" if run["by_hand"] else "cron"),
        Cell(run["error"] or "–", "wrap"),
    ]


def moment(milliseconds: int | None) -> str:
    """A time, if there is one."""
    return figures.moment(milliseconds) if milliseconds else "–"


def number(found: int | None) -> str:
    """A number, if there is one."""
    return "–" if found is None else figures.count(found)


@page("/scripts", "Scripts")
async def build(view: View) -> None:
    """All of them."""
    with card(classes="flush"):
        table = Table(
            SCRIPTS, empty="No script is deployed: lockstep batch deploy FOLDER",
            number=("Rows", "Attempts", "Version"),
        )  # fmt: skip
    await view.keep(
        lambda: view.suite.ask("/v1/batch"),
        lambda found: table.show([script_row(one) for one in found["scripts"]]),
        1.0,
    )


class Commands:
    """What can be done with a script."""

    def __init__(self, view: View, name: str) -> None:
        self._suite = view.suite
        self._path = script_path(name)
        self._name = name
        self._run = button("Run now", self._run_now, kind="primary")
        self._pause = button("Pause", partial(self._tell, "pause", "It is paused"))
        self._resume = button("Resume", partial(self._tell, "resume", "It is due again"))
        self._cancel = button("Cancel the run …", self._cancel_run)
        for made, place in (
            (self._run, allowed.RUN_SCRIPT),
            (self._pause, allowed.PAUSE_SCRIPT),
            (self._resume, allowed.RESUME_SCRIPT),
            (self._cancel, allowed.CANCEL_SCRIPT),
        ):
            view.allowed.offer(made, place)
        self.show(is_paused=False, is_open=False)

    def show(self, *, is_paused: bool, is_open: bool) -> None:
        """Those that make sense now."""
        self._pause.set_visibility(not is_paused)
        self._resume.set_visibility(is_paused)
        self._cancel.set_visibility(is_open)

    async def _run_now(self) -> None:
        await self._tell("run", "It will run as soon as its publisher looks")

    async def _tell(self, what: str, done: str) -> None:
        await attempt(self._suite.tell("POST", f"{self._path}/{what}"), done)

    async def _cancel_run(self) -> None:
        says = (
            "The run ends where it is. Rows that are kept already stay.",
            "What was new to it is new to the next run, if none of its rows are kept.",
        )
        if await confirmed(f"Cancel the run of {self._name}?", says, "Cancel the run", danger=True):
            await self._tell("cancel", "It is being ended")


class Texts:
    """The text of the version that somebody chose."""

    def __init__(self, view: View, name: str) -> None:
        self._suite = view.suite
        self._path = script_path(name)
        self._newest = 0
        self._choice = ui.select({}, label="Version", on_change=self._chosen)
        self._choice.props("outlined dense").style("max-width:340px;margin:12px 16px")
        self._text = text("pre", "", "source").style("padding:0 16px 16px")
        self._log_title = text("h3", "The newest run's last lines").style("margin:0 16px")
        self._log = text("pre", "", "source").style("padding:8px 16px 16px")

    def show(self, script: Told, runs: Sequence[Told]) -> None:
        """The newest version unless another one was chosen before."""
        versions = {
            one["version"]: f"{one['version']} · {figures.moment(one['deployed_ms'])}"
            for one in script["versions"]
        }
        if script["version"] != self._newest:
            self._newest = script["version"]
            self._choice.set_options(versions, value=self._newest)
            self._text.set_text(script["text"])
        lines = next((one["log"] for one in runs if one["log"]), ())
        self._log.set_text("\n".join(lines))
        for element in (self._log, self._log_title):
            element.set_visibility(bool(lines))

    async def _chosen(self) -> None:
        path = f"{self._path}/versions/{self._choice.value}"
        found = await attempt(self._suite.ask(path))
        if found is not None:
            self._text.set_text(found["text"])


@page("/scripts/{name}", "Script")
async def build_one(view: View) -> None:
    """The script that the address names."""
    name = view.parameter("name")
    path = script_path(name)
    with view.actions:
        commands = Commands(view, name)
    with box("tiles"):
        tiles = {
            label: Tile(label) for label in ("State", "Next due", "Last run", "Rows", "Output")
        }
    with card("Runs", "the newest first", "flush"):
        runs = Table(RUNS, empty="It has not run yet.", number=("Version", "Rows", "Attempts"))
    with card("Text", "as it was deployed", "flush"):
        texts = Texts(view, name)

    async def fetch() -> tuple[Told, Sequence[Told]]:
        script, history = await asyncio.gather(
            view.suite.ask(path), view.suite.ask(f"{path}/runs", limit=MAX_RUNS)
        )
        return script, history["runs"]

    def show(found: tuple[Told, Sequence[Told]]) -> None:
        script, history = found
        is_open = any(one["state"] in ("due", "running", "sending") for one in history)
        commands.show(is_paused=script["paused"], is_open=is_open)
        _show_tiles(tiles, script, history, view.world.clock.now_ms())
        runs.show([run_row(one) for one in history])
        texts.show(script, history)

    await view.keep(fetch, show, 1.0)


def _show_tiles(
    tiles: Mapping[str, Tile], script: Told, history: Sequence[Told], now_ms: int
) -> None:
    last = history[0] if history else None
    state = "paused" if script["paused"] else last["state"] if last else "never ran"
    tiles["State"].set(state, KINDS.get(state, "soft"), script["language"])
    due_ms = script["next_ms"]
    pause = f"in {figures.duration(max(0, due_ms - now_ms))}" if due_ms else "–"
    tiles["Next due"].set(pause if script["cron"] else "by hand", "soft", script["cron"] or "")
    ago = f"{figures.duration(max(0, now_ms - last['due_ms']))} ago" if last else "–"
    tiles["Last run"].set(ago, "soft", moment(last["due_ms"]) if last else "")
    kept = next((one["rows"] for one in history if one["rows"] is not None), None)
    tiles["Rows"].set(number(kept), "soft", "of the newest run with any")
    tiles["Output"].set(script["output"], "soft", f"version {script['version']}")
