"""Kernel of columns of short texts with few different values."""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.columns.compiled import lent

SLOTS = 4096
"""Of the hash table: a power of two."""

LONGEST = 8
"""Bytes of a text."""

_MASK = np.uint64(SLOTS - 1)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(40)
_BITS = np.uint64(8)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@lent
def encode(ends: Any, words: Any, tail: Any, table: Any, firsts: Any, codes: Any) -> int:
    """Numbers texts by their values, in order of first appearance: how many values there are, -1
    for more than `firsts` has room, or for one that is too long.

    Text i has the bytes `ends[i]` to `ends[i + 1]`, of which `words` has eight from each byte on,
    and `tail` all that may follow the last of those. `table` has a line per slot: its text, its
    length (-1: the slot is free), its code. `firsts` gets where each value comes first, `codes` the
    number of each text.
    """
    count, begin = 0, np.int64(ends[0])
    for i in range(len(codes)):
        end = np.int64(ends[i + 1])
        length = end - begin
        if length > LONGEST:
            return -1
        text = np.uint64(0)
        if begin < len(words):
            if length:
                text = words[np.uint64(begin)] & (_ALL >> np.uint64(8 * (LONGEST - length)))
        else:
            for at in range(length):
                byte = np.uint64(tail[begin - len(words) + at])
                text |= byte << (_BITS * np.uint64(at))
        begin = end
        slot = (((text + np.uint64(length)) * _MIX) >> _SHIFT) & _MASK
        while table[slot, 1] >= 0 and (
            np.uint64(table[slot, 0]) != text or table[slot, 1] != length
        ):
            slot = (slot + np.uint64(1)) & _MASK
        if table[slot, 1] < 0:
            if count == len(firsts):
                return -1
            firsts[count] = i
            table[slot, 0], table[slot, 1], table[slot, 2] = np.int64(text), length, count
            count += 1
        codes[i] = table[slot, 2]
    return count
