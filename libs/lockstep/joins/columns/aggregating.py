"""Equi-joins of two windows with aggregates or groups: pairs that leave are seen by the aggregates
(semantics 9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lockstep.columns.chunks import Chunks
from lockstep.columns.column import Longs, Mask
from lockstep.columns.compiled import plain
from lockstep.columns.flow import RESET
from lockstep.columns.frame import Rows
from lockstep.columns.moves import Moves
from lockstep.columns.output import Output
from lockstep.columns.played import Played, play, present
from lockstep.columns.pool import StringPool
from lockstep.columns.realms import Realms
from lockstep.columns.units import States, Timer
from lockstep.joins.columns import aggregating_kernel as changing
from lockstep.joins.columns import kernel as joining
from lockstep.joins.columns.sides import Arrivals, JoinedWindows, JoinSide, refuse_if
from lockstep.operators.limits import allowed
from lockstep.plan import QueryNode
from lockstep.plan.paths import query_path
from lockstep.selection.columns import SelectorOperator
from lockstep.selection.state import SelectorState
from lockstep.streams.columns import Condition


@dataclass(frozen=True, eq=False)
class Changes:
    """Pairs that come and go. Per trigger as in kernels.changing; per pair its trigger and the
    place of the row it meets, -1 for nobody."""

    triggers: Longs
    trigger: Longs
    met: Longs

    @property
    def kinds(self) -> Longs:
        """The kind of each pair."""
        kinds: Longs = self.triggers[self.trigger, 0]
        return kinds

    def take(self, index: Longs) -> Changes:
        """Some of the pairs."""
        return Changes(self.triggers, self.trigger[index], self.met[index])


class ChangingWindows(JoinedWindows):
    """Both windows, with the timers that wait for them."""

    def __init__(self, sides: tuple[JoinSide, JoinSide], pool: StringPool) -> None:
        super().__init__(sides, pool)
        self._waiting = np.zeros((2, 0, 2), np.int64)
        self._counts = np.zeros(3, np.int64)

    def change(self, arrivals: Arrivals, played: Played, moves: Moves) -> Changes:
        """What the events and the timers of a slice bring."""
        held = int(self._counts[:2].max())
        waiting = np.zeros((2, held + len(played) + 1, 2), np.int64)
        waiting[:, :held] = self._waiting[:, :held]
        triggers, pairs, left, over = changing.change_joined(
            self._events(arrivals, played, moves),
            changing.Clock(plain(moves.clock, np.int64), moves.before, moves.leaps, allowed(0)),
            self._both(),
            self._chains(),
            waiting,
            self._counts,
            len(played) + int(self._ends[:, 2].sum()),
        )
        refuse_if(over)
        self._waiting = waiting
        for number in range(2):
            self._left.append((number, left[left[:, 0] == number, 1]))
        return Changes(triggers, pairs[:, 0], pairs[:, 1])

    def timers(self, number: int) -> list[tuple[int, int]]:
        """(due time, number) of the timers that wait for a side."""
        lines = self._waiting[number, : self._counts[number]].tolist()
        return [(due_ms, sequence) for due_ms, sequence in lines]

    def load_timers(self, timers: list[list[tuple[int, int]]]) -> None:
        """Takes over what `timers` gave for both sides."""
        self._waiting = np.zeros((2, max(map(len, timers)), 2), np.int64)
        for number, own in enumerate(timers):
            for line, timer in enumerate(sorted(own)):
                self._waiting[number, line] = timer
            self._counts[number] = len(own)
        self._counts[2] = max((each[1] for own in timers for each in own), default=0)


class AggregatingJoin:
    """See Unit. `condition` is what has to hold beside equal keys."""

    shows_timers = False
    hears_timers = True
    is_observed = True

    def __init__(
        self,
        node: QueryNode,
        place: int,
        sides: tuple[JoinSide, JoinSide],
        condition: Condition | None,
        selector: SelectorOperator,
        realms: Realms,
        pool: StringPool,
    ) -> None:
        self.name = node.name
        self.place = place
        self.writes = node.writes
        self.reads: tuple[str, ...] = (sides[0].stream, sides[1].stream)
        self._sides = sides
        self._condition = condition
        self._selector = selector
        self._selecting = SelectorState(node.name, realms, selector)
        self._windows = ChangingWindows(sides, pool)

    # --- folding ---------------------------------------------------------------------------------

    def run(self, inputs: Mapping[str, Chunks], moves: Moves) -> Output:
        filtered: dict[str, Chunks] = {}
        for side in self._sides:
            chunks = inputs.get(side.stream)
            if chunks is None:
                chunks = Output.nothing(side.types).chunks
            filtered[side.stream] = side.passed(chunks)
        played = play(present(filtered, self.reads), self.place)
        arrivals = self._windows.arrive(filtered, played)
        changes = self._windows.change(arrivals, played, moves)
        if self._condition is not None:
            whole = self._frame(filtered, played, changes)
            stays = self._condition(whole) | (changes.kinds == RESET)
            changes = changes.take(np.flatnonzero(stays))
        changes = self._with_unmatched(changes)
        frame = self._frame(filtered, played, changes)
        events = changes.triggers[changes.trigger, 3]
        # What a timer brings is in no event's step; it becomes no row either.
        steps = played.chunk_of[np.maximum(events, 0)] if len(played) else events
        return self._selector.run_changes(
            frame, changes.kinds, changes.trigger, steps, played.order, played.now
        )

    def _frame(self, streams: Mapping[str, Chunks], played: Played, changes: Changes) -> Rows:
        triggers = changes.triggers[changes.trigger]
        by_left = triggers[:, 1] == 0
        refs = [np.where(by_left == (n == 0), triggers[:, 2], changes.met) for n in range(2)]

        def find(slot: int, attribute: int) -> Any:
            if self._sides[slot].window != joining.NONE:
                return self._windows.held[slot].column(attribute, refs[slot])
            own = refs[slot]
            rows = np.full(len(own), -1, np.int64)
            rows[own >= 0] = played.row[own[own >= 0]]
            return streams[self._sides[slot].stream].columns[attribute].take(rows)

        def absent(slot: int) -> Mask | None:
            gone: Mask = refs[slot] < 0
            return gone if gone.any() else None

        return Rows(len(refs[0]), find, lambda: triggers[:, 4], lambda: triggers[:, 5], absent)

    def _with_unmatched(self, changes: Changes) -> Changes:
        """Outer joins: triggers of a preserved side that meet nobody stand alone."""
        outer = np.array([side.is_outer for side in self._sides])
        lonely = outer[changes.triggers[:, 1]]
        lonely[changes.trigger] = False
        alone = np.flatnonzero(lonely)
        if not len(alone):
            return changes
        trigger = np.concatenate([changes.trigger, alone])
        met = np.concatenate([changes.met, np.full(len(alone), -1, np.int64)])
        arranged = np.argsort(trigger, kind="stable")
        return Changes(changes.triggers, trigger[arranged], met[arranged])

    def settle(self) -> None:
        self._windows.settle()
        self._selector.forget_groups()

    def due_ms(self) -> int | None:
        due = [due_ms for number in range(2) for due_ms, _ in self._windows.timers(number)]
        return min(due, default=None)

    # --- state -----------------------------------------------------------------------------------

    def text_columns(self) -> list[Any]:
        return [column for held in self._windows.held for column in held.text_columns()]

    def store(self, states: States) -> None:
        self._selecting.prepare()
        states.operators[f"{query_path(self.name)}/selector"] = self._selecting.stored(0)
        for number, path in self._paths():
            states.operators[path] = self._windows.stored(number)
            timers = self._windows.timers(number)
            states.timers += [Timer(due_ms, path, sequence) for due_ms, sequence in timers]

    def load(self, states: States) -> None:
        self._selecting.load(0, states.operators[f"{query_path(self.name)}/selector"])
        timers: list[list[tuple[int, int]]] = [[], []]
        for number, path in self._paths():
            self._windows.load(number, states.operators[path])
            timers[number] = [(t.due_ms, t.sequence) for t in states.timers if t.path == path]
        self._windows.load_timers(timers)
        self._selecting.reserve()

    def _paths(self) -> list[tuple[int, str]]:
        return [
            (number, f"{query_path(self.name)}/{side.path}")
            for number, side in enumerate(self._sides)
            if side.window != joining.NONE
        ]
