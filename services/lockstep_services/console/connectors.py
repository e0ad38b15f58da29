"""The table of an app's sources and sinks: how each is doing, with a button that pauses it or lets
it go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from lockstep.events.paths import app_path
from lockstep_services.console import allowed, figures
from lockstep_services.console.look import Cell, Table, attempt, confirmed
from lockstep_services.console.shell import View

COLUMNS: Final = ("Source or sink", "State", "Since (UTC)", "Per s", "Why", "Last error", "")
KINDS: Final = {"running": "good", "paused": "warn", "retrying": "bad", "failed": "bad"}
PAUSE: Final = "pause"
RESUME: Final = "resume"
Told = Mapping[str, Any]


def connector_row(one: Told, denied: str) -> list[Cell]:
    """One of them. `denied`: why who looks may not pause it."""
    verb = RESUME if one["pause"] else PAUSE
    last = ""
    if one["last_error_ms"] and one["last_error"] != one["reason"]:
        last = f"{figures.moment(one['last_error_ms'])} {one['last_error']}"
    why_not = denied or ("" if one["can_pause"] else "pause the sink that calls")
    return [
        Cell(one["element"], "mono"),
        Cell(one["state"], chip=KINDS.get(one["state"], "soft")),
        Cell(figures.moment(one["since_ms"]) if one["since_ms"] else "–"),
        Cell(figures.count(one["per_s"])),
        Cell(one["reason"] or "–", "wrap"),
        Cell(last or "–", "wrap"),
        Cell(verb.capitalize(), press=f"{verb} {one['element']}", denied=why_not),
    ]


def consequences(element: str) -> tuple[str, ...]:
    """What pausing means."""
    if element.startswith("sink:"):
        return (
            "It gets nothing until it goes on; then it gets all rows, in order.",
            "They wait in the app's output log. When that is full, the app stops giving rows.",
        )
    return (
        "Nothing is taken of it until it goes on. What was taken already stays in the app.",
        "What sends to it keeps its messages, is told to come back, or is not listened to.",
    )


class ConnectorTable:
    """Of one app."""

    def __init__(self, view: View, app: str) -> None:
        self._suite = view.suite
        self._app = app
        self._allowed = view.allowed
        self._table = Table(COLUMNS, empty="", number=("Per s",), on_press=self._pressed)

    def show(self, found: Sequence[Told]) -> None:
        """How they are doing now."""
        denied = {
            verb: self._allowed.why_not(place, self._app)
            for verb, place in ((PAUSE, allowed.PAUSE), (RESUME, allowed.RESUME))
        }
        self._table.show(
            [connector_row(one, denied[RESUME if one["pause"] else PAUSE]) for one in found]
        )

    async def _pressed(self, what: str) -> None:
        verb, _, element = what.partition(" ")
        if verb == PAUSE and not await confirmed(
            f"Pause {element}?", consequences(element), "Pause", danger=False
        ):
            return
        path = f"{app_path(self._app)}/connectors/{quote(element, safe='')}/{verb}"
        done = "It goes on" if verb == RESUME else "It will be paused in a moment"
        await attempt(self._suite.tell("POST", path), done)
