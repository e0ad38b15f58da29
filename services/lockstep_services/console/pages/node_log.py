"""The last log lines of one process: from a level on, looked at again by a button. For
administrators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from nicegui import ui

from lockstep.cli.log_lines import readable
from lockstep.telemetry import LEVELS
from lockstep_services.console.look import attempt, box, button, card, text
from lockstep_services.console.shell import View, page

CHOICES: Final = (50, 200, 500)
FIRST: Final = 200
KIND: Final[Mapping[str, str]] = {"debug": "soft", "info": "", "warning": "warn"}
"""How lines look; others are bad."""


def path_of(node: str, service: str) -> str:
    """The page of a process."""
    return f"/nodes/{quote(node, safe='')}/log?service={quote(service)}"


class LastLines:
    """The page's state."""

    def __init__(self, view: View, node: str, service: str) -> None:
        self._view = view
        self._path = f"/v1/nodes/{quote(node, safe='')}/log"
        self._service = {"service": service} if service else {}

    def build(self, found: Mapping[str, Any]) -> None:
        """Below what can be chosen, the lines."""
        with self._view.actions:
            levels = {one: f"{one} and worse" for one in LEVELS[:-1]} | {LEVELS[-1]: LEVELS[-1]}
            again = partial(self.again)
            self._level = ui.select(levels, value=LEVELS[0], label="Level", on_change=again)
            self._count = ui.select(list(CHOICES), value=FIRST, label="Lines", on_change=again)
            for each in (self._level, self._count):
                each.props("outlined dense").style("min-width:140px")
            button("Refresh", self.again, kind="primary")
            ui.link("All nodes", "/nodes").classes("btn")
        about = f"{found['service']}, version {found['version'] or 'unknown'}; times in UTC"
        with card("Last log lines", about):
            self._says = text("p", "", "soft").props("role=status")
            with box("log-lines").props('tabindex="0" role="log" aria-label="Log lines"'):
                self._lines = box()
        self._show(found["lines"])

    async def first(self) -> Any:
        """What the page begins with."""
        return await self._asked(LEVELS[0], FIRST)

    async def again(self) -> None:
        """As it is chosen now."""
        found = await attempt(self._asked(self._level.value, self._count.value))
        if found is not None:
            self._show(found["lines"])

    async def _asked(self, level: str, count: int) -> Any:
        query = {"level": level, "lines": str(count), **self._service}
        return await self._view.suite.ask(self._path, **query)

    def _show(self, lines: Sequence[Mapping[str, str]]) -> None:
        self._says.set_text(
            f"The newest {len(lines)}, the last one below. Its log, where it runs, has all."
            if lines else "It keeps no such line."
        )  # fmt: skip
        self._lines.clear()
        with self._lines:
            for one in lines:
                text("div", readable(one["line"]), f"log-line {KIND.get(one['level'], 'bad')}")


@page("/nodes/{name}/log", "Log")
async def build(view: View) -> None:
    """Of the process that the address names."""
    last = LastLines(view, view.parameter("name"), view.parameter("service"))
    await view.once(last.first, last.build)
