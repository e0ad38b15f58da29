"""What a sink offers whose messages can stand together in objects of a store.

An object is made once: whoever comes later finds it, and is told which row it ends with. So all
publishers agree on where each object begins and ends, however their batches are cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lockstep.sinks.contract import Sink


@dataclass(frozen=True, slots=True)
class Gathering:
    """When rows are delivered together: when there are so many, or so long after the first one."""

    rows: int
    interval_ms: int


@dataclass(frozen=True, slots=True)
class MadeObject:
    """An object as it shall be. `last`: the identity of its last row, which is kept beside it."""

    name: str
    payload: bytes
    content_type: str
    last: str


class ObjectSink(Sink):
    """`gathering`: None where each message is an object. `path`: the parts in front of a name,
    with their `{{attribute}}`. `content_type`: another one than that of the form, likewise."""

    gathering: Gathering | None = None
    path: Sequence[str] = ()
    content_type: str | None = None

    async def create(self, made: MadeObject, *, anew: bool) -> str | None:
        """The object is there when this returns: None, or the `last` of one of that name that was
        there before; it stays as it is. `anew`: none before counts. Empty: it was made by another
        way, and has one row. UnavailableError, OSError.
        """
        raise NotImplementedError
