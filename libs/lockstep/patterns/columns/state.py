"""The partial matches of a pattern in the reference's form (patterns.meaning), instance by
instance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lockstep.columns.held import HeldRows
from lockstep.operators.contract import StreamEvent
from lockstep.patterns.columns import token_kernel as machine
from lockstep.patterns.columns.comparing import Compared
from lockstep.patterns.columns.machine import PatternMachine


class PatternState:
    """Converts tokens and the events they have bound; `held` are those by stream, `lists` tells
    which slots collect."""

    def __init__(
        self,
        tokens: PatternMachine,
        held: Sequence[HeldRows],
        compared: Compared,
        lists: Sequence[bool],
    ) -> None:
        self._tokens = tokens
        self._held = held
        self._compared = compared
        self._lists = lists
        self._events: list[dict[int, StreamEvent]] = []

    def prepare(self, instances: int) -> None:
        """Before `stored`: brings the tokens in order; those that share an event share it still."""
        self._events = [{} for _ in self._held]
        self._tokens.tidy(instances)

    # --- storing ---------------------------------------------------------------------------------

    def stored(self, realm: int) -> Any:
        """The tokens of an instance, and who waits at which node."""
        tokens = self._tokens
        numbers: dict[int, int] = {}
        places: list[Any] = []
        for index, node in enumerate(tokens.nodes):
            waiting = tokens.waiting(realm, index)
            pending = [numbers.setdefault(token, len(numbers)) for token in waiting]
            places.append((pending, [], [None, None] if node[machine.LEADS] else None))
        return ([self._encoded(token) for token in numbers], places)

    def _encoded(self, token: int) -> Any:
        row = self._tokens.memory.tokens[token].tolist()
        slots = [self._slot(token, slot) for slot in range(len(self._lists))]
        first_ms = None if row[machine.FIRST] == machine.NONE else row[machine.FIRST]
        places = (row[machine.STAGE], row[machine.OWES], row[machine.WHERE], -1, row[machine.SIDES])
        return (slots, row[machine.LAST], first_ms, places)

    def _slot(self, token: int, slot: int) -> StreamEvent | list[StreamEvent] | None:
        stream = int(self._tokens.stream_of[slot])
        events = [self._event(stream, place) for place in self._tokens.bound(token, slot)]
        if self._lists[slot]:
            return events or None
        return events[0] if events else None

    def _event(self, stream: int, place: int) -> StreamEvent:
        known = self._events[stream]
        found = known.get(place)
        if found is None:
            found = known[place] = self._held[stream].event(place)
        return found

    # --- loading ---------------------------------------------------------------------------------

    def load(self, realm: int, state: Any) -> None:
        """Takes over what `stored` gave, or the reference."""
        encoded, places = state
        tokens = self._tokens
        tokens.memory.reserve(keys=realm + 1)
        tokens.memory.keys[realm, machine.BEGUN] = 1
        known: list[dict[int, int]] = [{} for _ in self._held]
        numbers = [self._decoded(realm, token, known) for token in encoded]
        for index, (pending, arriving, _) in enumerate(places):
            for number in (*pending, *arriving):
                tokens.append(realm, numbers[number], index)

    def _decoded(self, realm: int, encoded: Any, known: list[dict[int, int]]) -> int:
        slots, timestamp_ms, first_ms, (stage, owes, where, _, sides) = encoded
        tokens = self._tokens
        token = tokens.new_token()
        row, key = tokens.memory.tokens[token], tokens.memory.keys[realm]
        row[machine.LAST], row[machine.STAGE], row[machine.OWES] = timestamp_ms, stage, owes
        row[machine.WHERE], row[machine.SIDES] = where, sides
        row[machine.FIRST] = machine.NONE if first_ms is None else first_ms
        row[machine.EXPIRES] = machine.FAR
        if first_ms is not None and tokens.within_ms >= 0:
            row[machine.EXPIRES] = first_ms + tokens.within_ms
            key[machine.OLDEST] = min(key[machine.OLDEST], first_ms)
            key[machine.YOUNGEST] = max(key[machine.YOUNGEST], first_ms)
        if owes != -1 and tokens.spans[owes, 0] == 0:
            key[machine.OWING] = token
        key[machine.LIVED] += 1
        for slot, bound in enumerate(slots):
            events = (
                bound if isinstance(bound, (list, tuple)) else () if bound is None else (bound,)
            )
            for event in events:
                tokens.bind(token, slot, self._placed(int(tokens.stream_of[slot]), event, known))
        return token

    def _placed(self, stream: int, event: StreamEvent, known: list[dict[int, int]]) -> int:
        place = known[stream].get(id(event))
        if place is None:
            held = self._held[stream]
            place = held.add_event(event)
            self._tokens.memory.reserve(places=held.places.capacity)
            self._compared.hold(stream, held, place)
            known[stream][id(event)] = place
        return place
