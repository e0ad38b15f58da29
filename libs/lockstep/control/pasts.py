"""Where the progress of a past that is folded is kept: revisions beside those of the app itself,
under a key of their own, so that none of them is ever taken for the app's state.
"""

from __future__ import annotations

from typing import Final

from lockstep.bus import LogName
from lockstep.events import Life
from lockstep.events.since import with_since
from lockstep.store import Revisions

PAST_SIGN: Final = "!past"


def past_key(name: LogName) -> tuple[str, str, int]:
    """(app, group, partition) for the store, of the app whose own logs bear that name."""
    return name.app, with_since(f"{name.group}{PAST_SIGN}", name.since_ms), name.partition


async def forget_progress(revisions: Revisions, name: LogName, until: Life) -> None:
    """Removes what is kept of pasts that were wanted up to a life. UnavailableError."""
    there = await revisions.list(*past_key(name))
    if gone := [one.id for one in there if one.life <= until]:
        await revisions.delete(gone)
