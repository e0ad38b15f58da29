"""Which processors carry which app: a pure decision from who lives, what is wanted and what is
placed.

Stable: a living node keeps what it has, and a silent one until a living one can take its place
(whoever decides may merely not hear it). Level: new replicas go to the node with the fewest
replicas, preferred leaders to the node with the fewest of them. Ties go by name, so that the same
facts give the same answer anywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why a placement changed."""

    NEW_APP = "new_app"
    NODE_LOST = "node_lost"
    NODE_JOINED = "node_joined"
    REPLICAS_CHANGED = "replicas_changed"
    APP_REMOVED = "app_removed"


@dataclass(frozen=True, slots=True)
class Wanted:
    """An app and how many processors shall carry it."""

    app: str
    replicas: int


@dataclass(frozen=True, slots=True)
class Placed:
    """A changed placement: nodes in order, the preferred leader first; no nodes means waiting."""

    app: str
    nodes: tuple[str, ...]
    reason: Reason


def decide(
    alive: Sequence[str],
    wanted: Sequence[Wanted],
    placements: Mapping[str, Sequence[str]],
    *,
    min_processors: int,
) -> list[Placed]:
    """The placements to change. Nothing new is placed while fewer than `min_processors` live."""
    living = sorted(set(alive))
    names = {one.app for one in wanted}
    kept = {app: [n for n in placements.get(app, ()) if n in living] for app in names}
    load = Counter(dict.fromkeys(living, 0))
    leaders = Counter(dict.fromkeys(living, 0))
    for nodes in kept.values():
        load.update(nodes)
        leaders.update(nodes[:1])
    changes = [
        Placed(app, (), Reason.APP_REMOVED)
        for app in sorted(placements)
        if placements[app] and app not in names
    ]
    for one in sorted(wanted, key=lambda one: one.app):
        before = tuple(placements.get(one.app, ()))
        found = _nodes_for(one, kept[one.app], load, leaders, len(living) >= min_processors)
        after = _with_silent(found, before, one.replicas)
        if after != before or one.app not in placements:
            changes.append(Placed(one.app, after, _reason(one, before, living)))
    return changes


def _nodes_for(
    one: Wanted, kept: list[str], load: Counter[str], leaders: Counter[str], may_place: bool
) -> tuple[str, ...]:
    nodes = kept[: one.replicas]
    for surplus in kept[one.replicas :]:
        load[surplus] -= 1
    while may_place and len(nodes) < one.replicas:
        free = [node for node in load if node not in nodes]
        if not free:
            break
        # The first node of an empty placement will lead: level leaders before replicas.
        chosen = min(free, key=lambda n: (leaders[n] if not nodes else 0, load[n], n))
        if not nodes:
            leaders[chosen] += 1
        load[chosen] += 1
        nodes.append(chosen)
    return tuple(nodes)


def _with_silent(found: tuple[str, ...], before: tuple[str, ...], replicas: int) -> tuple[str, ...]:
    """Nobody is there to replace them: silent nodes stay placed, the order as it was."""
    silent = [node for node in before if node not in found]
    after = (*found, *silent)[:replicas]
    return before if set(after) == set(before) else after


def _reason(one: Wanted, before: tuple[str, ...], living: Sequence[str]) -> Reason:
    if not before:
        return Reason.NEW_APP
    if any(node not in living for node in before):
        return Reason.NODE_LOST
    return Reason.REPLICAS_CHANGED if len(before) >= one.replicas else Reason.NODE_JOINED
