"""Partitions on columns: a unit that routes, and the inner queries' units, which hold all instances
at once (semantics 15)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from lockstep.columns.chunks import Chunks, empty, joined_orders, lengths_of, spread
from lockstep.columns.column import Array, Index, Mask, Unfit
from lockstep.columns.frame import Evaluate, Frame
from lockstep.columns.keys import Ids, partition_names
from lockstep.columns.merging import counts_before, merged
from lockstep.columns.moves import Moves
from lockstep.columns.order import IN_FRONT, Order
from lockstep.columns.output import Output
from lockstep.columns.realms import Realms
from lockstep.columns.rule import routed
from lockstep.columns.shards import Shard
from lockstep.columns.units import States
from lockstep.events import AttributeType

Condition = Callable[[Frame], Mask]
MAX_COPIES: Final = 4_000_000
"""Copies of events that a broadcast may make in a slice. Beyond that the reference folds the slice,
which holds those of one instance at a time."""


@dataclass(frozen=True, slots=True)
class Ranges:
    """Conditions with the keys of those that fulfil them: an event may have several, or none."""

    cases: Sequence[Condition]
    labels: Sequence[str]

    def of(self, frame: Frame) -> tuple[Index, Index, list[str]]:
        """(events, codes, keys): each event with each of its keys, in order."""
        fulfilled = np.stack([case(frame) for case in self.cases], axis=1)
        events, cases = np.nonzero(fulfilled)
        known, firsts, codes = np.unique(cases, return_index=True, return_inverse=True)
        # Instances are numbered in the order in which they appear.
        order = np.argsort(firsts)
        return events, np.argsort(order)[codes], [self.labels[known[at]] for at in order]


class Router:
    """Cuts the chunks of one stream at key changes and tells each part's instance; of `Ranges` each
    event is a part. Events with a null key are dropped, and with a key of another shard, where the
    app is cut into shards."""

    shows_timers = False
    is_observed = False

    def __init__(
        self, partition: str, place: int, source: str, key: Evaluate | Ranges, realms: Realms
    ) -> None:
        self.name = f"{partition} of {source}"
        self.place = place
        self.reads: tuple[str, ...] = (source,)
        self.writes = routed(partition, source)
        self._key = key
        self._realms = realms
        self.shard: Shard | None = None

    def run(self, inputs: Mapping[str, Chunks], moves: Moves) -> Output:
        chunks = inputs[self.reads[0]]
        if isinstance(self._key, Ranges):
            return self._by_range(self._key, chunks)
        column = self._key(chunks.rows())
        if column.nulls is not None and column.nulls.any():
            present = ~column.nulls
            chunks, column = chunks.keep(present), column.keep(present)
        codes, keys = partition_names(column)
        realm = self._assign(codes, keys) if len(column) else np.zeros(0, np.int64)
        chunk_of = chunks.chunk_of
        changes = (chunk_of[1:] != chunk_of[:-1]) | (realm[1:] != realm[:-1])
        firsts = np.flatnonzero(np.append(np.ones(min(len(realm), 1), np.bool_), changes))
        return self._routed(chunks, chunk_of, firsts, realm)

    def _by_range(self, ranges: Ranges, chunks: Chunks) -> Output:
        events, codes, keys = ranges.of(chunks.rows())
        realm = self._assign(codes, keys) if len(events) else np.zeros(0, np.int64)
        columns = tuple(column.take(events) for column in chunks.columns)
        picked = replace(chunks, columns=columns, times=chunks.times[events])
        firsts = np.arange(len(events), dtype=np.int64)
        return self._routed(picked, chunks.chunk_of[events], firsts, realm)

    def _routed(self, chunks: Chunks, chunk_of: Index, firsts: Index, realm: Ids) -> Output:
        """The events in parts that begin at `firsts`; `chunk_of` tells the chunk of each event."""
        source = chunk_of[firsts]
        starts = np.append(firsts, len(realm)).astype(np.int64)
        order = chunks.order.take(source).below(self.place, np.arange(len(firsts), dtype=np.int64))
        routed = Chunks(
            chunks.columns, chunks.times, starts, order, chunks.now[source], realm[firsts]
        )
        # Places were given to all, so that they compare between shards.
        return Output(routed if self.shard is None else routed.keep(realm >= 0))

    def _assign(self, codes: Array, keys: Sequence[Hashable]) -> Ids:
        if self.shard is None:
            return self._realms.keys.assign(codes, keys)
        return self.shard.assign(self._realms.keys, codes, keys)

    def settle(self) -> None:
        """See Unit."""

    def due_ms(self) -> int | None:
        return None

    def store(self, states: States) -> None:
        """The instances; when they were last used matters only to @purge, which has no such
        form."""
        keys = [(str(key), 0) for key in self._realms.keys.keys]
        states.operators[self._realms.instances_path] = keys
        for path, state in self._realms.fresh_instances().items():
            states.operators.setdefault(path, state)

    def load(self, states: States) -> None:
        for key, _ in states.operators[self._realms.instances_path]:
            if self.shard is None or self.shard.owns(key):
                self._realms.keys.id_of(key)

    def text_columns(self) -> list[Any]:
        return []


class Broadcast:
    """Brings the chunks of a stream that has no key to each instance that is there by then, in the
    order in which the instances were made."""

    shows_timers = False
    is_observed = False

    def __init__(
        self,
        partition: str,
        place: int,
        source: str,
        types: Sequence[AttributeType],
        keyed: Sequence[str],
        realms: Realms,
    ) -> None:
        """`types` are those of the stream; `keyed`: the streams whose events make instances."""
        self.name = f"{partition} of {source}"
        self.place = place
        self._source = source
        self._types = types
        self._routed = tuple(routed(partition, stream) for stream in keyed)
        self.reads: tuple[str, ...] = (source, *self._routed)
        self.writes = routed(partition, source)
        self._realms = realms
        self._made: list[int] = []
        """The instances, in the order in which they were made."""

    def run(self, inputs: Mapping[str, Chunks], moves: Moves) -> Output:
        there = len(self._made)
        when = self._new(inputs)
        chunks = inputs.get(self._source)
        if chunks is None:
            return Output(empty(self._types, keyed=True))
        counts = np.full(chunks.count, there, np.int64)
        if when is not None:
            counts += counts_before(when, chunks.order.below(self.place, 0))
        if int(counts @ lengths_of(chunks.starts)) > MAX_COPIES:
            raise Unfit(f"{self.name}: more than {MAX_COPIES:,} copies for its instances")
        source = np.repeat(np.arange(chunks.count, dtype=np.int64), counts)
        events, starts = spread(chunks.starts, source)
        rank = np.arange(len(source), dtype=np.int64) - np.repeat(
            np.cumsum(counts) - counts, counts
        )
        copies = Chunks(
            tuple(column.take(events) for column in chunks.columns),
            chunks.times[events],
            starts,
            chunks.order.take(source).below(self.place, rank),
            chunks.now[source],
            np.array(self._made, np.int64)[rank],
        )
        return Output(copies)

    def _new(self, inputs: Mapping[str, Chunks]) -> Order | None:
        """When each instance was made that was not there before, in order."""
        known = np.zeros(len(self._realms.keys), np.bool_)
        known[self._made] = True
        realms: list[Ids] = []
        orders: list[Order] = []
        for name in self._routed:
            chunks = inputs.get(name)
            if chunks is None or chunks.keys is None:
                continue
            fresh = np.flatnonzero(~known[chunks.keys])
            found, firsts = np.unique(chunks.keys[fresh], return_index=True)
            realms.append(found)
            # An instance is there before anything comes of the part that made it.
            orders.append(chunks.order.take(fresh[firsts]).below(IN_FRONT))
        if not sum(map(len, realms)):
            return None
        order, permutation = joined_orders(orders), merged(orders)
        # An instance that several streams reach was made by the first.
        inside = np.concatenate(realms)[permutation]
        firsts = np.sort(np.unique(inside, return_index=True)[1])
        self._made += inside[firsts].tolist()
        return order.take(permutation[firsts])

    def settle(self) -> None:
        """See Unit."""

    def due_ms(self) -> int | None:
        return None

    def store(self, states: States) -> None:
        """The instances in the order in which they were made, which their routers do not know."""
        keys = self._realms.keys.keys
        states.operators[self._realms.instances_path] = [(str(keys[i]), 0) for i in self._made]

    def load(self, states: States) -> None:
        keys = states.operators[self._realms.instances_path]
        self._made = [self._realms.keys.id_of(key) for key, _ in keys]

    def text_columns(self) -> list[Any]:
        return []
