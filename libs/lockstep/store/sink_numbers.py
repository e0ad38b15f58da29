"""Which numbers the sinks of an app have: a part of their names, under which cursors are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class NumberedSink:
    """A `@sink` of a stream, and what it is known by in the next text: fingerprints of `place`, the
    options that say where it delivers, and of `whole`, all that it says."""

    stream: str
    type: str
    number: int
    place: str
    whole: str

    @property
    def name(self) -> str:
        """Among the sinks of its app."""
        return f"{self.stream}.{self.number}.{self.type}"


@dataclass(frozen=True, slots=True)
class SinkNumbers:
    """`now`: the sinks of the deployed text, in its order. `past`: those that were taken out, and
    where others delivered before. Nothing: they are numbered as the text has them, from 0 in each
    stream, and so were those of every text before."""

    now: tuple[NumberedSink, ...] = ()
    past: tuple[NumberedSink, ...] = ()


NO_NUMBERS: Final = SinkNumbers()
