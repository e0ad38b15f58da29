"""What sources and those who follow databases remember, as cursors of their app."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lockstep.control import Catalogue
from lockstep.sources import Note, PassingNote
from lockstep.store import Cursors, cursor_name
from lockstep_services.receiver.sources import Source


@dataclass(frozen=True)
class CursorMemory:
    """Numbers that only grow. `follower`: whose they are, in the app whose logs exist since
    `since_ms`."""

    cursors: Cursors
    app: str
    follower: str
    since_ms: int

    def _named(self, name: str) -> str:
        return cursor_name(self.app, f"{self.follower}.{name}", self.since_ms)

    async def get(self, name: str) -> int:
        """0 at the start."""
        return await self.cursors.get(self._named(name))

    async def put(self, name: str, value: int) -> None:
        """Durable when it returns."""
        await self.cursors.put(self._named(name), value)


@dataclass(frozen=True)
class SourceNote:
    """What one source remembers, beside a cursor of its app. `since_ms`: since when the app's logs
    exist, asked each time: a source may outlive them."""

    cursors: Cursors
    app: str
    source: str
    since_ms: Callable[[], int]

    def _name(self) -> str:
        return cursor_name(self.app, f"source/{self.source}", self.since_ms())

    async def get(self) -> str:
        """See Note."""
        return await self.cursors.note(self._name())

    async def put(self, text: str) -> None:
        """See Note."""
        await self.cursors.put_note(self._name(), text)


def note_of(cursors: Cursors | None, catalogue: Catalogue, source: Source) -> Note:
    """Of a source of a deployed app; one that passes with this process where there is no store."""
    if cursors is None:
        return PassingNote()

    def since_ms() -> int:
        view = catalogue.get(source.app)
        return 0 if view is None else view.log.since_ms

    return SourceNote(cursors, source.app, f"{source.stream}.{source.number}", since_ms)
