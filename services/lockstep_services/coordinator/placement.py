"""Which processors carry which unit: a pure decision from who lives, what is wanted, what is placed
and how it is doing there.

Stable: the same facts change nothing, and a living node keeps what it has unless a move is worth
it. A silent one stays placed until a living one can take its place. Level: new replicas go where
least load is, and to hosts and zones that have none. Ties go by name, so that the same facts give
the same answer anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from lockstep_services.coordinator.board import (
    Board,
    Facts,
    HandOver,
    Move,
    Node,
    Reason,
    Rules,
    Wanted,
)
from lockstep_services.coordinator.moving import begin_moves, end_moves

FORESEEN_ROUNDS_MAX: Final = 10_000


@dataclass(frozen=True, slots=True)
class Placed:
    """A changed placement: nodes in order, the preferred leader first; without nodes it goes."""

    app: str
    nodes: tuple[str, ...]
    reason: Reason


@dataclass(frozen=True, slots=True)
class Decision:
    """What has to change now. `moves`: those that begin, for the sake of which something is placed
    anew."""

    placed: tuple[Placed, ...] = ()
    hand_overs: tuple[HandOver, ...] = ()
    moves: tuple[Move, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.placed or self.hand_overs)

    @property
    def levels(self) -> bool:
        """Something moves for the sake of levelness alone."""
        return bool(self.levelled)

    @property
    def levelled(self) -> frozenset[str]:
        """The units that move for its sake."""
        moved = [one.app for one in self.moves if one.reason is Reason.LOAD]
        handed = [one.app for one in self.hand_overs if one.reason is Reason.LOAD]
        return frozenset(moved + handed)


def decide(facts: Facts, rules: Rules) -> Decision:
    """Nothing new is placed while fewer than `min_processors` may carry it."""
    board = Board(facts)
    hand_overs = end_moves(board)
    if len(board.open) >= rules.min_processors:
        _fill(board)
    if rules.may_move:
        hand_overs += begin_moves(board, rules)
    return Decision(tuple(_changes(board)), tuple(hand_overs), tuple(board.moves))


def _fill(board: Board) -> None:
    for unit, replicas in board.wanted.items():
        while len(board.targets[unit]) < replicas:
            node = board.best(unit)
            if node is None:
                break
            board.add(unit, node)


def _changes(board: Board) -> Iterator[Placed]:
    placements = board.facts.placements
    for unit in sorted(placements):
        if unit not in board.wanted:
            yield Placed(unit, (), Reason.APP_REMOVED)
    for unit in board.wanted:
        before, after = tuple(placements.get(unit, ())), board.after(unit)
        if after != before:
            yield Placed(unit, after, board.reasons.get(unit) or _reason(board, unit, before))


def _reason(board: Board, unit: str, before: Sequence[str]) -> Reason:
    if not before:
        return Reason.NEW_APP
    if any(node not in board.nodes for node in before):
        return Reason.NODE_LOST
    is_complete = len(before) >= board.wanted[unit]
    return Reason.REPLICAS_CHANGED if is_complete else Reason.NODE_JOINED


def foresee(facts: Facts, rules: Rules) -> tuple[list[Move], Facts]:
    """The moves up to rest, and what is then, if everything that is placed gets ready at once."""
    moves: list[Move] = []
    facts = _as_if_ready(facts)
    for _ in range(FORESEEN_ROUNDS_MAX):
        decision = decide(facts, rules)
        if not decision:
            break
        moves += decision.moves
        placements, leaders = dict(facts.placements), dict(facts.leaders)
        for placed in decision.placed:
            placements[placed.app] = placed.nodes
            if not placed.nodes:
                del placements[placed.app]
        for one in decision.hand_overs:
            leaders[one.app] = one.to
            if one.reason is not Reason.RELEASED:
                moves.append(Move(one.app, one.leader, one.to, one.reason, lead=True))
        facts = _as_if_ready(replace(facts, placements=placements, leaders=leaders))
    return moves, facts


def _as_if_ready(facts: Facts) -> Facts:
    """Living nodes carry what is placed on them, and one of them leads."""
    living = {node.name for node in facts.nodes}
    ready = {
        unit: frozenset(node for node in nodes if node in living)
        for unit, nodes in facts.placements.items()
    }
    leaders = {}
    for unit, nodes in facts.placements.items():
        carrying = [node for node in nodes if node in living]
        if carrying:
            leader = facts.leaders.get(unit)
            leaders[unit] = leader if leader in carrying else carrying[0]
    return replace(facts, ready=ready, leaders=leaders)


def unready(facts: Facts) -> list[str]:
    """The units for which rebalancing waits."""
    board = Board(facts)
    placed = facts.placements
    return [
        unit
        for unit in board.wanted
        if board.leaving[unit]
        or not board.is_ready(unit)
        or any(node not in board.nodes for node in placed.get(unit, ()))
    ]


def waiting_for(
    one: Wanted, placed: Iterable[str], nodes: Sequence[Node], *, min_processors: int
) -> str | None:
    """What the replicas of a unit wait for that nobody carries; None: for nothing."""
    living = {node.name for node in nodes}
    missing = one.replicas - sum(node in living for node in placed)
    there = sum(not node.is_drained for node in nodes)
    if missing <= 0:
        return None
    if there < min_processors:
        return (
            f"{_processors(min_processors - there)}:"
            f" {there} of coordinator.min_processors = {min_processors} can take replicas"
        )
    if there < one.replicas:
        return (
            f"{_processors(one.replicas - there)}: {missing} of {one.replicas} replicas have no"
            " processor of their own"
        )
    return None


def _processors(count: int) -> str:
    return "1 more processor" if count == 1 else f"{count} more processors"
