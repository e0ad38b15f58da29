"""Kernels of tables: writes in order, and what was there at any moment between them (semantics 10).

The rows of an index that have equal values are a chain: `head` and `tail` by index and key,
`after` and `before` by index and place, with the key of each. A row that goes keeps its own links,
so that it can be put back where it was. Index 0 has one key and all rows, in their order.

`entries` say what was changed, in order: (write, place that went or -1, place that came or -1).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lockstep.columns.compiled import kernel

INSERT, UPSERT, UPDATE, DELETE = 0, 1, 2, 3


class Links(NamedTuple):
    """See the module's text."""

    head: Any
    tail: Any
    after: Any
    before: Any
    key: Any


class Writes(NamedTuple):
    """Of each write: its kind, the index that it looks in and the key there (-1: nothing), and by
    index the keys of a row that it inserts, and of one that it changes (-1: it stays)."""

    kind: Any
    index: Any
    wanted: Any
    inserted: Any
    changed: Any


@kernel
def _take_out(links: Any, index: int, place: int) -> None:
    key = links.key[index, place]
    before, after = links.before[index, place], links.after[index, place]
    if before == -1:
        links.head[index, key] = after
    else:
        links.after[index, before] = after
    if after == -1:
        links.tail[index, key] = before
    else:
        links.before[index, after] = before


@kernel
def _put_back(links: Any, index: int, place: int) -> None:
    """Where it was when it was taken out."""
    key = links.key[index, place]
    before, after = links.before[index, place], links.after[index, place]
    if before == -1:
        links.head[index, key] = place
    else:
        links.after[index, before] = place
    if after == -1:
        links.tail[index, key] = place
    else:
        links.before[index, after] = place


@kernel
def _put_last(links: Any, index: int, place: int) -> None:
    key = links.key[index, place]
    last = links.tail[index, key]
    links.before[index, place] = last
    links.after[index, place] = -1
    links.tail[index, key] = place
    if last == -1:
        links.head[index, key] = place
    else:
        links.after[index, last] = place


@kernel
def _exchange(links: Any, index: int, old: int, new: int) -> None:
    """One in the place of another of the same key, or behind all others of its own key."""
    if links.key[index, old] != links.key[index, new]:
        _take_out(links, index, old)
        _put_last(links, index, new)
        return
    links.before[index, new] = links.before[index, old]
    links.after[index, new] = links.after[index, old]
    _put_back(links, index, new)


@kernel
def _redo(links: Any, index: int, old: int, new: int) -> None:
    if old == -1:
        _put_last(links, index, new)
    elif new == -1:
        _take_out(links, index, old)
    else:
        _exchange(links, index, old, new)


@kernel
def _undo(links: Any, index: int, old: int, new: int) -> None:
    if old == -1:
        _take_out(links, index, new)
    elif new == -1:
        _put_back(links, index, old)
    elif links.key[index, old] != links.key[index, new]:
        _take_out(links, index, new)
        _put_back(links, index, old)
    else:
        _put_back(links, index, old)


@kernel
def write(
    writes: Any, links: Any, primary: int, start: int, spare: Any, entries: Any, counts: Any
) -> int:
    """Makes writes from `start` on; gives the next one, for which there was no room, or their
    number.

    `counts`: entries, spare places used, rows that were refused since their primary key is taken.
    """
    made, used = counts[0], counts[1]
    indexes = len(links.head)
    i = start
    while i < len(writes.kind):
        kind, index, wanted = writes.kind[i], writes.index[i], writes.wanted[i]
        found = -1
        if kind != INSERT and wanted >= 0:
            found = links.head[index, wanted]
        number, place = 0, found
        while place != -1:
            number += 1
            place = links.after[index, place]
        room = max(number, 1)
        if made + room > len(entries) or used + room > len(spare):
            break
        if kind == INSERT or (kind == UPSERT and found == -1):
            if primary >= 0 and links.head[primary, writes.inserted[primary, i]] != -1:
                counts[2] += 1
            else:
                new = spare[used]
                used += 1
                for each in range(indexes):
                    links.key[each, new] = writes.inserted[each, i]
                    _put_last(links, each, new)
                entries[made, 0], entries[made, 1], entries[made, 2] = i, -1, new
                made += 1
        place = found
        while place != -1:
            following = links.after[index, place]
            new = -1
            if kind != DELETE:
                new = spare[used]
                used += 1
                for each in range(indexes):
                    key = writes.changed[each, i]
                    links.key[each, new] = links.key[each, place] if key < 0 else key
            for each in range(indexes):
                _redo(links, each, place, new)
            entries[made, 0], entries[made, 1], entries[made, 2] = i, place, new
            made += 1
            place = following
        i += 1
    counts[0], counts[1] = made, used
    return i


