"""Simulate: feeds for a running app, a stream each, from this page with the person's own rights."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from nicegui import ui

from lockstep.cli.feeding import fetching, sending, stream_of
from lockstep.clock import SystemRandomness
from lockstep.events import LockstepError
from lockstep.events.paths import app_path
from lockstep.simulating import (
    Columns,
    FeedSetup,
    Figures,
    Phase,
    Send,
    Setup,
    Simulation,
    feed_of,
    read_setup,
)
from lockstep.simulating.streams import columns_of
from lockstep_services.console import allowed, figures
from lockstep_services.console.feed_form import FeedForm
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
from lockstep_services.console.one_event import OneEvent
from lockstep_services.console.shell import View, page
from lockstep_services.console.simulations import ENDS_AFTER_S, bounds_of

SHOWN_EVERY_S: Final = 0.5
SAYS: Final = (
    "This console sends the events, with your rights. It goes on while this page is open, also in"
    f" the background, and ends {ENDS_AFTER_S} seconds after it was closed. What should go on"
    " for longer is a task for the command lockstep simulate."
)
COLUMNS: Final = ("Stream", "State", "Sent", "Refused", "Waiting", "Held up", "What was said")
LOOKS: Final = {
    Phase.READY: "soft", Phase.RUNNING: "good", Phase.PAUSED: "warn", Phase.DONE: "calm",
    Phase.STOPPED: "soft", Phase.FAILED: "bad",
}  # fmt: skip


def row_of(one: Figures) -> list[Cell]:
    """One feed as a row."""
    total = "" if one.total is None else f" of {one.total:,}"
    said = one.trouble or one.reason
    return [
        Cell(one.stream, "mono strong"),
        Cell(one.phase, chip=LOOKS[one.phase]),
        Cell(f"{one.sent:,}{total}"),
        Cell(f"{one.refused:,}"),
        Cell(f"{one.waiting:,}"),
        Cell(f"{one.held_up:,}"),
        Cell(said or "–", "wrap"),
    ]


def word_of(found: list[Figures]) -> tuple[str, str]:
    """Of all feeds, and how it looks."""
    phases = {one.phase for one in found}
    for phase in (Phase.RUNNING, Phase.PAUSED, Phase.FAILED, Phase.STOPPED, Phase.DONE):
        if phase in phases:
            return f"{phase}, {figures.count(sum(one.sent for one in found))} sent", LOOKS[phase]
    return "not started", "soft"


class Simulator:
    """The page of one app."""

    def __init__(self, view: View, app: str) -> None:
        self._view = view
        self._app = app
        self._settings = view.world.settings.console
        self._bounds = bounds_of(self._settings)
        self._streams: Mapping[str, Columns] = {}
        self._forms: list[FeedForm] = []
        self._run: Simulation | None = None
        self._is_busy = False
        self._is_gone = False
        self._randomness = SystemRandomness()

    def build(self) -> None:
        """What is there at once."""
        view, app = self._view, quote(self._app, safe="")
        with view.actions:
            self._word = chip("not started", "soft").props("role=status")
            ui.link("The app", f"/apps/{app}").classes("btn")
            ui.link("Watch", f"/watch?app={app}").classes("btn")
            self._pause = button("Pause", self._pause_or_resume)
            self._stop = button("Stop", self._end)
            self._start = button("Start", self._begin, kind="primary")
            view.allowed.offer(self._start, allowed.SEND, app=self._app)
        text("p", SAYS, "hint")
        self._place = box("stack")
        ui.timer(SHOWN_EVERY_S, self._show)
        ui.context.client.on_delete(self._gone)
        self._show()

    async def fetch(self) -> Mapping[str, Columns]:
        """The streams that take events."""
        source = (await self._view.suite.ask(app_path(self._app)))["text"]
        return await asyncio.to_thread(columns_of, source)

    def offer(self, streams: Mapping[str, Columns]) -> None:
        """Forms for these streams."""
        self._streams = streams
        with self._place:
            if not streams:
                empty("Nothing to feed", "No stream of this app takes events from outside.")
                return
            with card("What was sent", "", "flush"):
                numbers = ("Sent", "Refused", "Waiting", "Held up")
                self._table = Table(COLUMNS, empty="Nothing yet: Start begins.", number=numbers)
            self._feeds = box("feeds stack")
            with box("row"):
                button("Add a stream", self._add, icon="add")
                button("Save the set-up", self._save, kind="quiet")
                ui.upload(
                    label="Load a set-up", auto_upload=True, on_upload=self._load,
                    max_file_size=self._settings.simulation_max_bytes,
                ).props("flat bordered").classes("upload")  # fmt: skip
            OneEvent(self._view, self._app, streams, self._sending(), self._randomness)
        self._add()
        self._show()

    def _sending(self) -> Send:
        return sending(self._app, self._view.suite.post)

    def _add(self, first: FeedSetup | None = None) -> None:
        if len(self._forms) >= self._bounds.max_feeds:
            tell(f"{self._bounds.max_feeds} streams fit on a page", "warning")
            return
        taken = {str(one.stream.value) for one in self._forms}
        free = next(
            (name for name in self._streams if name not in taken), next(iter(self._streams))
        )
        with self._feeds, card() as panel:
            form = FeedForm(self._view, self._streams, first or FeedSetup(stream=free))
            with box("row"):
                button("Remove this stream", lambda: self._remove(form, panel), kind="quiet small")
        self._forms.append(form)

    def _remove(self, form: FeedForm, panel: ui.element) -> None:
        if len(self._forms) == 1:
            tell("One stream stays.", "warning")
            return
        self._forms.remove(form)
        panel.delete()

    async def _setup(self) -> Setup:
        """What the forms say; SimulationError. A CSV in it may be large."""
        written = Setup(feeds=[one.setup() for one in self._forms])
        return await asyncio.to_thread(lambda: read_setup(written.text(), self._bounds))

    async def _begin(self) -> None:
        if self._is_busy or (self._run is not None and not self._run.is_over):
            return
        self._is_busy = True
        try:
            suite = self._view.suite
            fetch = fetching(suite.post, lambda says: tell(says, "warning"))
            feeds = [
                await feed_of(
                    one, stream_of(self._streams, self._app, one.stream), self._randomness, fetch,
                    self._bounds,
                )
                for one in (await self._setup()).feeds
            ]  # fmt: skip
            if self._is_gone:
                return  # it was closed while rows were read: nobody could stop what began now
            self._run = self._view.world.simulations.begin(
                feeds, self._sending(), self._view.world.clock, self._settings
            )
        except LockstepError as error:
            tell_error(error)
        finally:
            self._is_busy = False
        self._show()

    async def _pause_or_resume(self) -> None:
        if self._run is None:
            return
        if any(one.phase is Phase.PAUSED for one in self._run.figures()):
            self._run.start()
        else:
            await self._run.pause()
        self._show()

    async def _end(self) -> None:
        if self._run is not None:
            await self._run.stop()
            self._show()

    async def _gone(self) -> None:
        self._is_gone = True
        if self._run is not None:
            await self._view.world.simulations.end(self._run)

    def _show(self) -> None:
        found = [] if self._run is None else self._run.figures()
        word, looks = word_of(found)
        self._word.set_text(word)
        restyle(self._word, looks)
        is_over = self._run is None or self._run.is_over
        self._pause.set_enabled(not is_over)
        self._stop.set_enabled(not is_over)
        is_paused = any(one.phase is Phase.PAUSED for one in found)
        self._pause.set_text("Resume" if is_paused else "Pause")
        self._start.set_text("Start again" if found else "Start")
        may = not self._view.allowed.why_not(allowed.SEND, self._app)
        self._start.set_enabled(is_over and bool(self._forms) and may)
        if self._forms:
            self._table.show([row_of(one) for one in found])

    async def _save(self) -> None:
        try:
            written = (await self._setup()).text()
        except LockstepError as error:
            tell_error(error)
            return
        ui.download.content(written.encode(), f"{self._app}.simulation.json")
        tell(f"The command lockstep simulate {self._app} --setup runs it, too.")

    async def _load(self, event: Any) -> None:
        event.sender.reset()
        try:
            kept = await event.file.read()
            found = await asyncio.to_thread(read_setup, kept, self._bounds)
            for one in found.feeds:
                stream_of(self._streams, self._app, one.stream)
        except LockstepError as error:
            tell_error(error)
            return
        self._feeds.clear()
        self._forms.clear()
        for one in found.feeds:
            self._add(one)
        tell(f"{event.file.name} is loaded")


@page("/apps/{name}/simulate", "Simulate")
async def build(view: View) -> None:
    """Of the app that the address names."""
    simulator = Simulator(view, view.parameter("name"))
    simulator.build()
    await view.once(simulator.fetch, simulator.offer)
