"""Rows on the way through a limiter: columns with kinds and groups, and what is kept of them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from lockstep.columns.chunks import Chunks, lengths_of
from lockstep.columns.column import Column, Index, concat, from_values
from lockstep.columns.flow import Kinds
from lockstep.columns.keys import Ids, KeySpace, encoded
from lockstep.columns.order import Order
from lockstep.columns.output import Output
from lockstep.events import AttributeType

FORGET_MIN: Final = 4096
"""Names that come on top of twice those in use before the others are forgotten."""


@dataclass(frozen=True, eq=False)
class Block:
    """Rows. `groups` are ids of the limiter's own keys."""

    columns: tuple[Column, ...]
    times: Index
    kinds: Kinds
    groups: Ids

    def __len__(self) -> int:
        return len(self.times)

    def take(self, index: Index) -> Block:
        """Some of the rows."""
        columns = tuple(column.take(index) for column in self.columns)
        return Block(columns, self.times[index], self.kinds[index], self.groups[index])

    def behind(self, other: Block) -> Block:
        """The rows of both, those of the other first."""
        if not len(other):
            return self
        return Block(
            tuple(map(concat, zip(other.columns, self.columns, strict=True))),
            np.concatenate([other.times, self.times]),
            np.concatenate([other.kinds, self.kinds]),
            np.concatenate([other.groups, self.groups]),
        )

    def output(
        self, starts: Index, order: Order, now: Index, realms: Index | None = None
    ) -> Output:
        """The rows as chunks; `realms` are their partition instances, in a partition."""
        chunks = Chunks(self.columns, self.times, starts, order, now, realms)
        return Output(chunks, self.kinds if self.kinds.any() else None)


@dataclass(frozen=True, eq=False)
class Limited:
    """What a selector made of a slice: the rows with their groups, and the chunks that they are
    in."""

    block: Block
    chunks: Chunks

    @property
    def lengths(self) -> Index:
        """How many rows are in each chunk."""
        return lengths_of(self.chunks.starts)

    @property
    def realms(self) -> Index:
        """The partition instance of each chunk."""
        keys = self.chunks.keys
        return np.zeros(self.chunks.count, np.int64) if keys is None else keys

    def kept(self, mask: Any) -> Output:
        """The rows where the mask is true, in their chunks."""
        index = np.flatnonzero(mask)
        lengths = np.bincount(self.chunks.chunk_of[index], minlength=self.chunks.count)
        full = np.flatnonzero(lengths)
        starts = np.append(0, np.cumsum(lengths[full])).astype(np.int64)
        order, now = self.chunks.order.take(full), self.chunks.now[full]
        realms = None if self.chunks.keys is None else self.chunks.keys[full]
        return self.block.take(index).output(starts, order, now, realms)


class Keys:
    """The groups' keys of a limiter, which outlive those of the selector; `by_realm` (in a
    partition) they are pairs of an instance and a key."""

    def __init__(self, *, by_realm: bool = False) -> None:
        self.space = KeySpace()
        self._by_realm = by_realm
        self._groups_of: dict[int, list[int]] = {}
        self._known = 0
        self._kept = 0

    def __len__(self) -> int:
        return len(self.space)

    def limited(self, output: Output, keys: Sequence[Hashable]) -> Limited:
        """What a selector made; `keys` are those of its groups (without any all rows are one's)."""
        chunks = output.chunks
        count = len(chunks)
        if output.groups is None and self._by_realm and count:
            assert chunks.keys is not None
            codes, realms = encoded(chunks.per_event(chunks.keys))
            groups = self.space.assign(codes, [(realm, None) for realm in realms.tolist()])
        elif output.groups is None:
            groups = np.full(count, self.space.id_of(None) if count else 0, np.int64)
        else:
            groups = self.space.assign(output.groups, keys)
        kinds = np.zeros(count, np.int8) if output.kinds is None else output.kinds
        block = Block(tuple(chunks.columns), chunks.times, kinds, groups)
        return Limited(block, chunks)

    def id_of(self, realm: int, key: Hashable) -> int:
        """The group of an instance's key."""
        return self.space.id_of((realm, key) if self._by_realm else key)

    def named(self, group: int) -> Any:
        """The key of a group within its instance."""
        key: Any = self.space.keys[group]
        return key[1] if self._by_realm else key

    def instances(self) -> Sequence[int]:
        """The instances that have groups."""
        if not self._by_realm:
            return [0]
        self.groups_of(0)
        return list(self._groups_of)

    def groups_of(self, realm: int) -> Sequence[int]:
        """The groups of an instance."""
        if not self._by_realm:
            return range(len(self))
        pairs: Any = self.space.keys
        for group in range(self._known, len(self)):
            self._groups_of.setdefault(pairs[group][0], []).append(group)
        self._known = len(self)
        return self._groups_of.get(realm, [])

    def forget(self, *held: Block) -> tuple[Block, ...]:
        """Where many keys were given out since, forgets those that no held row has. Gives the rows
        with the numbers that their groups have from now on."""
        if len(self) <= 2 * sum(map(len, held)) + FORGET_MIN:
            return held
        live = np.zeros(len(self), np.bool_)
        for rows in held:
            live[rows.groups] = True
        moved = self.keep(live)
        return tuple(replace(rows, groups=moved[rows.groups]) for rows in held)

    @property
    def are_many(self) -> bool:
        """Whether many were given out since some were forgotten."""
        return len(self) > 2 * self._kept + FORGET_MIN

    def keep(self, live: Any) -> Index:
        """Forgets all keys but those, which keep their order; gives the number that each has from
        now on."""
        self._groups_of, self._known = {}, 0
        moved: Index = self.space.compact(live)
        self._kept = len(self)
        return moved

    # --- as the reference's limiters keep rows ---------------------------------------------------

    def saved(self, block: Block) -> list[Any]:
        """(time, data, kind, key) of each row."""
        columns = [column.to_pylist() for column in block.columns]
        data: Any = zip(*columns, strict=True) if columns else [()] * len(block)
        keys = [self.named(group) for group in block.groups.tolist()]
        times, kinds = block.times.tolist(), block.kinds.tolist()
        return list(zip(times, data, kinds, keys, strict=True))

    def loaded(self, rows: Sequence[Any], types: Sequence[AttributeType], realm: int = 0) -> Block:
        return Block(
            tuple(from_values(type_, [row[1][i] for row in rows]) for i, type_ in enumerate(types)),
            np.array([row[0] for row in rows], np.int64),
            np.array([row[2] for row in rows], np.int8),
            np.array([self.id_of(realm, row[3]) for row in rows], np.int64),
        )


def nothing(types: Sequence[AttributeType]) -> Block:
    """No rows."""
    none = np.zeros(0, np.int64)
    return Block(tuple(from_values(t, []) for t in types), none, np.zeros(0, np.int8), none)


def last_by_group(span: Index, groups: Ids) -> tuple[Index, Index]:
    """(rows, their spans): of each span the last row of each group, the groups of a span in order
    of their first row. Spans ascend."""
    if not len(span):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    count = int(groups.max()) + 1
    named = span * count + groups
    _, firsts = np.unique(named, return_index=True)
    _, from_behind = np.unique(named[::-1], return_index=True)
    lasts = len(named) - 1 - from_behind
    arranged = np.argsort(firsts, kind="stable")
    rows = lasts[arranged]
    return rows, span[rows]
