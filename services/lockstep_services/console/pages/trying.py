"""Try: a text on a virtual clock, in a process of its own; nothing is deployed, nothing is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from nicegui import ui

from lockstep.editing import Known
from lockstep.events import LockstepError
from lockstep.testing.workshop import Workshop
from lockstep_services.console import allowed, figures
from lockstep_services.console.editor import Editor
from lockstep_services.console.look import (
    Table,
    box,
    button,
    chip,
    empty,
    restyle,
    tell,
    tell_error,
    text,
)
from lockstep_services.console.shell import View, page
from lockstep_services.console.trial_feed import Feed
from lockstep_services.console.trial_rows import Carried
from lockstep_services.console.words import word


class Trial:
    """One text under trial: what was done to it, and what every stream carried."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._shop: Workshop | None = None
        self._is_starting = False
        self._is_gone = False
        self._feed = Feed(self._send, self._pass, self._ask)
        self._calls: list[str] = []
        self._text = ""
        self._codes = False

    def build(self) -> None:
        """All of the page."""
        with self._view.actions:
            self._clock = chip("not started", "soft")
            self._feeding = ui.link("Feed the running app", "/apps").classes("btn")
            self._feeding.set_visibility(False)
            button("Save as a test", self._save)
            self._begin = button("Start", self._start, kind="primary")
        with box("split"):
            with box("stack"):
                self._editor = Editor("", self._known)
                self._editor.style("min-height:280px;max-height:420px")
                self._editor.props["starter"] = _STARTER
                self._trouble = text("div", "", "banner")
                self._trouble.set_visibility(False)
                self._feed.build()
            with box("stack"):
                self._nothing = empty(
                    "Nothing has run yet",
                    "Start takes the text as it stands. Then send events and move the clock:"
                    " every stream's rows show here.",
                    "science",
                )
                self._carried = Carried()
        ui.context.client.on_delete(self._gone)

    async def _known(self, source: str, found: Known) -> None:
        is_stale = self._shop is not None and source != self._text
        self._begin.set_text("Start again" if self._shop is not None else "Start")
        if found.app is not None:
            self._feeding.props["href"] = f"/apps/{quote(found.app.name, safe='')}/simulate"
        self._feeding.set_visibility(found.app is not None)
        if found.problems:
            first = found.problems[0]
            self._tell(f"line {first.line}:{first.column}: {first.message}")
        else:
            self._tell("The text has changed. Start again to try it." if is_stale else "")

    def _tell(self, message: str) -> None:
        self._trouble.set_text(message)
        self._trouble.set_visibility(bool(message))

    async def _start(self) -> None:
        """Once at a time: of two processes the page would know one, and the other never ended."""
        if self._is_starting:
            return
        self._is_starting = True
        try:
            await self._begun()
        finally:
            self._is_starting = False
            if self._is_gone:
                await self._end()

    async def _gone(self) -> None:
        """What is started still ends with its start."""
        self._is_gone = True
        await self._end()

    async def _begun(self) -> None:
        await self._end()
        try:
            self._codes = await allowed.may_code(self._view.suite)
            self._shop = await self._view.world.workshops.take()
        except LockstepError as error:
            tell_error(error)
            return
        self._text, self._calls = await self._editor.current(), []
        found = await self._do({"do": "open", "text": self._text, "code": self._codes})
        if found is None:
            await self._end()
            return
        self._tell("")
        self._carried.clear(found["schemas"])
        self._feed.offer({name: found["schemas"][name] for name in found["inputs"]})
        self._nothing.set_visibility(False)
        self._begin.set_text("Start again")
        self._show(found)

    async def _end(self) -> None:
        shop, self._shop = self._shop, None
        if shop is not None:
            await self._view.world.workshops.give_back(shop)

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

    async def _send(self, stream: str, rows: Sequence[Sequence[Any]]) -> None:
        found = await self._do({"do": "send", "stream": stream, "rows": rows})
        if found is not None:
            words = [f"- {' '.join(map(word, row))}" for row in rows]
            self._calls.append(f"{stream} {' | '.join(words)}")
            self._tell("")
            self._show(found)

    async def _pass(self, by_ms: int) -> None:
        found = await self._do({"do": "advance", "by_ms": by_ms})
        if found is not None:
            self._calls.append(f"@advance {by_ms} millisec")
            self._show(found)

    async def _ask(self, query: str) -> None:
        found = await self._do({"do": "query", "text": query})
        if found is None:
            return
        self._tell("")
        self._calls.append(f"@query {query}")
        self._feed.answer.clear()
        with self._feed.answer:
            width = max((len(row) for row in found["rows"]), default=1)
            table = Table([str(number + 1) for number in range(width)], empty="No rows.")
            table.show([[figures.value(one) for one in row] for row in found["rows"]])
        self._show(found)

    def _show(self, found: Mapping[str, Any]) -> None:
        self._clock.set_text(f"clock {figures.duration(found['clock_ms'])}")
        restyle(self._clock, "good")
        self._carried.add(found["streams"])
        for fault in found["faults"]:
            self._tell(f"an event was dropped: {fault}")
        if found.get("left_out"):
            self._tell(f"{found['left_out']} more rows came than are shown here")

    async def _save(self) -> None:
        if self._shop is None or not self._calls:
            tell("Start and send something first: the test holds what was done.", "warning")
            return
        calls = "\n".join(["--- test: what was tried in the console", *self._calls])
        found = await self._do(
            {"do": "test", "text": self._text, "calls": calls, "code": self._codes}
        )
        if found is not None:
            ui.download.content(found["file"].encode(), "app.test")
            tell("Keep it beside the app as <app>.test; `lockstep test` runs it.")


_STARTER: Final = """@app:name('Hot')
define stream Reading (room string, celsius double);

@info(name='hot')
from Reading[celsius > 30.0] select room, celsius insert into HotRoom;
"""


@page("/try", "Try")
async def build(view: View) -> None:
    """The browser's draft, under trial."""
    Trial(view).build()
