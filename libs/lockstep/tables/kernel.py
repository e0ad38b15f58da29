"""Kernels of tables: writes in order, and what was there at any moment between them (semantics 10).

The rows of an index that have equal values are a chain: `head` and `tail` by index and key,
`after` and `before` by index and place, with the key of each. A row that goes keeps its own links,
so that it can be put back where it was. Index 0 has one key and all rows, in their order.

`entries` say what was changed, in order: (write, place that went or -1, place that came or -1).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lockstep.columns.compiled import kernel, lent, part
from lockstep.tables.program_kernel import begin, carry_on, is_made, passes

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


class Numbers(NamedTuple):
    """The `number` of each row by place, which is its order of arrival. `totals`: the next number,
    the rows, the most there ever were."""

    number: Any
    totals: Any


class Asked(NamedTuple):
    """Of foretold writes, which look in one `index`: by key the `moment` of asking at which one
    looked there last (-1: none did), and the last row that was `seen` then. Empty where nothing is
    foretold."""

    index: Any
    moment: Any
    seen: Any


@part
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


@part
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


@part
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


@part
def _exchange(links: Any, index: int, old: int, new: int) -> None:
    """One in the place of another of the same key, or behind all others of its own key."""
    if links.key[index, old] != links.key[index, new]:
        _take_out(links, index, old)
        _put_last(links, index, new)
        return
    links.before[index, new] = links.before[index, old]
    links.after[index, new] = links.after[index, old]
    _put_back(links, index, new)


@part
def _redo(links: Any, index: int, old: int, new: int) -> None:
    if old == -1:
        _put_last(links, index, new)
    elif new == -1:
        _take_out(links, index, old)
    else:
        _exchange(links, index, old, new)


@part
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


@part
def _length(links: Any, index: int, place: int) -> int:
    """How many rows a chain has from a row on (-1: none)."""
    number = 0
    while place != -1:
        number += 1
        place = links.after[index, place]
    return number


@part
def _last_seen(links: Any, asked: Any, key: int, moment: int) -> int:
    """The last row of a key (-1: none) when the events of a moment asked, before one of them wrote:
    the first that looks there notes it."""
    if key < 0:
        return -1
    if asked.moment[key] != moment:
        asked.moment[key], asked.seen[key] = moment, links.tail[asked.index, key]
    return int(asked.seen[key])


@lent
def reached(writes: Any, links: Any, seen: Any, places: Any) -> int:
    """The rows that are there under the keys that writes look for, each once: how many of `places`
    they take. `seen` has room for all keys of all indexes, and is changed."""
    count = 0
    for i in range(len(writes.kind)):
        index, wanted = writes.index[i], writes.wanted[i]
        if writes.kind[i] == INSERT or wanted < 0 or seen[index, wanted]:
            continue
        seen[index, wanted] = True
        place = links.head[index, wanted]
        while place != -1:
            places[count] = place
            count += 1
            place = links.after[index, place]
    return count


@lent
def write(
    writes: Any,
    links: Any,
    values: Any,
    asked: Any,
    primary: int,
    start: int,
    spare: Any,
    entries: Any,
    counts: Any,
) -> int:
    """Makes writes from `start` on; gives the next one, for which there was no room, or their
    number. `values` say which rows pass, and follow what programs look at (program_kernel).

    `counts`: entries, spare places used, rows that were refused since their primary key is taken.
    """
    made, used = counts[0], counts[1]
    tests, follows, foretold = len(values.steps) > 0, len(values.kept) > 0, len(values.moments) > 0
    indexes = len(links.head)
    i = start
    while i < len(writes.kind):
        kind, index, wanted = writes.kind[i], writes.index[i], writes.wanted[i]
        found = -1
        if kind != INSERT and wanted >= 0:
            found = links.head[index, wanted]
        room = max(_length(links, index, found), 1)
        if made + room > len(entries) or used + room > len(spare):
            break
        moment, seen = values.moments[i] if foretold else -1, -1
        if moment >= 0:
            seen = _last_seen(links, asked, wanted, moment)
            if not is_made(values, i, seen):
                i += 1
                continue
        number, place = 0, found
        while place != -1:
            following = links.after[index, place]
            if tests and not passes(values, i, place, seen):
                place = following
                continue
            number, new = number + 1, -1
            if kind != DELETE:
                new = spare[used]
                used += 1
                for each in range(indexes):
                    key = writes.changed[each, i]
                    links.key[each, new] = links.key[each, place] if key < 0 else key
                if follows:
                    carry_on(values, i, place, new, seen)
            for each in range(indexes):
                _redo(links, each, place, new)
            entries[made, 0], entries[made, 1], entries[made, 2] = i, place, new
            made += 1
            place = following
        if kind == INSERT or (kind == UPSERT and number == 0):
            if primary >= 0 and links.head[primary, writes.inserted[primary, i]] != -1:
                counts[2] += 1
            else:
                new = spare[used]
                used += 1
                for each in range(indexes):
                    links.key[each, new] = writes.inserted[each, i]
                    _put_last(links, each, new)
                if follows:
                    begin(values, i, new, seen)
                entries[made, 0], entries[made, 1], entries[made, 2] = i, -1, new
                made += 1
        i += 1
    counts[0], counts[1] = made, used
    return i


@lent
def follow(entries: Any, keys: Any, links: Any) -> None:
    """Links what was changed elsewhere; `keys` are those of each new row, by index."""
    for j in range(len(entries)):
        old, new = entries[j, 1], entries[j, 2]
        for index in range(len(links.head)):
            if new != -1:
                links.key[index, new] = keys[index, j]
            _redo(links, index, old, new)


class Answers(NamedTuple):
    """Room for what reads find: which read, and the place of the row."""

    reads: Any
    places: Any


@lent
def read(
    index: int, wanted: Any, when: Any, end: int, entries: Any, links: Any, each: int, answers: Any
) -> Any:
    """(rows found, the first read that was answered, whether one found more than `each`).

    Read i looks for a key (-1: for nothing) when `when[i]` writes are done; `when` ascends. Answers
    reads in front of `end`, the last first, as far as there is room in `answers`. What is found of
    a read stands in the order of the chain, all behind each other from the last read to the first.
    """
    found, j, i, over = 0, len(entries), end, False
    while i > 0 and not over:
        first = i - 1
        while j > 0 and entries[j - 1, 0] >= when[first]:
            j -= 1
            _undo(links, index, entries[j, 1], entries[j, 2])
        place, at = -1, found
        if wanted[first] >= 0:
            place = links.tail[index, wanted[first]]
        while place != -1 and not over and at < len(answers.reads):
            answers.reads[at], answers.places[at] = first, place
            at += 1
            over = at - found > each
            place = links.before[index, place]
        if place != -1 and not over:
            break
        i, found = first, at
    while j < len(entries):
        _redo(links, index, entries[j, 1], entries[j, 2])
        j += 1
    return found, i, over


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


@part
def number_row(numbers: Any, old: int, new: int) -> None:
    """Numbers a new row behind all others, and a changed one as it was."""
    totals = numbers.totals
    if old == -1:
        numbers.number[new] = totals[0]
        totals[0] += 1
        totals[1] += 1
        totals[2] = max(totals[2], totals[1])
    elif new == -1:
        totals[1] -= 1
    else:
        numbers.number[new] = numbers.number[old]


@lent
def number_rows(entries: Any, numbers: Any) -> None:
    """Numbers the rows that came."""
    for j in range(len(entries)):
        number_row(numbers, entries[j, 1], entries[j, 2])


@lent
def settle(entries: Any, gone: Any, freed: Any, lines: Any) -> Any:
    """(how many rows went, how many came and stay): their places stand in `freed` in the order in
    which they went, and the entries that brought them in `lines`. `gone` is by place, all false."""
    went, stay = 0, 0
    for j in range(len(entries)):
        if entries[j, 1] != -1:
            gone[entries[j, 1]] = True
            freed[went] = entries[j, 1]
            went += 1
    for j in range(len(entries)):
        if entries[j, 2] != -1 and not gone[entries[j, 2]]:
            lines[stay] = j
            stay += 1
    return went, stay


@lent
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