@kernel
def follow(entries: Any, keys: Any, links: Any) -> None:
    """Links what was changed elsewhere; `keys` are those of each new row, by index."""
    for j in range(len(entries)):
        old, new = entries[j, 1], entries[j, 2]
        for index in range(len(links.head)):
            if new != -1:
                links.key[index, new] = keys[index, j]
            _redo(links, index, old, new)


@kernel
def read(
    index: int, wanted: Any, when: Any, end: int, entries: Any, links: Any, each: int, most: int
) -> Any:
    """(reads, places found, the first read that was answered, whether one found more than `each`).

    Read i looks for a key (-1: for nothing) when `when[i]` writes are done; `when` ascends. Answers
    reads in front of `end`, the last first, until there are `most` rows. What is found of a read
    stands in the order of the chain, all behind each other from the last read to the first.
    """
    reads, places = np.empty(1024, np.int64), np.empty(1024, np.int64)
    found, j, i, over = 0, len(entries), end, False
    while i > 0 and found < most and not over:
        i -= 1
        while j > 0 and entries[j - 1, 0] >= when[i]:
            j -= 1
            _undo(links, index, entries[j, 1], entries[j, 2])
        place, first = -1, found
        if wanted[i] >= 0:
            place = links.tail[index, wanted[i]]
        while place != -1 and not over:
            if found == len(reads):
                more, others = np.empty(2 * found, np.int64), np.empty(2 * found, np.int64)
                more[:found], others[:found] = reads, places
                reads, places = more, others
            reads[found], places[found] = i, place
            found += 1
            over = found - first > each
            place = links.before[index, place]
    while j < len(entries):
        _redo(links, index, entries[j, 1], entries[j, 2])
        j += 1
    return reads[:found], places[:found], i, over


@kernel
def chain(index: int, key: int, links: Any) -> Any:
    """The places of a chain in its order."""
    count, place = 0, links.head[index, key]
    while place != -1:
        count += 1
        place = links.after[index, place]
    found = np.empty(count, np.int64)
    place = links.head[index, key]
    for i in range(count):
        found[i] = place
        place = links.after[index, place]
    return found


@kernel
def number_rows(entries: Any, number: Any, counts: Any, peaks: Any) -> None:
    """Numbers new rows behind all others, and changed ones as they were. `counts`: the next number,
    the rows, the most there ever were; `peaks` gets the latter as it was at each change."""
    for j in range(len(entries)):
        old, new = entries[j, 1], entries[j, 2]
        if old == -1:
            number[new] = counts[0]
            counts[0] += 1
            counts[1] += 1
        elif new == -1:
            counts[1] -= 1
        else:
            number[new] = number[old]
        counts[2] = max(counts[2], counts[1])
        peaks[j] = counts[2]


@kernel
def find_origins(keeps: Any, entries: Any, origin: Any) -> None:
    """Where each place has a value from that rows keep when they are changed: changes `origin`,
    which begins as each place itself."""
    for j in range(len(entries)):
        if keeps[j] and entries[j, 1] >= 0 and entries[j, 2] >= 0:
            origin[entries[j, 2]] = origin[entries[j, 1]]


@kernel
def depths(entries: Any, depth: Any) -> Any:
    """How many changes of the slice each entry's row comes from; `depth` is by place, all 0."""
    found = np.zeros(len(entries), np.int64)
    for j in range(len(entries)):
        old, new = entries[j, 1], entries[j, 2]
        if new == -1:
            continue
        found[j] = 0 if old == -1 else depth[old] + 1
        depth[new] = found[j]
    return found
