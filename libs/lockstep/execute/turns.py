"""The deliveries of many records that are folded together, where they are not the records' events
alone: moves of the clock by others, and rows that others bring in between."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lockstep.columns.column import Longs, Mask
from lockstep.columns.compiled import plain
from lockstep.events.bundles import STAYS
from lockstep.execute import turns_kernel as kernel


@dataclass(frozen=True, eq=False)
class Turns:
    """The deliveries of records of which others have events, too, or bring rows in between.

    `counts`: how many deliveries each record has: of an event, or of none. `clocks`, one per
    delivery, as of a Bundle in playback: the clock in front of it, or STAYS; None: of a live app.
    `places`: which of all deliveries each event is, as the events lie in the batches, where those
    of a stream have the order of their deliveries.
    """

    counts: Longs
    clocks: Longs | None
    places: Longs


def merged(
    own: Longs, moving: Longs, clocks: Longs, follows_ms: int | None = None
) -> kernel.Merged:
    """Events and moves of the clock, at places that are in order, as one. `follows_ms`: each moves
    the clock on, which stands there in front of them. See the kernel."""
    most = len(own) + len(moving)
    places, given, at = (np.empty(n, np.int64) for n in (most, most, len(own)))
    count = kernel.merge(
        plain(own, np.int64), plain(moving, np.int64), plain(clocks, np.int64),
        *_followed(follows_ms), kernel.Merged(places, given, at),
    )  # fmt: skip
    return kernel.Merged(places[:count], given[:count], at)


def settled(
    order: Longs,
    moments: Longs,
    lengths: Longs,
    is_own: Mask,
    clocks: Longs,
    follows_ms: int | None = None,
) -> kernel.Settled:
    """Deliveries of sources of these `lengths`, put into their `order`. Source 0 are moves of the
    clock; one in front of an own event goes with it. `follows_ms`: as above. See the kernel."""
    ends = np.cumsum(lengths)
    sources = np.repeat(np.arange(len(lengths)), lengths)
    found = kernel.Settled(*(np.empty(len(order), np.int64) for _ in range(4)))
    count = kernel.settle(
        plain(order, np.int64), plain(moments, np.int64), sources, ends - lengths,
        plain(is_own, np.bool_), plain(clocks, np.int64), *_followed(follows_ms), found,
    )  # fmt: skip
    return kernel.Settled(*(each[:count] for each in found))


def _followed(follows_ms: int | None) -> tuple[bool, int, int]:
    return follows_ms is not None, STAYS if follows_ms is None else follows_ms, STAYS


def walked(counts: Longs, firsts: Longs, clocks: Longs, now: int) -> kernel.Walked:
    """What the clock does at the deliveries of records, which `clocks` move as those of Turns do;
    see the kernel."""
    found = kernel.Walked(*(np.empty(len(clocks), np.int64) for _ in range(4)))
    moves = kernel.walk(
        plain(counts, np.int64), plain(firsts, np.int64), plain(clocks, np.int64), now, STAYS, found
    )
    return kernel.Walked(*found[:2], *(each[:moves] for each in found[2:]))


def load() -> None:
    """Loads what is compiled, before the first event waits for it."""
    one, two = np.array([0], np.int64), np.array([2], np.int64)
    deliveries = merged(one, one, one)
    settled(one, one, np.array([1, 0], np.int64), np.zeros(2, np.bool_), one)
    walked(one + 1, two, deliveries.clocks, 0)
