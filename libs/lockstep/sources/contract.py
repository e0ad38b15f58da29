"""The contract between the receiver and a type of source.

The receiver keeps the mapping, dead letters, back-pressure, leases and pauses. A source gives
messages in order, and is told of each when its events, or its dead letter, are durable.
"""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from lockstep.clock import Clock
from lockstep.sources.notes import Note, PassingNote


async def _unasked() -> None:
    """Nobody waits for the acknowledgement."""


@dataclass(frozen=True, slots=True)
class Received:
    """One message. `id`: stable when the message comes again, so that its events count once.

    `properties` are what `trp:name` of `@attributes` reads. `acknowledge` is called when the
    message need not come again. `refused`: why nobody can take it, whatever its form; then it
    becomes a dead letter, with the payload as far as there is one.
    """

    payload: bytes
    properties: Mapping[str, str] = field(default_factory=dict)
    id: str | None = None
    acknowledge: Callable[[], Awaitable[None]] = _unasked
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Whose source it is: the `number`-th of a stream. `host`: where servers of its own listen;
    `tls`: what they speak, if not plainly. `note`: where it keeps how far it has come, if the other
    side does not."""

    app: str
    stream: str
    number: int
    host: str
    clock: Clock
    tls: ssl.SSLContext | None = None
    note: Note = field(default_factory=PassingNote)


class Source:
    """An origin; made with the options of its annotation by name, as written, and its place.

    `shared`: several receivers may read side by side, as members of a queue or each at a door of
    its own. Else one receiver reads at a time, by lease.
    """

    shared: ClassVar[bool] = False

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Received]:
        """What has come, in order; waits up to `wait_ms` for the first.

        UnavailableError and OSError (a lost connection): closed, made anew and read again later.
        """
        raise NotImplementedError

    async def close(self) -> Sequence[Received]:
        """Gives connections back; what was not acknowledged comes to whoever reads on. Returns
        what had come and cannot be given back; idempotent."""
        return ()


SourceMaker = Callable[[Mapping[str, str], Place], Source]
"""Makes a source from its options; the checker has seen that they are those declared."""
