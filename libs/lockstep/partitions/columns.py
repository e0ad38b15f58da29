"""Value partitions on columns: a unit that routes, and the inner queries' units, which hold all
instances at once (semantics 15)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from lockstep.columns.chunks import Chunks
from lockstep.columns.column import Array
from lockstep.columns.frame import Evaluate
from lockstep.columns.keys import Ids, partition_names
from lockstep.columns.moves import Moves
from lockstep.columns.output import Output
from lockstep.columns.realms import Realms
from lockstep.columns.rule import routed
from lockstep.columns.shards import Shard
from lockstep.columns.units import States


class Router:
    """Cuts the chunks of one stream at key changes and tells each part's instance; events with a
    null key are dropped, and with a key of another shard, where the app is cut into shards."""

    shows_timers = False
    is_observed = False

    def __init__(
        self, partition: str, place: int, source: str, key: Evaluate, realms: Realms
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
        column = self._key(chunks.rows())
        if column.nulls is not None and column.nulls.any():
            present = ~column.nulls
            chunks, column = chunks.keep(present), column.keep(present)
        codes, keys = partition_names(column)
        realm = self._assign(codes, keys) if len(column) else np.zeros(0, np.int64)
        chunk_of = chunks.chunk_of
        changes = (chunk_of[1:] != chunk_of[:-1]) | (realm[1:] != realm[:-1])
        firsts = np.flatnonzero(np.append(np.ones(min(len(realm), 1), np.bool_), changes))
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
