"""What is known of each object that moves, as long as it is heard of."""

from __future__ import annotations

from typing import Any, Final

from lockstep.functions.convert import object_text
from lockstep.operators.contract import EXPIRED, StreamEvent
from lockstep.operators.errors import EventError
from lockstep.stream_functions.call import Buffering, StreamCall

KEEP_MS: Final = 24 * 60 * 60 * 1_000
"""An object that was silent for so long is forgotten, where the app says nothing else."""


class Following(Buffering):
    """The base: `known` has what is remembered of each id, the longest silent one first.

    Time is the app's clock. A forgotten object is one that was never heard of.
    """

    def __init__(self, call: StreamCall, keep_ms: int) -> None:
        super().__init__(call)
        self._keep_ms = keep_ms
        self.known: dict[str, tuple[int, Any]] = {}

    def process(self, chunk: list[StreamEvent]) -> None:
        out: list[StreamEvent] = []
        for event in chunk:
            if event.kind > EXPIRED:
                out.append(event)
                continue
            self._forget(self.context.now_ms())
            out += (
                StreamEvent(event.timestamp_ms, (*event.data, *added), event.kind)
                for added in self.seen(event)
            )
        if out:
            self.emit(out)

    def seen(self, event: StreamEvent) -> list[tuple[Any, ...]]:
        """What to append to the event, for each event that comes of it."""
        raise NotImplementedError

    def of(self, id_: str) -> Any:
        """What is remembered of an object, or None."""
        return self.known[id_][1] if id_ in self.known else None

    def remember(self, id_: str, what: Any) -> None:
        """It was heard of just now."""
        self.known.pop(id_, None)
        self.known[id_] = (self.context.now_ms(), what)

    def drop(self, id_: str) -> None:
        """Nothing of it is remembered any more."""
        self.known.pop(id_, None)

    def _forget(self, now_ms: int) -> None:
        while self.known:
            oldest = next(iter(self.known))
            if now_ms - self.known[oldest][0] <= self._keep_ms:
                return
            self.drop(oldest)

    def snapshot(self) -> Any:
        return list(self.known.items())

    def restore(self, state: Any) -> None:
        self.known = {id_: (heard_ms, what) for id_, (heard_ms, what) in state}


def id_text(value: Any) -> str:
    """The id as a text; EventError for null."""
    if value is None:
        raise EventError("the id of an object is null")
    return object_text(value)
