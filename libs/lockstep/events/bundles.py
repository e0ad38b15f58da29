"""Bundles: what a unit of a cut app folds at one position, with events of several streams in turn.

A bundle never stands in an input log. It is made of a log's record and of what other units brought
at the same position, and goes from there to the executor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from lockstep.events.columns import ChunkLengths, EventColumns
from lockstep.events.records import InputEvent, WriteRecord

STAYS: Final = int(np.iinfo(np.int64).min)
"""As the clock of a delivery: no clock moves in front of it, and no timer fires."""

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Delivery:
    """A chunk of a bundle, which may be empty, and the clock in front of it: None where the bundle
    tells no clocks."""

    stream: str
    events: tuple[InputEvent, ...]
    has_timestamps: bool
    clock_ms: int | None


@dataclass(frozen=True, eq=False)
class Bundle:
    """Deliveries of chunks, one behind the other; `clock_ms` is the wall clock behind them.

    Of each delivery `order` tells the part whose next chunk it is; a part's `chunk_lengths` may
    hold zeros. Two parts may be of one stream. A part's own `clock_ms` means nothing.

    `clocks`, one per delivery, move the clock in front of it, also when the delivery is empty: of a
    live app the wall clock, in playback the app clock. Behind the last delivery a live app's clock
    goes on to `clock_ms`, if it is not there or nothing moved it. In playback the wall clock goes
    to `clock_ms` in front of all deliveries. Without `clocks` the clocks move as for a record: the
    wall clock once, in front, and in playback the app clock with each chunk of a part that
    `has_timestamps`. Such a part's deliveries are what ends idle time in playback; those of others
    do not.

    `write`: an on-demand write behind all of it.

    Errors: ValueError when the arrays do not fit one another.
    """

    clock_ms: int
    order: npt.NDArray[np.uint16]
    parts: tuple[EventColumns, ...]
    clocks: Longs | None = None
    write: WriteRecord | None = None

    def __post_init__(self) -> None:
        wanted = [len(part.chunk_lengths) for part in self.parts]
        found = np.bincount(self.order, minlength=len(wanted)).tolist()
        if found != wanted:
            raise ValueError(f"deliveries per part are {found}, and its chunks {wanted}")
        if self.clocks is not None and len(self.clocks) != len(self.order):
            raise ValueError(f"{len(self.clocks)} clocks of {len(self.order)} deliveries")

    def __len__(self) -> int:
        return len(self.order)

    @property
    def events(self) -> int:
        """How many there are."""
        return sum(map(len, self.parts))

    def numbers_of(self, part: int) -> Longs:
        """Which deliveries are of a part, in order."""
        return np.flatnonzero(self.order == part)

    @cached_property
    def lengths(self) -> ChunkLengths:
        """How many events each delivery has."""
        lengths = np.zeros(len(self), np.int32)
        for i, part in enumerate(self.parts):
            lengths[self.numbers_of(i)] = part.chunk_lengths
        return lengths

    def deliveries(self) -> Iterator[Delivery]:
        """The same with an object per event."""
        chunks = [iter(part.to_record().chunks) for part in self.parts]
        clocks = [None] * len(self) if self.clocks is None else self.clocks.tolist()
        for i, clock_ms in zip(self.order.tolist(), clocks, strict=True):
            part = self.parts[i]
            yield Delivery(part.stream, next(chunks[i]), part.has_timestamps, clock_ms)
