"""Batches on columns: rows are collected and leave together, `[expired][RESET][current]` (semantics
7), for each realm by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lockstep.columns.chunks import lengths_of
from lockstep.columns.column import Longs
from lockstep.columns.compiled import plain
from lockstep.columns.flow import Flow
from lockstep.columns.growing import GrowingArray
from lockstep.columns.held import HeldRows
from lockstep.columns.order import Order
from lockstep.columns.stored import events_of, parts_of
from lockstep.windows import batching_kernel as batching
from lockstep.windows import sliding_kernel as sliding
from lockstep.windows.contract import Setup, Step


@dataclass(frozen=True, eq=False)
class Closings:
    """When batches close: behind so many events of the slice, whose (the realm), where, at which
    clock, and which time expired rows get. `again`: whether the last batch comes out once more with
    this one (empty: none does)."""

    at: Longs
    realms: Longs
    order: Order
    now: Longs
    time: Longs
    again: Longs = field(default_factory=lambda: np.zeros(0, np.int64))


class Batches:
    """See ColumnarWindow. Subclasses say when batches close."""

    slides = False
    in_order = True
    resets = True
    shows_timers = False
    hears_timers = False

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.held: HeldRows = HeldRows(setup.types, setup.pool, extras=1)
        self.collecting = np.zeros((0, 3), np.int64)
        self.last = np.zeros((0, 3), np.int64)
        self._newer = GrowingArray(np.int64)
        self._free = np.zeros(0, np.int64)

    def closings(self, step: Step, keys: Longs) -> Closings:
        """When batches close in this slice, whose chunks are of the realms `keys`."""
        raise NotImplementedError

    def reserve(self, realms: int) -> None:
        """Makes room for the state of so many realms."""
        self.collecting = grown_lines(self.collecting, realms)
        self.last = grown_lines(self.last, realms)

    def make_room(self) -> None:
        """Makes room for what is kept by place."""
        self._newer.reserve(len(self.held.times))

    def enter(self, step: Step) -> tuple[Longs, int, Longs]:
        """(the realm of each chunk, how many rows were held, the places of the slice's events,
        which are held from now on)."""
        chunks = step.chunks
        keys = np.zeros(chunks.count, np.int64) if chunks.keys is None else chunks.keys
        self.reserve(int(keys.max()) + 1 if len(keys) else 1)
        inside = len(self.held)
        places = self.held.add(chunks.columns, chunks.times, [step.groups])
        self.make_room()
        return plain(keys, np.int64), inside, places

    def flow(self, step: Step) -> Flow:
        keys, inside, places = self.enter(step)
        closed = self.closings(step, keys)
        *made, self._free = batching.batches(
            plain(step.chunks.per_event(keys), np.int64),
            places,
            plain(closed.at, np.int64),
            plain(closed.realms, np.int64),
            plain(closed.again, np.int64),
            self.setup.wants_expired,
            inside,
            self.collecting,
            self.last,
            self._newer.values,
        )
        return self.left(step, made, closed.order, closed.now, closed.time, closed.realms)

    def left(
        self, step: Step, made: Any, order: Order, now: Longs, time: Longs, realms: Longs
    ) -> Flow:
        """The flow of what a kernel `made`: kinds, places and the offsets of the chunks."""
        kind, place, offsets = made
        row = np.full(len(kind), -1, np.int64)
        times = np.repeat(time, lengths_of(offsets))
        keys = None if step.chunks.keys is None else realms
        return Flow(step.chunks, offsets, order, now, row, kind, place, times, self.held, keys)

    def settle(self) -> None:
        self.held.places.give_back(self._free)
        self._free = np.zeros(0, np.int64)

    def due_ms(self) -> int | None:
        return None

    # --- state -----------------------------------------------------------------------------------

    @property
    def links(self) -> tuple[Longs, Longs]:
        """What links the last batches, and what is collected."""
        return self._newer.values, self._newer.values

    def inside(self, realm: int) -> Longs:
        """See ColumnarWindow: aggregates hold the last batch."""
        return _followed(self.last, self.links[0], realm)

    def waiting(self, realm: int) -> Longs:
        """The places of the rows that are collected."""
        return _followed(self.collecting, self.links[1], realm)

    def keeps(self, realm: int) -> Longs:
        return np.concatenate([self.inside(realm), self.waiting(realm)])

    def store(self, realm: int) -> Any:
        self.reserve(realm + 1)
        return tuple(
            events_of(self.held, each) for each in (self.inside(realm), self.waiting(realm))
        )

    def load(self, realm: int, state: Any, groups: Callable[..., Any]) -> None:
        self.reserve(realm + 1)
        for number, (chains, events) in enumerate(
            zip((self.last, self.collecting), state, strict=True)
        ):
            for times, columns in parts_of(events, self.setup.types):
                if len(times):
                    places = self.held.add(columns, times, [groups(columns, times, realm)])
                    self.make_room()
                    _append(chains[realm], self.links[number], places)

    def timers(self, realm: int) -> list[tuple[int, int]]:
        return []


class PassingBatches(Batches):
    """Batches whose events pass at once; when one closes they leave together, `[expired][RESET]`.
    What is collected is what the aggregates hold."""

    def inside(self, realm: int) -> Longs:
        return self.waiting(realm)

    def keeps(self, realm: int) -> Longs:
        return self.waiting(realm)

    def passed(
        self, step: Step, lines: Any, offsets: Longs, order: Order, now: Longs, realms: Longs
    ) -> Flow:
        """The flow of what a kernel made: `lines` are the kind, row, place and time of each row."""
        keys = None if step.chunks.keys is None else realms
        kind, row, place, time = lines
        return Flow(step.chunks, offsets, order, now, row, kind, place, time, self.held, keys)

    def store_collected(self, realm: int) -> Any:
        """What is collected, in the reference's form."""
        self.reserve(realm + 1)
        return events_of(self.held, self.waiting(realm))

    def load_collected(self, realm: int, events: Any, groups: Callable[..., Any]) -> None:
        """Takes over what `store_collected` gave."""
        super().load(realm, ((), events), groups)


def _append(chain: Longs, links: Longs, places: Longs) -> None:
    links[places[:-1]] = places[1:]
    links[places[-1]] = -1
    head, tail, count = chain.tolist()
    if count:
        links[tail] = places[0]
    chain[:] = head if count else places[0], places[-1], count + len(places)


def _followed(chains: Longs, links: Longs, realm: int) -> Longs:
    if realm >= len(chains):
        return np.zeros(0, np.int64)
    found: Longs = sliding.follow(chains[realm, 0], links, chains[realm, 2])
    return found


def grown_lines(values: Longs, lines: int, fill: int = 0) -> Longs:
    """The table with room for so many lines."""
    if len(values) >= lines:
        return values
    bigger = np.full((max(lines, 2 * len(values)), values.shape[1]), fill, np.int64)
    bigger[: len(values)] = values
    return bigger
