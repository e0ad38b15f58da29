"""Circles of streams in columns: queries that keep nothing go in rounds. A round takes what the one
in front of it brought, for the whole slice. What comes of a chunk hangs on that chunk and its place
alone (and on tables as they were there), so it does not matter that other chunks overtake it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeGuard

from lockstep.columns.column import Suspected
from lockstep.columns.units import Unit
from lockstep.execute.columnar.hosted.queries import HostedQueries
from lockstep.execute.columnar.sharing import components, followers_of
from lockstep.streams.columns import StreamQuery
from lockstep.tables.join import TableJoin

MAX_ROUNDS: Final = 32
"""The places of chunks grow with each round, and the memory that they take. It is fewer than a
stream may feed itself (limits.feedback_depth): the reference takes what goes on for longer."""


class GoesOn(Suspected):
    """An event goes round for longer than MAX_ROUNDS."""


@dataclass(frozen=True, slots=True)
class Circle:
    """Units that feed each other; `fed` are the streams that they write and read."""

    units: tuple[Unit, ...]
    fed: frozenset[str]


def goes_round(part: Unit | HostedQueries) -> TypeGuard[StreamQuery | TableJoin]:
    """Whether a part keeps nothing from one chunk to the next."""
    if not isinstance(part, StreamQuery | TableJoin):
        return False
    return part.is_stateless and part.is_observed


def grouped(parts: Sequence[Unit | HostedQueries]) -> list[Unit | HostedQueries | Circle]:
    """The parts in their order; those that stand in a circle in columns as one."""
    named = {part.name: part for part in parts}
    reads = {name: part.reads for name, part in named.items()}
    order = components(followers_of(reads, {name: _writes(part) for name, part in named.items()}))
    found: list[Unit | HostedQueries | Circle] = []
    circles = {name: circle for circle in order for name in circle}
    for name, part in named.items():
        units = tuple(unit for each in circles[name] if goes_round(unit := named[each]))
        fed = {unit.reads[0] for unit in units}.intersection(unit.writes for unit in units)
        if not fed:
            found.append(part)
        elif circles[name][0] == name:
            found.append(Circle(units, frozenset(fed)))
    return found


def _writes(part: Unit | HostedQueries) -> tuple[str, ...]:
    return part.writes if isinstance(part, HostedQueries) else (part.writes,)
