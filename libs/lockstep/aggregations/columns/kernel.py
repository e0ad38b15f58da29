"""Kernels of incremental aggregations: pairs of numbers get ids, and events are folded into the
base values of their bucket and group, a *slot*, in the order of arrival (semantics 17).

Where `out` has room it takes the value that the slot of each event had in front of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.columns.compiled import kernel


@kernel
def home(first: int, second: int, mask: int) -> int:
    """Where in a table of mask + 1 places a pair is looked for first."""
    mixed = np.uint64(first) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= np.uint64(second) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0xD6E8FEB86659FD93)
    mixed ^= mixed >> np.uint64(29)
    return np.int64(mixed & np.uint64(mask))  # type: ignore[return-value]


@kernel
def claim(
    a: Any, b: Any, at: int, first: Any, second: Any, table: Any, count: int, ids: Any
) -> Any:
    """Ids of the pairs (a, b) from `at` on, new ones for new pairs; gives (where it stopped for
    want of room, how many ids there are now)."""
    mask = len(table) - 1
    for i in range(at, len(a)):
        if 2 * count >= len(table) or count >= len(first):
            return i, count
        place = home(a[i], b[i], mask)
        while True:
            found = table[place]
            if found < 0:
                table[place] = found = count
                first[count], second[count] = a[i], b[i]
                count += 1
                break
            if first[found] == a[i] and second[found] == b[i]:
                break
            place = (place + 1) & mask
        ids[i] = found
    return len(a), count


@kernel
def enter(first: Any, second: Any, wanted: Any, table: Any) -> None:
    """Fills an empty table with the ids that are wanted."""
    mask = len(table) - 1
    for i in range(len(wanted)):
        if wanted[i]:
            place = home(first[i], second[i], mask)
            while table[place] >= 0:
                place = (place + 1) & mask
            table[place] = i


@kernel
def add(slots: Any, value: Any, valid: Any, total: Any, has: Any, out: Any, out_has: Any) -> None:
    """Sums; whole numbers wrap around as Java's longs do."""
    for i in range(len(slots)):
        slot = slots[i]
        if len(out):
            out[i], out_has[i] = total[slot], has[slot]
        if valid[i]:
            if has[slot]:
                total[slot] += value[i]
            else:
                total[slot], has[slot] = value[i], True


@kernel
def least(slots: Any, value: Any, valid: Any, kept: Any, has: Any, out: Any, out_has: Any) -> None:
    """The least value; the first of equals stays, and NaN is skipped."""
    for i in range(len(slots)):
        slot = slots[i]
        if len(out):
            out[i], out_has[i] = kept[slot], has[slot]
        if valid[i] and value[i] == value[i] and not (has[slot] and kept[slot] <= value[i]):
            kept[slot], has[slot] = value[i], True


@kernel
def greatest(
    slots: Any, value: Any, valid: Any, kept: Any, has: Any, out: Any, out_has: Any
) -> None:
    """The greatest value; see `least`."""
    for i in range(len(slots)):
        slot = slots[i]
        if len(out):
            out[i], out_has[i] = kept[slot], has[slot]
        if valid[i] and value[i] == value[i] and not (has[slot] and kept[slot] >= value[i]):
            kept[slot], has[slot] = value[i], True


@kernel
def count(slots: Any, counts: Any, out: Any) -> None:
    """How many events."""
    for i in range(len(slots)):
        if len(out):
            out[i] = counts[slots[i]]
        counts[slots[i]] += 1


@kernel
def latest(slots: Any, time: Any, times: Any, winner: Any, out: Any) -> None:
    """The event with the greatest time, the last of equals; slots keep `winner` where none is."""
    for i in range(len(slots)):
        slot = slots[i]
        if len(out):
            out[i] = winner[slot]
        if time[i] >= times[slot]:
            times[slot], winner[slot] = time[i], i


@kernel
def count_pairs(slots: Any, pair: Any, known: int, sizes: Any, out: Any) -> None:
    """How many different values; `pair` is an id of (slot, value), new where it is `known` or
    above: new ids come in order."""
    for i in range(len(slots)):
        if len(out):
            out[i] = sizes[slots[i]]
        if pair[i] == known:
            known += 1
            sizes[slots[i]] += 1
