"""Where the layouts of a fleet have ended: the last revisions of their units, all at one position.

So together they are one state of the whole app. The next layout begins with it, and a later one may
go back to it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lockstep.bus import LogName
from lockstep.control.units import group_and_layout
from lockstep.events.since import since_in, with_since
from lockstep.store import Revision, Revisions

END_SIGN: Final = "!end"
_ID: Final = "layout."


def end_key(name: LogName) -> tuple[str, str, int]:
    """(app, group, partition) for the store."""
    return name.app, with_since(f"{name.group}{END_SIGN}", name.since_ms), name.partition


async def last_revision(revisions: Revisions, name: LogName) -> Revision | None:
    """With which a unit has ended; None while it goes on."""
    found = await revisions.list(*end_key(name))
    return next((one for one in found if one.verified), None)


def ending_id(layout: int) -> str:
    """By which people name the end of a layout."""
    return f"{_ID}{layout}"


@dataclass(frozen=True, slots=True)
class Ending:
    """Of one layout: the last revision of each of its units, by group. Of layout 0, when the app
    was one unit, there is one."""

    layout: int
    states: tuple[tuple[str, Revision], ...]

    @property
    def revision(self) -> Revision:
        """All of them as one, which has no state of its own in the store."""
        ones = [one for _, one in self.states]
        return Revision(
            id=ending_id(self.layout),
            app=ones[0].app,
            group="",
            partition=0,
            version=ones[0].version,
            position=ones[0].position,
            created_ms=max(one.created_ms for one in ones),
            size_bytes=sum(one.size_bytes for one in ones),
            verified=True,
            epoch=max(one.epoch for one in ones),
        )


async def endings_of(revisions: Revisions, name: LogName) -> Sequence[Ending]:
    """Of all layouts whose logs are as old as this one, the latest first. The last of them may lack
    units that have not ended yet."""
    found: dict[int, list[tuple[str, Revision]]] = defaultdict(list)
    for _, key, partition in await revisions.logs(name.app):
        place, sign, _ = key.partition(END_SIGN)
        if not sign or since_in(key) != name.since_ms:
            continue
        group, layout = group_and_layout(place)
        stored = await revisions.list(name.app, key, partition)
        found[layout] += [(group, one) for one in stored if one.verified][:1]
    return [Ending(at, tuple(states)) for at, states in sorted(found.items())[::-1] if states]
