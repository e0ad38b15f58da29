"""What tests want to see beyond outputs: every chunk of every stream and query, in order."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from lockstep.events import Event


class Observe(IntEnum):
    """What an executor keeps for `take_observations`: of each stream and query every chunk."""

    NOTHING = 0
    OUTSIDE_PARTITIONS = 1
    ALL = 2


@dataclass(frozen=True, slots=True)
class StreamChunk:
    """A chunk that a stream carried."""

    stream: str
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class QueryChunk:
    """A chunk that a query put out: its current and its expired events, each in chunk order."""

    query: str
    current: tuple[Event, ...]
    expired: tuple[Event, ...]


Observation = StreamChunk | QueryChunk
