"""The partial matches of a chain in the reference's form (patterns.meaning), instance by
instance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lockstep.columns.arithmetic import as_type
from lockstep.columns.column import Column, Strings
from lockstep.columns.frame import Rows
from lockstep.columns.held import HeldRows
from lockstep.columns.pool import StringPool
from lockstep.operators.contract import StreamEvent
from lockstep.patterns.chains.tokens import Tokens
from lockstep.patterns.conditions import Comparison

_FRESH = (-1, 0, -1, -1, 0)
"""Stage, owed span, place, since, sides of the token that waits at the beginning."""


def comparable(column: Column, comparison: Comparison, pool: StringPool) -> tuple[Any, Any]:
    """(whole or floating numbers that compare as the values do, where they are null)."""
    if isinstance(column, Strings):
        return pool.adopt(column).values.astype(np.int64), column.nulls
    if not comparison.type.is_numeric:
        return column.values.astype(np.int64), column.nulls
    values = as_type(column, comparison.type)
    return values.astype(np.float64 if values.dtype.kind == "f" else np.int64), column.nulls


class ChainState:
    """Converts tokens and the events they have bound; `held` are those by slot."""

    def __init__(
        self,
        tokens: Tokens,
        held: Sequence[HeldRows],
        comparisons: Sequence[Comparison],
        pool: StringPool,
    ) -> None:
        self._tokens = tokens
        self._held = held
        self._comparisons = comparisons
        self._pool = pool
        self._events: list[dict[int, StreamEvent]] = []

    def prepare(self) -> None:
        """Before `stored`: tokens that share what they bound share the event."""
        self._events = [held.events() for held in self._held]
        self._tokens.arrange()

    def stored(self, realm: int) -> Any:
        """The tokens of an instance, and who waits at which node."""
        slots = self._tokens.states
        encoded: list[Any] = [([None] * slots, -1, None, _FRESH)]
        places: list[Any] = [([0], [], None)]
        for state in range(1, slots):
            numbers = []
            for token in self._tokens.waiting(state, realm).tolist():
                refs = self._tokens.refs[:state, token].tolist()
                bound = [self._events[slot][-ref - 2] for slot, ref in enumerate(refs)]
                numbers.append(len(encoded))
                first_ms = int(self._tokens.first[token])
                whole = [*bound, *([None] * (slots - state))]
                standing = self._tokens.standing(state, token)
                encoded.append((whole, bound[-1].timestamp_ms, first_ms, standing))
            places.append((numbers, [], None))
        return (encoded, places)

    def all_stored(self) -> None:
        """What `prepare` read for `stored` goes: it is as large as all that is bound."""
        self._events = []

    def load(self, realm: int, state: Any) -> None:
        """Takes over what `stored` gave."""
        encoded, places = state
        known: list[dict[int, int]] = [{} for _ in self._held]
        for index, (pending, arriving, _) in enumerate(places):
            for number in (*pending, *arriving) if index else ():
                slots, _, first_ms, standing = encoded[number]
                token = self._tokens.add(index, realm, first_ms)
                self._tokens.stands(token, standing)
                for slot in range(index):
                    place = self._placed(slot, slots[slot], known[slot])
                    self._tokens.refs[slot, token] = -place - 2
                    self._compare_later(slot, token, place)

    def _placed(self, slot: int, event: StreamEvent, known: dict[int, int]) -> int:
        place = known.get(id(event))
        if place is None:
            place = known[id(event)] = self._held[slot].add_event(event)
        return place

    def _compare_later(self, slot: int, token: int, place: int) -> None:
        """What later states compare with of a bound event."""
        tokens, held = self._tokens, self._held[slot]
        places = np.array([place], np.int64)
        frame = Rows(1, lambda _, i: held.column(i, places), lambda: places, lambda: places)
        for c, comparison in enumerate(self._comparisons):
            if comparison.bound.slot != slot:
                continue
            values, nulls = comparable(comparison.other(frame), comparison, self._pool)
            kept = tokens.held
            target = kept.floating if values.dtype.kind == "f" else kept.whole
            target[c, token] = values[0]
            kept.null[c, token] = nulls is not None and nulls[0]
