"""Errors: what a stream or a sink refused and why; sent again, mended and sent again, forgotten."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from nicegui import ui

from lockstep.events import LockstepError
from lockstep.events.paths import app_path
from lockstep.rights.table import Place
from lockstep_services.console import allowed, figures
from lockstep_services.console.look import (
    answer_of,
    attempt,
    box,
    button,
    card,
    chip,
    confirmed,
    empty,
    tell,
    tell_error,
    text,
)
from lockstep_services.console.shell import View, page

SHOWN: Final = 200
REFRESH_S: Final = 3.0
OUTPUTS: Final = "publisher/"
Letter = Mapping[str, Any]


class Letters:
    """The dead letters of the chosen app."""

    def __init__(self, view: View, apps: Sequence[str]) -> None:
        self._view = view
        self._shown: list[Letter] | None = None
        self._chosen: set[int] = set()
        first = view.parameter("app")
        with view.actions:
            chosen = first if first in apps else apps[0]
            self._app = ui.select(list(apps), value=chosen, on_change=self._other)
            self._app.props('outlined dense options-dense aria-label="App"')
            self._app.style("min-width:180px")
            self._again = button("Send again", self._replay)
            self._forget = button("Forget", self._purge)
        self._list = box("letters")

    async def fetch(self) -> tuple[str, Sequence[Letter]]:
        """The chosen app and its letters in the error store, the newest first."""
        app = str(self._app.value)
        found = await self._view.suite.ask(f"{app_path(app)}/errors", limit=str(SHOWN))
        return app, list(reversed(found["errors"]))

    def show(self, found: tuple[str, Sequence[Letter]]) -> None:
        """These letters; what was chosen of them stays so."""
        app, shown = found
        self._offer(self._again, allowed.REPLAY)
        self._offer(self._forget, allowed.PURGE)
        if app != self._app.value or shown == self._shown:
            return  # another app was chosen meanwhile, or nothing is new
        self._shown = list(shown)
        self._chosen &= {one["sequence"] for one in shown}
        self._list.clear()
        with self._list:
            if not shown:
                empty("No errors", f"{app} has refused nothing.", "task_alt")
            for letter in shown:
                self._letter(letter)

    async def _load(self) -> None:
        """Now. While the suite does not say what there is, what was shown stays."""
        try:
            self.show(await self.fetch())
        except LockstepError as error:
            tell_error(error)

    async def _other(self) -> None:
        """Another app: its letters are others, also those of the same numbers."""
        self._shown, self._chosen = None, set()
        self._list.clear()
        with self._list:
            text("p", "The suite is asked …", "soft").props("role=status")
        await self._load()

    def _offer(self, element: ui.element, *places: Place) -> None:
        self._view.allowed.offer(element, *places, app=str(self._app.value))

    def _letter(self, letter: Letter) -> None:
        number, is_output = letter["sequence"], letter["origin"].startswith(OUTPUTS)

        def choose(event: Any) -> None:
            (self._chosen.add if event.value else self._chosen.discard)(number)

        with card(classes="letter"):
            with box("row letter-head"):
                chosen = ui.checkbox(value=number in self._chosen, on_change=choose)
                chosen.props(f'dense aria-label="Choose number {number}"')
                text("b", f"#{number}")
                chip("sink" if is_output else "stream", "calm" if is_output else "soft")
                text("span", letter["stream"])
                text("span", figures.moment(letter["clock_ms"]), "hint")
                text("span", letter["origin"], "hint grow")
                if not is_output:
                    mend = button("Mend", lambda: self._mend(letter), kind="small", icon="edit")
                    self._offer(mend, allowed.SEND, allowed.PURGE)
            text("p", letter["reason"], "reason")
            text("pre", letter["payload"], "source")

    def _selection(self) -> list[int]:
        if not self._chosen:
            tell("Choose some first.", "warning")
        return sorted(self._chosen)

    async def _replay(self) -> None:
        numbers = self._selection()
        says = (
            f"{len(numbers)} go the way that they went before: events into their streams, rows to"
            " their sinks.",
            "What is refused again comes back with its reason.",
        )
        if numbers and await confirmed("Send again?", says, "Send again", danger=False):
            found = await self._tell("replay", numbers)
            if found is not None:
                told = "; ".join(found["refused"].values())
                tell(
                    f"{len(found['replayed'])} sent again" + (f". Refused: {told}" if told else "")
                )

    async def _purge(self) -> None:
        numbers = self._selection()
        says = (f"{len(numbers)} are removed from the error store. This cannot be undone.",)
        if numbers and await confirmed("Forget them?", says, "Forget", danger=True):
            found = await self._tell("purge", numbers)
            if found is not None:
                tell(f"{found['removed']} forgotten")

    async def _tell(self, what: str, numbers: Sequence[int]) -> Any:
        path = f"{app_path(str(self._app.value))}/errors/{what}"
        found = await attempt(self._view.suite.tell("POST", path, {"sequences": list(numbers)}))
        await self._load()
        return found

    async def _mend(self, letter: Letter) -> None:
        with ui.dialog() as dialog, box("dialog wide card"):
            text("h2", f"Mend #{letter['sequence']}")
            text("p", letter["reason"], "reason")
            field = ui.textarea("Events, as JSON", value=letter["payload"])
            field.props("outlined autogrow input-class=mono").classes("full")
            with box("consequences", "ul"):
                text("li", f"What stands here is sent to {letter['stream']} as a new event.")
                text("li", "Once it is taken, the refused one is forgotten.")
            with box("dialog-actions"):
                button("Cancel", lambda: dialog.submit(None), kind="quiet")
                button("Send", lambda: dialog.submit(field.value), kind="primary")
        mended = await answer_of(dialog)
        if not mended:
            return
        try:
            events = json.loads(mended)
        except ValueError as error:
            tell(f"This is no JSON: {error}", "warning")
            return
        app = str(self._app.value)
        sent = await attempt(self._view.suite.send(app, letter["stream"], events), "Sent")
        if sent is not None:
            await self._tell("purge", [letter["sequence"]])


@page("/errors", "Errors")
async def build(view: View) -> None:
    """Of the app that the address names, else of the first."""
    await view.once(view.suite.apps, partial(_listed, view))


def _listed(view: View, deployed: Sequence[Letter]) -> None:
    """The page, once the apps are known."""
    apps = [one["app"] for one in deployed]
    if not apps:
        empty("No app is deployed", "What an app or its sinks refuse stands here.", "task_alt")
        return
    letters = Letters(view, apps)
    view.follow(letters.fetch, letters.show, REFRESH_S)
