"""Under which key the last revision of a unit is kept, with which its layout has ended."""

from __future__ import annotations

from typing import Final

from lockstep.bus import LogName
from lockstep.events.since import with_since
from lockstep.store import Revision, Revisions

END_SIGN: Final = "!end"


def end_key(name: LogName) -> tuple[str, str, int]:
    """(app, group, partition) for the store."""
    return name.app, with_since(f"{name.group}{END_SIGN}", name.since_ms), name.partition


async def last_revision(revisions: Revisions, name: LogName) -> Revision | None:
    """With which a unit has ended; None while it goes on."""
    found = await revisions.list(*end_key(name))
    return next((one for one in found if one.verified), None)
