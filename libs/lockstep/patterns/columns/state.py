"""The partial matches of a pattern in the reference's form (patterns.meaning), instance by
instance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

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
        self._asked: dict[int, dict[int, int]] = {}
        """By instance: when its timers are due, and the number of each that asked first."""
        self._waiting: list[tuple[int, int, int, int]] = []
        """Of loaded tokens, in order: key, token, side of the node, and when the wait ends."""

    def prepare(self, instances: int, *, opens: bool) -> None:
        """Before `stored`: brings the tokens in order; those that share an event share it still.
        `opens`: instances to which nothing came have begun, too."""
        self._events = [held.events() for held in self._held]
        self._tokens.tidy(instances, opens=opens)
        self._asked = {}
        timers = self._tokens.timers
        heap = timers.heap[: timers.counts[0]]
        for due_ms, number, owner in heap[np.argsort(heap[:, 1])].tolist():
            own = self._asked.setdefault(owner >> machine.KEY_SHIFT, {})
            own.setdefault(due_ms, number)

    # --- storing ---------------------------------------------------------------------------------

    def stored(self, realm: int) -> Any:
        """The tokens of an instance, and who waits at which node."""
        tokens = self._tokens
        numbers: dict[int, int] = {}
        places: list[Any] = []
        for index, node in enumerate(tokens.nodes):
            waiting = tokens.waiting(realm, index)
            pending = [numbers.setdefault(token, len(numbers)) for token in waiting]
            places.append((pending, [], self._dues(realm, node) if node[machine.LEADS] else None))
        return ([self._encoded(token) for token in numbers], places)

    def _dues(self, realm: int, node: Any) -> Any:
        """When the waits at the beginning end, as the node there stores it."""
        own = self._tokens.memory.keys[realm, machine.DUE :][:2].tolist()
        dues = [None if due == machine.NONE else due for due in own]
        return dues[0] if node[machine.KIND] == machine.ABSENCE else dues

    def asked(self, realm: int) -> list[tuple[int, int]]:
        """The timers of an instance, since `prepare`: when they are due, and a number that orders
        those that are due at once."""
        return sorted(self._asked.get(realm, {}).items())

    def _encoded(self, token: int) -> Any:
        row = self._tokens.memory.tokens[token].tolist()
        slots = [self._slot(token, slot) for slot in range(len(self._lists))]
        first_ms = None if row[machine.FIRST] == machine.NONE else row[machine.FIRST]
        fields = (machine.STAGE, machine.OWES, machine.WHERE, machine.SINCE, machine.SIDES)
        places = tuple(row[field] for field in fields)
        return (slots, row[machine.LAST], first_ms, places)

    def _slot(self, token: int, slot: int) -> StreamEvent | list[StreamEvent] | None:
        stream = int(self._tokens.stream_of[slot])
        events = [self._events[stream][place] for place in self._tokens.bound(token, slot)]
        if self._lists[slot]:
            return events or None
        return events[0] if events else None

    def all_stored(self) -> None:
        """What `prepare` read for `stored` goes: it is as large as all that is bound."""
        self._events = []

    # --- loading ---------------------------------------------------------------------------------

    def load(self, realm: int, state: Any) -> None:
        """Takes over what `stored` gave, or the reference."""
        encoded, places = state
        tokens = self._tokens
        tokens.memory.reserve(keys=realm + 1)
        tokens.memory.keys[realm, machine.BEGUN] = 1
        known: list[dict[int, int]] = [{} for _ in self._held]
        numbers = [self._decoded(realm, token, known) for token in encoded]
        for index, (pending, arriving, dues) in enumerate(places):
            for number in (*pending, *arriving):
                tokens.append(realm, numbers[number], index)
            self._wait(realm, index, [numbers[number] for number in (*pending, *arriving)], dues)

    def _wait(self, realm: int, index: int, waiting: Sequence[int], dues: Any) -> None:
        """Who stands at a node waits for time to pass, if one does so there."""
        memory, node = self._tokens.memory, self._tokens.nodes[index]
        if node[machine.LEADS]:
            ends = [dues, None] if node[machine.KIND] == machine.ABSENCE else dues
            own = [machine.NONE if due is None else due for due in ends]
            memory.keys[realm, machine.DUE : machine.DUE + 2] = own
            return
        for side in range(2):
            span = int(node[machine.WAIT + side])
            for token in waiting if span >= 0 else ():
                since = int(memory.tokens[token, machine.SINCE])
                if memory.tokens[token, machine.WHERE] == index:
                    self._waiting.append((realm, token, side, since + span))

    def ask(self, realm: int, asked: Sequence[tuple[int, int]]) -> None:
        """Takes over what `asked` gave; `loaded` has to follow when all are there."""
        self._asked[realm] = dict(asked)

    def loaded(self) -> None:
        """Everything is loaded: who waits asks anew, in the order in which it was asked for."""
        tokens, timers = self._tokens, self._tokens.timers
        entries: list[tuple[int, int, int, int, int]] = []
        for order, (realm, token, side, due_ms) in enumerate(self._waiting):
            number = self._asked.get(realm, {}).get(due_ms, 0)
            owner = (realm << machine.KEY_SHIFT) | token
            entries.append((due_ms, number, order, owner, side))
        for realm, own in self._asked.items():
            nobody = (realm << machine.KEY_SHIFT) | machine.NOBODY
            entries += [(due_ms, number, -1, nobody, 0) for due_ms, number in own.items()]
        for due_ms, _, _, owner, side in sorted(entries):
            ticket = int(tokens.memory.m[machine.NUMBER]) + 1
            tokens.memory.m[machine.NUMBER] = ticket
            timers.ask(due_ms, ticket, owner)
            token = owner & machine.NOBODY
            if token != machine.NOBODY:
                tokens.memory.tokens[token, machine.TICKET + side] = ticket
        self._asked, self._waiting = {}, []

    def _decoded(self, realm: int, encoded: Any, known: list[dict[int, int]]) -> int:
        slots, timestamp_ms, first_ms, (stage, owes, where, since, sides) = encoded
        tokens = self._tokens
        token = tokens.new_token()
        row, key = tokens.memory.tokens[token], tokens.memory.keys[realm]
        row[machine.LAST], row[machine.STAGE], row[machine.OWES] = timestamp_ms, stage, owes
        row[machine.WHERE], row[machine.SINCE], row[machine.SIDES] = where, since, sides
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
