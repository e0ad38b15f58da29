"""Moves of replicas and leads: away from drained nodes, off shared hosts and zones, and from loaded
nodes to idle ones. Pure.

A move adds the new replica first. When all are ready, the lead is handed over if it has to be, and
then the old replica goes. Only a drain moves anything while something is not ready.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from lockstep_services.coordinator.board import GAP_MIN, Board, HandOver, Reason, Rules

CPU_NOISE_PERCENT: Final = 5
"""Two looks at hosts that are as full differ by so much."""


def end_moves(board: Board) -> list[HandOver]:
    """Moves whose new replicas are ready come to their end; leads that have to go, go first."""
    found: list[HandOver] = []
    for unit, leaving in board.leaving.items():
        leader = board.facts.leaders.get(unit)
        if leaving and board.is_ready(unit):
            board.release(unit)
        is_drained = leader in board.nodes and leader not in board.open
        must_give = leader in leaving and board.all_ready(unit)
        if leader is not None and (is_drained or must_give):
            reason = Reason.NODE_DRAINED if is_drained else Reason.RELEASED
            found += _given(board, unit, leader, reason)
    return found


def _given(board: Board, unit: str, leader: str, reason: Reason) -> list[HandOver]:
    ready = board.facts.ready.get(unit, frozenset())
    takers = [n for n in board.targets[unit] if n in ready and n != leader and n in board.open]
    if not takers:
        return []
    return [_hand_over(board, unit, leader, min(takers, key=lambda n: (board.leads[n], n)), reason)]


def _hand_over(board: Board, unit: str, leader: str, to: str, reason: Reason) -> HandOver:
    board.leads[leader] -= board.weight(unit)
    board.leads[to] += board.weight(unit)
    return HandOver(unit, leader, to, reason)


def begin_moves(board: Board, rules: Rules) -> list[HandOver]:
    """As many as may be under way at a time."""
    is_calm = board.is_calm()
    _drain(board, rules)
    if not is_calm:
        return []
    _spread(board, rules)
    if not rules.may_level:
        return []
    _level(board, rules)
    return [] if board.moving else _level_leads(board, rules)


def _drain(board: Board, rules: Rules) -> None:
    for unit, targets in board.targets.items():
        for node in targets:
            if node in board.open or board.leaving[unit] or board.moving >= rules.max_moves:
                continue
            to = board.best(unit, node)
            if to is not None:
                board.move(unit, node, to, Reason.NODE_DRAINED)
                break


def _spread(board: Board, rules: Rules) -> None:
    """A replica that shares its host with another goes where none is, likewise its zone."""
    for unit, targets in board.targets.items():
        if board.leaving[unit] or board.moving >= rules.max_moves:
            continue
        now = board.crowding(targets)
        found = []
        for node in targets:
            to = board.best(unit, node)
            if to is not None:
                then = board.crowding(to if one == node else one for one in targets)
                found.append((then, -board.loads[node], node, to))
        if found and min(found)[0] < now:
            then, _, node, to = min(found)
            reason = Reason.HOST_SHARED if then[0] < now[0] else Reason.ZONE_SHARED
            board.move(unit, node, to, reason)


def _gap_limit(board: Board, rules: Rules, loads: Callable[[str], int]) -> int:
    total = sum(loads(node) for node in board.open)
    return max(GAP_MIN, total * rules.gap_percent // (100 * max(1, len(board.open))))


def _level(board: Board, rules: Rules) -> None:
    while board.moving < rules.max_moves and (found := _most_levelling(board, rules)):
        board.move(*found, Reason.LOAD)


def _most_levelling(board: Board, rules: Rules) -> tuple[str, str, str] | None:
    """(unit, from, to) between the nodes that differ most; None: all are level.

    No node gets more replicas than its share of all: so a join moves no more than that share.
    """
    limit = _gap_limit(board, rules, lambda node: board.loads[node])
    share = -(-sum(board.counts.values()) // max(1, len(board.open)))
    rising = sorted(board.open, key=lambda node: (board.loads[node], node))
    for to in rising:
        if board.counts[to] >= share:
            continue
        for source in reversed(rising):
            gap = board.loads[source] - board.loads[to]
            if gap <= limit:
                break
            if _is_too_busy(board, to, source, rules):
                continue
            fitting = [
                (abs(gap - 2 * board.weight(unit)), unit)
                for unit in _movable(board, source, to)
                if _is_worth(board.weight(unit), gap, limit)
            ]
            if fitting:
                return min(fitting)[1], source, to
    return None


def _is_too_busy(board: Board, to: str, source: str, rules: Rules) -> bool:
    """The host of `to` is full, and certainly fuller than that of `source`."""
    fullest = board.nodes[source].cpu_percent + CPU_NOISE_PERCENT
    return board.nodes[to].cpu_percent > max(rules.cpu_max_percent, fullest)


def _gains(board: Board, to: str, source: str, rules: Rules) -> bool:
    """A lead is cheaper there: on a host that is full it costs as much in any process."""
    one, other = board.nodes[source], board.nodes[to]
    is_full = other.cpu_percent > rules.cpu_max_percent
    return not (is_full and one.host == other.host) and not _is_too_busy(board, to, source, rules)


def _movable(board: Board, source: str, to: str) -> list[str]:
    """Units whose replica may go there, and stand no closer together for it."""
    return [
        unit
        for unit, targets in board.targets.items()
        if unit not in board.facts.staying
        and source in targets
        and to not in targets
        and not board.leaving[unit]
        and board.crowding(to if one == source else one for one in targets)
        <= board.crowding(targets)
    ]


def _is_worth(weight: int, gap: int, limit: int) -> bool:
    """It makes the gap smaller, and no new one that would soon be worth a move back."""
    return weight < gap and 2 * weight - gap <= limit // 2


def _level_leads(board: Board, rules: Rules) -> list[HandOver]:
    limit = _gap_limit(board, rules, lambda node: board.leads[node])
    leaders = dict(board.facts.leaders)
    found: list[HandOver] = []
    while len(found) < rules.max_moves:
        fitting = []
        for unit, targets in board.targets.items():
            if unit in board.facts.staying:
                continue
            leader, weight = leaders[unit], board.weight(unit)
            to = min(targets, key=lambda node: (board.leads[node], node))
            gap = board.leads[leader] - board.leads[to]
            if not (gap > limit and to in board.open and _is_worth(weight, gap, limit)):
                continue
            if _gains(board, to, leader, rules):
                fitting.append((-gap, abs(gap - 2 * weight), unit, to))
        if not fitting:
            break
        _, _, unit, to = min(fitting)
        found.append(_hand_over(board, unit, leaders[unit], to, Reason.LOAD))
        leaders[unit] = to
    return found
