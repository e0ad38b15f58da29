"""Where the progress of a past that is folded is kept: revisions beside those of the app itself,
under a key of their own, so that none of them is ever taken for the app's state. And how far a past
is, for people.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

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


def past_said(found: Mapping[str, Any]) -> str:
    """One line, of a `PastStatus` as JSON has it."""
    end = f" of {found['up_to']}" if found["up_to"] else ""
    rate = found["events"] * 1_000 // max(1, found["took_ms"])
    said = (
        f"{found['phase']}: position {found['position']}{end}, {found['events']} events "
        f"({rate} per second), {found['rows']} rows"
    )
    if from_ := found.get("resumed_from"):
        said += f"; went on from position {from_}, behind {found['resumed_events']} events"
    return said
