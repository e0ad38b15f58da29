"""Versions of an app: every text that was deployed, and two of them beside each other; the draft of
the page Write may be one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from nicegui import ui

from lockstep.cli.commands.versions import HOW
from lockstep.cli.output import counted
from lockstep.events.paths import app_path
from lockstep_services.console import figures
from lockstep_services.console.editor import DRAFT, MAX_TEXT_CHARACTERS
from lockstep_services.console.look import Cell, Table, attempt, box, card, empty, text
from lockstep_services.console.shell import View, page
from lockstep_services.console.side_by_side import counts_of, rows_of, show_rows

COLUMNS: Final = ("Version", "Deployed (UTC)", "By", "How", "Size", "Text", "Go back")
OF_DRAFT: Final = 0
"""In the place of a number."""
DRAFT_PARAMETER: Final = "draft"
ANSWER_S: Final = 10.0
Version = Mapping[str, Any]


def label_of(one: Version) -> str:
    """In the lists to choose from."""
    runs = " · deployed" if one["deployed"] else ""
    return f"Version {one['number']} · {figures.moment(one['deployed_ms'])}{runs}"


def version_row(app: str, one: Version) -> list[Cell]:
    """One version; the last cell takes its text to the editor."""
    number = f"version {one['number']}"
    runs = Cell(number, chip="good") if one["deployed"] else Cell(number)
    return [
        runs,
        Cell(figures.moment(one["deployed_ms"])),
        Cell(one["who"] or "–"),
        Cell(HOW.get(one["how"], one["how"])),
        Cell(figures.size(one["size_bytes"])),
        Cell(one["version"][:12], "mono soft"),
        Cell("Take into the editor", link=taken_path(app, one["number"])),
    ]


def taken_path(app: str, number: int) -> str:
    """The page Write with the text of a version."""
    return f"/write?app={quote(app, safe='')}&version={number}"


def chosen_first(found: Sequence[Version], left: str, right: str) -> tuple[int, int]:
    """Which two, by the address: numbers, or the draft; else the newest two."""
    numbers = [one["number"] for one in found]

    def known(given: str, other: int) -> int:
        if given == DRAFT_PARAMETER:
            return OF_DRAFT
        return int(given) if given.isdecimal() and int(given) in numbers else other

    newest = numbers[0]
    before = newest if right == DRAFT_PARAMETER else numbers[min(1, len(numbers) - 1)]
    return known(left, before), known(right, newest)


class Beside:
    """The page's state: what is on the left and on the right."""

    def __init__(self, view: View, app: str) -> None:
        self._view = view
        self._app = app
        self._texts: dict[int, str] = {}

    def build(self, found: Mapping[str, Any]) -> None:
        """Both lists, the lines, and all versions below."""
        versions = found["versions"]
        if not versions:
            empty(
                "No version is kept yet",
                "What is deployed was so before versions were kept. The next upgrade keeps both.",
            )
            return
        choices = {one["number"]: label_of(one) for one in versions}
        choices[OF_DRAFT] = "The draft in Write"
        parameter = self._view.parameter
        left, right = chosen_first(versions, parameter("left"), parameter("right"))
        with card("Beside each other", "− on the left alone, + on the right alone"):
            with box("side-heads"):
                self._left = ui.select(choices, value=left, label="Left", on_change=self.show)
                self._right = ui.select(choices, value=right, label="Right", on_change=self.show)
                for each in (self._left, self._right):
                    each.props("outlined dense")
            self._says = text("p", "The texts are fetched …", "soft").props("role=status")
            self._lines = box("sides").props('tabindex="0" role="region" aria-label="Both texts"')
        with card("All versions", "the newest first; older ones make room", "flush"):
            table = Table(COLUMNS, empty="", number=("Size",))
            table.show([version_row(self._app, one) for one in versions])
        ui.timer(0, self.show, once=True)

    async def show(self) -> None:
        """What is chosen."""
        chosen = (self._left.value, self._right.value)
        texts = [await self._text(number) for number in chosen]
        if chosen != (self._left.value, self._right.value):
            return  # others were chosen meanwhile
        old, new = texts
        if old is None or new is None:
            self._says.set_text("There is no such text.")
            self._lines.clear()
            return
        rows = await asyncio.to_thread(rows_of, old, new)
        gone, came = counts_of(rows)
        self._says.set_text(
            f"{counted(gone, 'line')} on the left alone, {came} on the right alone." if rows
            else "Both texts are the same, line by line."
        )  # fmt: skip
        show_rows(self._lines, rows)

    async def _text(self, number: int) -> str | None:
        """The draft may have changed in another tab: it is read each time."""
        if number == OF_DRAFT:
            kept = await ui.run_javascript(
                f"localStorage.getItem({json.dumps(DRAFT)}) ?? ''", timeout=ANSWER_S
            )
            return str(kept)[:MAX_TEXT_CHARACTERS]
        if number not in self._texts:
            path = f"{app_path(self._app)}/versions/{number}"
            found = await attempt(self._view.suite.ask(path))
            if found is None:
                return None
            self._texts[number] = found["text"]
        return self._texts[number]


@page("/apps/{name}/versions", "Versions")
async def build(view: View) -> None:
    """Of the app that the address names."""
    app = view.parameter("name")
    name = quote(app, safe="")
    with view.actions:
        ui.link("The app", f"/apps/{name}").classes("btn")
        ui.link("Write", f"/write?app={name}").classes("btn")
    beside = Beside(view, app)
    await view.once(lambda: view.suite.ask(f"{app_path(app)}/versions"), beside.build)
