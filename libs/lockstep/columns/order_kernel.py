"""Kernels of streams whose moments ascend, in the order of one run."""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.columns.compiled import kernel, part


@kernel
def interleave(moments: Any, begins: Any, ranks: Any) -> Any:
    """(the permutation that brings the streams in order, whether that is clear).

    Streams stand one behind the other in `moments`, each from its own of the `begins`. It is not
    clear where a stream does not ascend, and where chunks meet at a moment whose streams have the
    same rank or an unknown one (-1); of one stream whose rank is known they stay as they are.
    """
    streams = len(ranks)
    at = begins[:-1].copy()
    arranged = np.empty(len(moments), np.int64)
    for n in range(len(moments)):
        first = -1
        for stream in range(streams):
            if at[stream] == begins[stream + 1]:
                continue
            if first == -1:
                first = stream
                continue
            left, right = moments[at[first]], moments[at[stream]]
            if left == right and (ranks[first] == ranks[stream] or ranks[first] < 0):
                return arranged, False
            if left == right and ranks[stream] < 0:
                return arranged, False
            if right < left or (right == left and ranks[stream] < ranks[first]):
                first = stream
        i = at[first]
        arranged[n] = i
        at[first] = i + 1
        if i + 1 < begins[first + 1]:
            following = moments[i + 1]
            if following < moments[i] or (following == moments[i] and ranks[first] < 0):
                return arranged, False
    return arranged, True


@kernel
def count_before(those: Any, chunks: Any, rank: int, rank_of_chunks: int) -> Any:
    """(how many of those stand in front of each chunk, whether that is clear, as above)."""
    before = np.empty(len(chunks), np.int64)
    for j in range(1, len(those)):
        if those[j] < those[j - 1]:
            return before, False
    n = 0
    for i in range(len(chunks)):
        moment = chunks[i]
        if i > 0 and moment < chunks[i - 1]:
            return before, False
        while n < len(those) and those[n] < moment:
            n += 1
        end = n
        while end < len(those) and those[end] == moment:
            end += 1
        if end > n and (rank == rank_of_chunks or rank < 0 or rank_of_chunks < 0):
            return before, False
        before[i] = end if rank < rank_of_chunks else n
    return before, True


@part
def stands_behind(
    moments: Any, levels: Any, at: int, others: Any, levels_of_others: Any, other: int
) -> bool:
    """Whether a chunk stands behind another one, and not beside it."""
    if moments[at] != others[other]:
        return bool(moments[at] > others[other])
    for i in range(len(levels)):
        if levels[i, at] != levels_of_others[i, other]:
            return bool(levels[i, at] > levels_of_others[i, other])
    return False


@kernel
def count_before_by_levels(
    those: Any, chunks: Any, levels_of_those: Any, levels_of_chunks: Any
) -> Any:
    """(how many of those stand in front of each chunk or beside it, whether both are in order).
    The levels stand line by line, one line per level."""
    before = np.empty(len(chunks), np.int64)
    for j in range(1, len(those)):
        if stands_behind(those, levels_of_those, j - 1, those, levels_of_those, j):
            return before, False
    n = 0
    for i in range(len(chunks)):
        if i and stands_behind(chunks, levels_of_chunks, i - 1, chunks, levels_of_chunks, i):
            return before, False
        while n < len(those) and not stands_behind(
            those, levels_of_those, n, chunks, levels_of_chunks, i
        ):
            n += 1
        before[i] = n
    return before, True
