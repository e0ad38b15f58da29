"""An app cut by partition key: which parts run in which shard, and which keys are whose.

Every shard reads the whole slice, so moments, places and clocks are the same in all of them. What
comes before a partition's router runs in each; behind it each shard has the instances of its own
keys. What leads to no router runs in the first shard alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from lockstep.columns.shards import Shard
from lockstep.columns.units import Unit
from lockstep.execute.columnar.hosted.queries import HostedQueries
from lockstep.partitions.columns import Router
from lockstep.patterns.chains.query import ChainQuery
from lockstep.patterns.columns.query import PatternQuery
from lockstep.streams.columns import StreamQuery

Part = Unit | HostedQueries


class NotSharded(Exception):
    """The app cannot be cut by key; the message says why."""


class Kind(Enum):
    """What a shard has of a stream: all of it, or what its keys bring."""

    WHOLE = auto()
    SHARE = auto()


@dataclass(frozen=True, slots=True)
class Roles:
    """Of an app that can be cut: its parts, which of them the first shard runs alone, and the
    streams of which every shard has a share; what the log brings of these is the first shard's."""

    parts: tuple[Part, ...]
    lone: frozenset[int]
    shared: frozenset[str]

    def of(self, shard: Shard) -> tuple[list[Part], frozenset[str] | None]:
        """(the parts that a shard runs, the streams that are shared if it has only a share of
        them)."""
        for part in self.parts:
            if isinstance(part, Router):
                part.shard = shard
        if shard.index == 0:
            return list(self.parts), None
        return [part for i, part in enumerate(self.parts) if i not in self.lone], self.shared


def roles_of(parts: Sequence[Part]) -> Roles:
    """How an app is cut. `parts` stand behind those that write what they read; raises
    NotSharded."""
    if not any(isinstance(part, Router) for part in parts):
        raise NotSharded("no value partition runs in columns")
    kinds: dict[str, Kind] = {}
    own: dict[int, Kind] = {}
    for i, part in enumerate(parts):
        if part.shows_timers:
            raise NotSharded(f"{part.name} shows what timers bring")
        kind = own[i] = _kind(part, [kinds.get(name, Kind.WHOLE) for name in part.reads])
        for name in _writes(part):
            if kind is Kind.SHARE:
                kinds[name] = Kind.SHARE
    for i, part in enumerate(parts):
        if own[i] is Kind.WHOLE and any(kinds.get(name) is Kind.SHARE for name in part.reads):
            raise NotSharded(f"{part.name} stands in a circle with what comes out of a partition")
    needed = _needed(parts, own)
    for i in needed:
        if not isinstance(parts[i], StreamQuery | ChainQuery | PatternQuery | Router):
            raise NotSharded(f"{parts[i].name} comes before a partition")
    shared = {name for name, kind in kinds.items() if kind is Kind.SHARE}
    repeated = {name for i in needed for name in _writes(parts[i]) if own[i] is Kind.WHOLE}
    for name in shared & repeated:
        raise NotSharded(f"{name} has events from within a partition and from before it")
    lone = frozenset(i for i, kind in own.items() if kind is Kind.WHOLE and i not in needed)
    return Roles(tuple(parts), lone, frozenset(shared))


def _kind(part: Part, reads: Sequence[Kind]) -> Kind:
    if isinstance(part, Router):
        if Kind.SHARE in reads:
            raise NotSharded(f"{part.name}: its events come out of a partition")
        return Kind.SHARE
    if Kind.SHARE not in reads:
        return Kind.WHOLE
    if isinstance(part, StreamQuery | ChainQuery | PatternQuery) and not part.is_observed:
        return Kind.SHARE
    if isinstance(part, StreamQuery) and part.is_stateless:
        return Kind.SHARE
    raise NotSharded(f"{part.name} has state over the keys of a partition")


def _needed(parts: Sequence[Part], own: dict[int, Kind]) -> set[int]:
    """The parts that something in every shard reads, directly or not."""
    needed = {i for i, part in enumerate(parts) if own[i] is Kind.SHARE}
    wanted = {name for i in needed for name in parts[i].reads}
    before = -1
    while len(needed) > before:  # more than once where parts stand in a circle
        before = len(needed)
        for i in reversed(range(len(parts))):
            if i not in needed and wanted.intersection(_writes(parts[i])):
                needed.add(i)
                wanted.update(parts[i].reads)
    return needed


def _writes(part: Part) -> tuple[str, ...]:
    return part.writes if isinstance(part, HostedQueries) else (part.writes,)
