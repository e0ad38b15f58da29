"""The deliveries of many records that are folded together, where they are not the records' events
alone: moves of the clock by others, and rows that others bring in between."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from lockstep.columns.column import Longs, Mask
from lockstep.events.bundles import STAYS

if TYPE_CHECKING:
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


@cache
def _compiled() -> tuple[Any, Any]:
    """The kernels, and what makes arrays ready for them: a service that folds nothing yet starts
    without the compiler."""
    kernels = import_module("lockstep.execute.turns_kernel")
    return kernels, import_module("lockstep.columns.compiled").plain


def merged(
    own: Longs, moving: Longs, clocks: Longs, follows_ms: int | None = None
) -> kernel.Merged:
    """Events and moves of the clock, at places that are in order, as one. `follows_ms`: each moves
    the clock on, which stands there in front of them. See the kernel."""
    kernels, plain = _compiled()
    most = len(own) + len(moving)
    places, given, at = (np.empty(n, np.int64) for n in (most, most, len(own)))
    count: int = kernels.merge(
        plain(own, np.int64), plain(moving, np.int64), plain(clocks, np.int64),
        *_followed(follows_ms), kernels.Merged(places, given, at),
    )  # fmt: skip
    result: kernel.Merged = kernels.Merged(places[:count], given[:count], at)
    return result


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
    kernels, plain = _compiled()
    ends = np.cumsum(lengths)
    sources = np.repeat(np.arange(len(lengths)), lengths)
    found = kernels.Settled(*(np.empty(len(order), np.int64) for _ in range(4)))
    count: int = kernels.settle(
        plain(order, np.int64), plain(moments, np.int64), sources, ends - lengths,
        plain(is_own, np.bool_), plain(clocks, np.int64), *_followed(follows_ms), found,
    )  # fmt: skip
    result: kernel.Settled = kernels.Settled(*(each[:count] for each in found))
    return result


def _followed(follows_ms: int | None) -> tuple[bool, int, int]:
    return follows_ms is not None, STAYS if follows_ms is None else follows_ms, STAYS


def walked(counts: Longs, firsts: Longs, clocks: Longs, now: int) -> kernel.Walked:
    """What the clock does at the deliveries of records, which `clocks` move as those of Turns do;
    see the kernel."""
    kernels, plain = _compiled()
    found = kernels.Walked(*(np.empty(len(clocks), np.int64) for _ in range(4)))
    moves: int = kernels.walk(
        plain(counts, np.int64), plain(firsts, np.int64), plain(clocks, np.int64), now, STAYS, found
    )
    result: kernel.Walked = kernels.Walked(*found[:2], *(each[:moves] for each in found[2:]))
    return result


def load() -> None:
    """Loads what is compiled, before the first event waits for it."""
    one, two = np.array([0], np.int64), np.array([2], np.int64)
    deliveries = merged(one, one, one)
    settled(one, one, np.array([1, 0], np.int64), np.zeros(2, np.bool_), one)
    walked(one + 1, two, deliveries.clocks, 0)
