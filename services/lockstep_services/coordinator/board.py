"""What a placement is decided from, and the sketch that the decision changes. Pure.

A placement is a list of nodes. The first `replicas` of those that live shall carry the unit
(*targets*). What stands behind them is *leaving*: it carries the unit until all targets are ready.
So the list alone says which moves are under way, whoever reads it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

REPLICA_LOAD: Final = 100
"""What any replica counts for, in thousandths of a core: so idle ones are spread by number."""

GAP_MIN: Final = REPLICA_LOAD * 3 // 2
"""Two nodes that differ by less are level."""


class Reason(StrEnum):
    """Why a placement changed."""

    NEW_APP = "new_app"
    NODE_LOST = "node_lost"
    NODE_JOINED = "node_joined"
    REPLICAS_CHANGED = "replicas_changed"
    APP_REMOVED = "app_removed"
    NODE_DRAINED = "node_drained"
    HOST_SHARED = "host_shared"
    ZONE_SHARED = "zone_shared"
    LOAD = "load"
    RELEASED = "released"


@dataclass(frozen=True, slots=True)
class Node:
    """A living processor. Nodes of one `host` fail together; so do those of one `zone`."""

    name: str
    host: str
    zone: str = ""
    is_drained: bool = False
    cpu_percent: int = 0


@dataclass(frozen=True, slots=True)
class Wanted:
    """A unit and how many processors shall carry it."""

    app: str
    replicas: int


@dataclass(frozen=True)
class Facts:
    """What is known. By unit: where it is placed, the nodes on which it is ready, who leads it, and
    its measured load in thousandths of a core. `staying`: units that are not moved to level loads,
    as their leader folds a past, or as they were moved lately."""

    nodes: Sequence[Node]
    wanted: Sequence[Wanted]
    placements: Mapping[str, Sequence[str]] = field(default_factory=dict)
    ready: Mapping[str, frozenset[str]] = field(default_factory=dict)
    leaders: Mapping[str, str] = field(default_factory=dict)
    loads: Mapping[str, int] = field(default_factory=dict)
    staying: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Rules:
    """`max_moves`: under way at a time. `gap_percent`: of the mean load, which two nodes may differ
    by. `cpu_max_percent`: a host that is busier gets nothing for the sake of levelness."""

    min_processors: int = 1
    max_moves: int = 2
    gap_percent: int = 20
    cpu_max_percent: int = 85
    may_move: bool = True
    may_level: bool = True


@dataclass(frozen=True, slots=True)
class HandOver:
    """The lead of a unit is to be handed to a ready standby."""

    app: str
    leader: str
    to: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class Move:
    """A replica that goes from one node to another (`lead`: its lead alone does)."""

    app: str
    source: str
    to: str
    reason: Reason
    lead: bool = False


class Board:
    """A placement in the making. Loads count targets alone: what leaves is as good as gone."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.nodes = {node.name: node for node in sorted(facts.nodes, key=lambda node: node.name)}
        self.open = [name for name, node in self.nodes.items() if not node.is_drained]
        self.wanted = {one.app: one.replicas for one in sorted(facts.wanted, key=lambda w: w.app)}
        self.targets: dict[str, list[str]] = {}
        self.leaving: dict[str, list[str]] = {}
        self.reasons: dict[str, Reason] = {}
        self.moves: list[Move] = []
        self.moving = 0
        """How many units have moves under way."""
        known = facts.loads.values()
        self._unknown_load = sum(known) // len(known) if known else 0
        self.loads = Counter(dict.fromkeys(self.nodes, 0))
        self.leads = Counter(dict.fromkeys(self.nodes, 0))
        self.counts = Counter(dict.fromkeys(self.nodes, 0))
        for unit, replicas in self.wanted.items():
            living = [node for node in facts.placements.get(unit, ()) if node in self.nodes]
            self.targets[unit], self.leaving[unit] = living[:replicas], living[replicas:]
            self.moving += bool(self.leaving[unit])
            for node in self.targets[unit]:
                self._count(unit, node, 1)
            leader = facts.leaders.get(unit)
            led_by = leader if leader in self.nodes else next(iter(living), None)
            if led_by is not None:
                self.leads[led_by] += self.weight(unit)

    def weight(self, unit: str) -> int:
        """What a replica of it adds to a node; of a new one, what others do on average."""
        return REPLICA_LOAD + self.facts.loads.get(unit, self._unknown_load)

    def is_ready(self, unit: str) -> bool:
        """All of its targets are there and ready, and one of them leads."""
        targets = self.targets[unit]
        return self.all_ready(unit) and self.facts.leaders.get(unit) in targets

    def all_ready(self, unit: str) -> bool:
        """All of its targets are ready."""
        return set(self.targets[unit]) <= self.facts.ready.get(unit, frozenset())

    def is_calm(self) -> bool:
        """Nothing moves, nobody is silent, everything is ready."""
        placements = self.facts.placements
        return all(
            not self.leaving[unit]
            and self.is_ready(unit)
            and all(node in self.nodes for node in placements.get(unit, ()))
            for unit in self.wanted
        )

    def release(self, unit: str) -> None:
        """The moves of a unit have come to their end."""
        self.moving -= bool(self.leaving[unit])
        self.leaving[unit].clear()
        self.reasons[unit] = Reason.RELEASED

    def crowding(self, nodes: Iterable[str]) -> tuple[int, int]:
        """How unevenly a unit's nodes are spread over hosts, then over zones; less is better."""
        named = [self.nodes[name] for name in nodes]
        hosts, zones = Counter(n.host for n in named), Counter(n.zone for n in named)
        return sum(c * c for c in hosts.values()), sum(c * c for c in zones.values())

    def best(self, unit: str, instead_of: str | None = None) -> str | None:
        """The node for a further replica, or for one in place of another's; None: no room."""
        targets = [node for node in self.targets[unit] if node != instead_of]
        taken = {*self.targets[unit], *self.leaving[unit]}

        def cost(name: str) -> tuple[tuple[int, int], int, int, int, str]:
            # The first node of an empty placement will lead: level leads before replicas.
            leads = 0 if self.targets[unit] else self.leads[name]
            cpu = self.nodes[name].cpu_percent
            return self.crowding([*targets, name]), leads, self.loads[name], cpu, name

        return min((name for name in self.open if name not in taken), key=cost, default=None)

    def add(self, unit: str, node: str) -> None:
        """A further target."""
        if not self.targets[unit]:
            self.leads[node] += self.weight(unit)
        self.targets[unit].append(node)
        self._count(unit, node, 1)

    def move(self, unit: str, source: str, to: str, reason: Reason) -> None:
        """`to` becomes a target in the place of `source`, which is leaving from now on."""
        targets = self.targets[unit]
        targets[targets.index(source)] = to
        self.moving += not self.leaving[unit]
        self.leaving[unit].append(source)
        self._count(unit, source, -1)
        self._count(unit, to, 1)
        self.reasons[unit] = reason
        self.moves.append(Move(unit, source, to, reason))

    def after(self, unit: str) -> tuple[str, ...]:
        """The placement that comes of it. Silent nodes that nobody can replace stay placed (whoever
        decides may merely not hear them), and so does the order."""
        before, replicas = tuple(self.facts.placements.get(unit, ())), self.wanted[unit]
        silent = [node for node in before if node not in self.nodes]
        staying, leaving = [*self.targets[unit], *silent][:replicas], self.leaving[unit]
        is_same = set(staying) == set(before[:replicas]) and set(leaving) == set(before[replicas:])
        return before if is_same else (*staying, *leaving)

    def _count(self, unit: str, node: str, sign: int) -> None:
        self.loads[node] += sign * self.weight(unit)
        self.counts[node] += sign
