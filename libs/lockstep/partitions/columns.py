"""Partitions on columns: a unit that routes, and the inner queries' units, which hold all instances
at once (semantics 15)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lockstep.columns.chunks import Chunks
from lockstep.columns.column import Array, Index, Mask
from lockstep.columns.frame import Evaluate, Frame
from lockstep.columns.keys import Ids, partition_names
from lockstep.columns.moves import Moves
from lockstep.columns.output import Output
from lockstep.columns.realms import Realms
from lockstep.columns.rule import routed
from lockstep.columns.shards import Shard
from lockstep.columns.units import States

Condition = Callable[[Frame], Mask]


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
