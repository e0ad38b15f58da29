"""Records that are missing behind a place: forgotten, or never there."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.bus.contract import InputLog
from lockstep.events import Position
from lockstep.events.codec import EncodedEntry


async def begins_beyond(
    log: InputLog, after: Position, found: Sequence[EncodedEntry]
) -> Position | None:
    """Where the log begins now, if it has forgotten records right behind `after`, behind which
    these were read. Some carriers leave gaps of their own: then nothing is lost.
    UnavailableError."""
    if not found or found[0].position <= after + 1:
        return None
    first, _ = await log.bounds()
    return first if first > after + 1 else None
