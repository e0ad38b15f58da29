"""Kernels of tables in which rows are found by their primary key alone: `head` has the row of each
key (-1: there is none), and `keys` the key of each row. See kernel for `entries`."""

from __future__ import annotations

from typing import Any, NamedTuple

from lockstep.columns.compiled import lent
from lockstep.tables.kernel import DELETE, INSERT, UPSERT, number_row
from lockstep.tables.program_kernel import begin, carry_on, is_made, passes


class KeyedWrites(NamedTuple):
    """`kinds` by writer; of each write the key that it looks for (-1: nothing), and the key of a
    row that it inserts."""

    kinds: Any
    wanted: Any
    inserted: Any


class Heads(NamedTuple):
    """See the module's text."""

    head: Any
    keys: Any


class Asked(NamedTuple):
    """Of foretold writes, by key: the `moment` of asking at which one changed it last (-1: none
    did), and the row that was `seen` then. Empty where nothing is foretold."""

    moment: Any
    seen: Any


@lent
def reached(writes: Any, values: Any, heads: Any, seen: Any, places: Any) -> int:
    """The rows that are there under the keys that writes look for, each once: how many of `places`
    they take. `seen` has room for all keys, and is changed."""
    count = 0
    for i in range(len(writes.wanted)):
        key = writes.wanted[i]
        if key < 0 or seen[key]:
            continue
        is_foretold = len(values.moments) > 0 and values.moments[i] >= 0
        if not is_foretold and writes.kinds[values.owner[i]] == INSERT:
            continue
        seen[key] = True
        if heads.head[key] != -1:
            places[count] = heads.head[key]
            count += 1
    return count


@lent
def write(
    writes: Any,
    heads: Any,
    asked: Any,
    values: Any,
    numbers: Any,
    spare: Any,
    entries: Any,
    counts: Any,
) -> None:
    """Makes all writes: see kernel.write; each makes one entry at most, for which there is room.
    Numbers the rows that come."""
    made, used, refused = 0, 0, 0
    tests, follows, foretold = len(values.steps) > 0, len(values.kept) > 0, len(values.moments) > 0
    for i in range(len(writes.wanted)):
        kind, key = writes.kinds[values.owner[i]], writes.wanted[i]
        moment = values.moments[i] if foretold else -1
        old, new, seen = -1, -1, -1
        if moment >= 0:
            if key >= 0:
                is_changed = asked.moment[key] == moment
                seen = asked.seen[key] if is_changed else heads.head[key]
            if not is_made(values, i, seen):
                continue
        if kind != INSERT and key >= 0:
            old = heads.head[key]
            if old != -1 and tests and not passes(values, i, old, seen):
                old = -1
        if old == -1:
            if kind != INSERT and kind != UPSERT:
                continue
            key = writes.inserted[i]
            if heads.head[key] != -1:
                refused += 1
                continue
        if kind != DELETE:
            new = spare[used]
            used += 1
            heads.keys[new] = key
            if follows and old == -1:
                begin(values, i, new, seen)
            elif follows:
                carry_on(values, i, old, new, seen)
        if moment >= 0 and asked.moment[key] != moment:
            asked.moment[key], asked.seen[key] = moment, heads.head[key]
        heads.head[key] = new
        number_row(numbers, old, new)
        entries[made, 0], entries[made, 1], entries[made, 2] = i, old, new
        made += 1
    counts[0], counts[1], counts[2] = made, used, refused


@lent
def follow(entries: Any, given: Any, heads: Any) -> None:
    """Takes over what was changed elsewhere; `given` are the keys of new rows."""
    for j in range(len(entries)):
        old, new = entries[j, 1], entries[j, 2]
        if old != -1:
            heads.head[heads.keys[old]] = -1
        if new != -1:
            heads.keys[new] = given[j]
            heads.head[given[j]] = new


@lent
def read(wanted: Any, when: Any, entries: Any, heads: Any, places: Any) -> None:
    """The row that each read finds (-1: none) under the key that it looks for (-1: nothing), when
    `when` writes were done, which ascends. The table stands behind all writes before and after."""
    j = len(entries)
    for back in range(len(wanted)):
        i = len(wanted) - 1 - back
        while j > 0 and entries[j - 1, 0] >= when[i]:
            j -= 1
            old, new = entries[j, 1], entries[j, 2]
            heads.head[heads.keys[new if old == -1 else old]] = old
        places[i] = heads.head[wanted[i]] if wanted[i] >= 0 else -1
    while j < len(entries):
        old, new = entries[j, 1], entries[j, 2]
        heads.head[heads.keys[new if old == -1 else old]] = new
        j += 1
