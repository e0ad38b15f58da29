"""Where a source keeps how far it has come, when the other side keeps it nowhere."""

from __future__ import annotations

from typing import Protocol


class Note(Protocol):
    """A text of one source, which outlives its receiver. Errors: UnavailableError."""

    async def get(self) -> str:
        """What was put last; empty at the start."""

    async def put(self, text: str) -> None:
        """Durable when it returns."""


class PassingNote:
    """One that lasts as long as this process, for sources that nobody runs in a receiver."""

    def __init__(self) -> None:
        self._text = ""

    async def get(self) -> str:
        """See Note."""
        return self._text

    async def put(self, text: str) -> None:
        """See Note."""
        self._text = text
