"""Rows on the way through a limiter: columns with kinds and groups, and what is kept of them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lockstep.events import AttributeType
from lockstep.execute.columnar.chunks import Chunks
from lockstep.execute.columnar.column import Column, Index, concat, from_values
from lockstep.execute.columnar.flow import Kinds
from lockstep.execute.columnar.keys import Ids, KeySpace
from lockstep.execute.columnar.order import Order
from lockstep.execute.columnar.selector import Output


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

    def output(self, starts: Index, order: Order, now: Index) -> Output:
        """The rows as chunks."""
        chunks = Chunks(self.columns, self.times, starts, order, now)
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
        return np.diff(self.chunks.starts)

    def kept(self, mask: Any) -> Output:
        """The rows where the mask is true, in their chunks."""
        index = np.flatnonzero(mask)
        lengths = np.bincount(self.chunks.chunk_of[index], minlength=self.chunks.count)
        full = np.flatnonzero(lengths)
        starts = np.append(0, np.cumsum(lengths[full])).astype(np.int64)
        order, now = self.chunks.order.take(full), self.chunks.now[full]
        return self.block.take(index).output(starts, order, now)


class Keys:
    """The groups' keys of a limiter, which outlive those of the selector."""

    def __init__(self) -> None:
        self.space = KeySpace()

    def __len__(self) -> int:
        return len(self.space)

    def limited(self, output: Output, keys: Sequence[Hashable]) -> Limited:
        """What a selector made; `keys` are those of its groups (without any all rows are one's)."""
        chunks = output.chunks
        count = len(chunks)
        if output.groups is None:
            groups = np.full(count, self.space.id_of(None) if count else 0, np.int64)
        else:
            groups = self.space.assign(output.groups, keys)
        kinds = np.zeros(count, np.int8) if output.kinds is None else output.kinds
        block = Block(chunks.columns, chunks.times, kinds, groups)
        return Limited(block, chunks)

    # --- as the reference's limiters keep rows ---------------------------------------------------

    def saved(self, block: Block) -> list[Any]:
        """(time, data, kind, key) of each row."""
        columns = [column.to_pylist() for column in block.columns]
        data: Any = zip(*columns, strict=True) if columns else [()] * len(block)
        keys = [self.space.keys[group] for group in block.groups.tolist()]
        times, kinds = block.times.tolist(), block.kinds.tolist()
        return list(zip(times, data, kinds, keys, strict=True))

    def loaded(self, rows: Sequence[Any], types: Sequence[AttributeType]) -> Block:
        """See `saved`."""
        return Block(
            tuple(from_values(type_, [row[1][i] for row in rows]) for i, type_ in enumerate(types)),
            np.array([row[0] for row in rows], np.int64),
            np.array([row[2] for row in rows], np.int8),
            np.array([self.space.id_of(row[3]) for row in rows], np.int64),
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
