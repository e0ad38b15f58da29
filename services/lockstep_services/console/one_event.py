"""A form that sends one event into a running app."""

from __future__ import annotations

from collections.abc import Mapping

from nicegui import ui

from lockstep.clock import Randomness
from lockstep.events import LockstepError
from lockstep.simulating import Columns, Send, row_of
from lockstep_services.console import allowed
from lockstep_services.console.look import box, button, card, tell, tell_error
from lockstep_services.console.shell import View


class OneEvent:
    """A stream, a field for each of its attributes, and a button."""

    def __init__(
        self, view: View, app: str, streams: Mapping[str, Columns], send: Send, random: Randomness
    ) -> None:
        self._streams = streams
        self._send = send
        self._random = random
        with card("One event", "an empty number is null"):
            self._stream = ui.select(
                list(streams), value=next(iter(streams)), label="Into", on_change=self._build
            )
            self._stream.props("outlined dense options-dense").classes("full")
            self._fields = box("fields pace")
            sends = button("Send it", self._send_it, icon="send", kind="small")
            view.allowed.offer(sends, allowed.SEND, app=app)
        self._build()

    def _build(self) -> None:
        self._fields.clear()
        with self._fields:
            self._values = [
                ui.input(f"{name} ({kind})").props("outlined dense")
                for name, kind in self._streams[str(self._stream.value)]
            ]

    async def _send_it(self) -> None:
        stream = str(self._stream.value)
        columns = self._streams[stream]
        try:
            row = row_of([one.value for one in self._values], columns)
            names = [name for name, _ in columns]
            event = dict(zip(names, row, strict=True))
            answer = await self._send(stream, [event], self._random.uuid_hex())
        except LockstepError as error:
            tell_error(error)
            return
        if answer.refused:
            tell(f"{stream} refused it: {answer.reason}", "warning")
        else:
            tell(f"{stream} has taken it")
