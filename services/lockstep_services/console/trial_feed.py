"""What a text under trial is fed with: one event, a CSV, random ones, queries, and time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from nicegui import ui

from lockstep.clock import SystemRandomness
from lockstep.simulating import SimulationError, csv_rows, drawn, example, row_of
from lockstep_services.console.look import box, button, card, tell, text

MAX_UPLOAD_BYTES: Final = 1_048_576
MAX_EVENTS: Final = 1_000
"""That are sent at once."""
STEPS: Final = {1_000: "1 second", 10_000: "10 seconds", 60_000: "1 minute", 3_600_000: "1 hour",
                86_400_000: "1 day"}  # fmt: skip
_CSV: Final = (
    "A line each, values in the stream's order; a head line with the attributes' names may stand"
    " first."
)
_RANDOM: Final = (
    "For each a range 20..30, a choice a|b|c, a pattern room-[1-9], a sequence 1++, a regular"
    " expression /[a-z]{3}/, or =text that stays."
)
Schemas = Mapping[str, Sequence[Sequence[str]]]


class Feed:
    """The panel; what it is told to send goes to `send`, `let_pass` and `ask`."""

    def __init__(
        self,
        send: Callable[[str, Sequence[Sequence[Any]]], Awaitable[None]],
        let_pass: Callable[[int], Awaitable[None]],
        ask: Callable[[str], Awaitable[None]],
    ) -> None:
        self._send = send
        self._pass = let_pass
        self._ask = ask
        self._schemas: Schemas = {}
        self._randomness = SystemRandomness()

    @property
    def stream(self) -> str:
        """The chosen one."""
        return str(self._stream.value or "")

    def offer(self, schemas: Schemas) -> None:
        """These streams take events."""
        self._schemas = schemas
        self.panel.set_visibility(True)
        self._stream.set_options(list(schemas), value=next(iter(schemas), None))
        self._fields()

    def build(self) -> None:
        """The panel; hidden until something can be fed."""
        with card("Feed it") as self.panel:
            with box("row"):
                self._stream = ui.select([], label="Stream", on_change=self._fields)
                self._stream.props("outlined dense options-dense").classes("grow")
            with ui.tabs() as tabs:
                one, file, drawn, asked = (
                    ui.tab(name) for name in ("One event", "CSV", "Random", "Query")
                )
            with ui.tab_panels(tabs, value=one, animated=False):
                with ui.tab_panel(one):
                    self._inputs = box("fields")
                    button("Send", self._send_one, kind="primary small", icon="send")
                with ui.tab_panel(file):
                    text("p", _CSV, "hint")
                    self._csv = ui.textarea(placeholder="attic,31.5").props(
                        'outlined dense autogrow aria-label="CSV"'
                    )
                    with box("row"):
                        button("Send all", self._send_csv, kind="primary small", icon="send")
                        ui.upload(
                            label="or a file", auto_upload=True, on_upload=self._upload,
                            max_file_size=MAX_UPLOAD_BYTES,
                        ).props("flat bordered").classes("upload")  # fmt: skip
                with ui.tab_panel(drawn):
                    text("p", _RANDOM, "hint")
                    self._rules = box("fields")
                    with box("row"):
                        self._many = ui.number("Events", value=20, min=1, max=1_000, precision=0)
                        self._gap = ui.number("ms apart", value=100, min=0, precision=0)
                        for each in (self._many, self._gap):
                            each.props("outlined dense").style("width:120px")
                        button("Send", self._send_random, kind="primary small", icon="casino")
                with ui.tab_panel(asked):
                    self._query = ui.input("On-demand query", placeholder="from Rooms select *")
                    self._query.props("outlined dense").classes("mono")
                    button("Ask", self._put_query, kind="primary small")
                    self.answer = box("stack")
            ui.separator().style("margin:16px 0")
            with box("row"):
                self._step = ui.select(STEPS, value=60_000, label="Time").props(
                    "outlined dense options-dense"
                )
                button("Let it pass", self._let_pass, icon="fast_forward", kind="small")
        self.panel.set_visibility(False)

    def _fields(self) -> None:
        """A field for each attribute of the chosen stream."""
        schema = self._schemas.get(self.stream, ())
        self._inputs.clear()
        self._rules.clear()
        with self._inputs:
            self._values = [_field(name, kind, "") for name, kind in schema]
        with self._rules:
            self._draws = [_field(name, kind, example(kind)) for name, kind in schema]

    async def _send_one(self) -> None:
        try:
            row = row_of([one.value for one in self._values], self._kinds())
        except SimulationError as error:
            tell(str(error), "warning")
            return
        await self._send(self.stream, [row])

    async def _send_csv(self) -> None:
        stream, written = self.stream, self._csv.value or ""
        schema = self._schemas.get(stream, ())
        try:
            rows = await asyncio.to_thread(csv_rows, written, schema, max_rows=MAX_EVENTS)
        except SimulationError as error:
            tell(str(error), "warning")
            return
        for row in rows:
            await self._send(stream, [row])
        tell(f"{len(rows)} events sent")

    async def _upload(self, event: Any) -> None:
        self._csv.value = (await event.file.read()).decode("utf-8", errors="replace")

    async def _send_random(self) -> None:
        stream, kinds = self.stream, self._kinds()
        rules = [str(one.value or "") for one in self._draws]
        count, gap = int(self._many.value or 1), int(self._gap.value or 0)
        try:
            most = min(count, MAX_EVENTS)
            rows = await asyncio.to_thread(drawn, rules, kinds, most, self._randomness)
        except SimulationError as error:
            tell(str(error), "warning")
            return
        for row in rows:
            await self._send(stream, [row])
            if gap:
                await self._pass(gap)

    def _kinds(self) -> list[tuple[str, str]]:
        return [(name, kind) for name, kind in self._schemas.get(self.stream, ())]

    async def _put_query(self) -> None:
        await self._ask(str(self._query.value or ""))

    async def _let_pass(self) -> None:
        await self._pass(int(self._step.value or 0))


def _field(name: str, kind: str, value: str) -> ui.input:
    return ui.input(f"{name} ({kind})", value=value).props("outlined dense")
