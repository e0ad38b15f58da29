"""`output snapshot every t` on columns (semantics 14.3).

Each row is shown by a run of firings: from the first behind it to the last in front of the row that
takes its place, or takes it out. So what all firings of a slice show is found at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from lockstep.columns.column import Column, Index
from lockstep.columns.flow import CURRENT, EXPIRED, Kinds
from lockstep.columns.keys import KeySpace, combined, group_names
from lockstep.columns.moves import Moves
from lockstep.columns.output import Output
from lockstep.events import AttributeType
from lockstep.rates.by_time.columns import Periods
from lockstep.rates.contract import Rated
from lockstep.rates.rows import FORGET_MIN, Block, Keys, Limited, last_by_group, nothing
from lockstep.rates.snapshot.kind import ONE_BY_ONE, Inside
from lockstep.rates.snapshot.stored import last_rows
from lockstep.rates.waiting import Waiting

NEVER = np.iinfo(np.int64).max
EARLY: Final = 2
"""The kind of what leaves directly in front of what comes: of itself, maybe."""
NEW_SHARE: Final = 8
"""While no firing passes, new rows wait until they are more than this part of the rows held."""


class Repeating:
    """See Limiter. `types` are those of the rows that it holds."""

    goes_by_wall = True
    carried = 0

    def __init__(self, rated: Rated, every: int, types: Sequence[AttributeType]) -> None:
        self.rated = rated
        self.keys = Keys()
        self.held = nothing(types)
        self._new = Waiting(types)
        self._types = types
        self._periods = Periods(every)

    def start(self, clock_ms: int) -> None:
        self._periods.start(clock_ms)

    def due_ms(self) -> int | None:
        return self._periods.next_ms

    def run(self, rows: Limited, moves: Moves) -> Output:
        fired = self._periods.passes(moves)
        block = self.marked(rows)
        if not fired and NEW_SHARE * (len(self._new) + len(block)) <= len(self.held):
            self._new.add(block)
            return Output.nothing(self.rated.types)
        before = self._periods.before(rows.chunks.order, self.rated.place, moves)
        out, firing = self._fold(block, rows.chunks.per_event(before), fired)
        numbers, lengths = np.unique(firing, return_counts=True)
        order, now = self._periods.firings(numbers, self.rated.place, moves)
        self._periods.go_on(fired)
        starts = np.append(0, np.cumsum(lengths)).astype(np.int64)
        return out.output(starts, order, now)

    def marked(self, rows: Limited) -> Block:
        """The rows of a slice, with what their chunks tell and that later ones do not."""
        return rows.block

    def _fold(self, rows: Block, before: Index, fired: int) -> tuple[Block, Index]:
        """(what is shown of what is held, of the new rows, and of these, which came in front of the
        firings `before`; the firing of each)."""
        new = rows.behind(self._new.joined())
        own = np.append(np.zeros(len(self._new), np.int64), before)
        self._new.replace(nothing(self._types))
        whole = new.behind(self.held)
        since = np.append(np.zeros(len(self.held), np.int64), own)
        index, until = self.spells(whole, since, len(self.held))
        which, firing = _repeated(since[index], np.minimum(until, fired))
        out, firing = self.shown(new, own, whole.take(index[which]), firing)
        self.held = whole.take(index[until == NEVER])
        self.forget()
        return out, firing

    def settle(self) -> None:
        """What is held is all that there is."""
        if len(self._new):
            self._fold(nothing(self._types), np.zeros(0, np.int64), 0)

    def spells(self, whole: Block, since: Index, held: int) -> tuple[Index, Index]:
        """(the rows that are shown, in order; the firing that does not show each of them any more).
        The first rows are those that were held; `since` is the first firing behind each."""
        raise NotImplementedError

    def shown(self, new: Block, own: Index, rows: Block, firing: Index) -> tuple[Block, Index]:
        """The rows as they are shown, and their firings, which ascend; `new` came in the slice, in
        front of the firings `own`."""
        return rows, firing

    def forget(self) -> None:
        """Forgets what no row has any more that is held."""
        (self.held,) = self.keys.forget(self.held)

    def store(self, realm: int) -> Any:
        self.settle()
        return self.keys.saved(self.held)

    def load(self, realm: int, state: Any, due_ms: int | None) -> None:
        self.held = self.keys.loaded(state, self._types)
        self._periods.next_ms = due_ms


class LastRows(Repeating):
    """The last row of each group, again and again; groups in the order of their first row."""

    def __init__(self, rated: Rated, every: int) -> None:
        super().__init__(rated, every, rated.types)

    def spells(self, whole: Block, since: Index, held: int) -> tuple[Index, Index]:
        by_group = np.argsort(whole.groups, kind="stable")
        groups = whole.groups[by_group]
        until = replaced(whole.groups, since)
        firsts = by_group[np.searchsorted(groups, groups)]
        index = by_group[np.argsort(firsts, kind="stable")]
        return index, until[index]

    def load(self, realm: int, state: Any, due_ms: int | None) -> None:
        super().load(realm, last_rows(state), due_ms)


class NewestRow(LastRows):
    """The same of a window whose rows are all aggregates: nothing, when the last event left."""

    def spells(self, whole: Block, since: Index, held: int) -> tuple[Index, Index]:
        index, until = super().spells(whole, since, held)
        enters = whole.kinds[index] == CURRENT
        return index[enters], until[enters]


class WindowContent(Repeating):
    """A row for each event in the window, with the latest values of its group where they are
    `aggregated`. What leaves takes the oldest row of its likeness out: of its group, made of an
    event of equal attributes, whose `types` these are."""

    def __init__(
        self,
        rated: Rated,
        every: int,
        aggregated: Sequence[bool],
        types: Sequence[AttributeType],
        how: Inside = ONE_BY_ONE,
    ) -> None:
        super().__init__(rated, every, (*rated.types, *types))
        self.carried = len(types)
        self._how = how
        self._aggregated = aggregated
        self._latest = nothing(rated.types)
        self._likenesses = KeySpace()
        self._held_like = np.zeros(0, np.int64)

    def spells(self, whole: Block, since: Index, held: int) -> tuple[Index, Index]:
        new = whole.take(np.arange(held, len(whole), dtype=np.int64))
        like = np.append(self._held_like, self._likeness(new))
        until = self._until(whole.kinds, like, since)
        index = np.flatnonzero(whole.kinds == CURRENT)
        self._held_like = like[index[until[index] == NEVER]]
        if len(self._likenesses) > 2 * len(self._held_like) + FORGET_MIN:
            live = np.zeros(len(self._likenesses), np.bool_)
            live[self._held_like] = True
            self._held_like = self._likenesses.compact(live)[self._held_like]
        return index, until[index]

    def marked(self, rows: Limited) -> Block:
        block, chunk_of = rows.block, rows.chunks.chunk_of
        if not self._how.early:
            return block
        kinds = block.kinds.copy()
        came = (block.kinds[1:] == CURRENT) & (chunk_of[1:] == chunk_of[:-1])
        kinds[:-1][came & (block.kinds[:-1] == EXPIRED)] = EARLY
        return replace(block, kinds=kinds)

    def _until(self, kinds: Kinds, like: Index, since: Index) -> Index:
        """The firing that does not show each row any more that comes."""
        if self._how.key is not None:
            return replaced(like, since)
        turn = np.arange(len(like), dtype=np.int64)
        early = np.flatnonzero(kinds == EARLY)
        early = early[like[early] == like[early + 1]]
        turn[early], turn[early + 1] = early + 1, early
        enters, leaves = oldest_of_each(like[turn], kinds[turn] == CURRENT)
        until = np.full(len(like), NEVER, np.int64)
        until[turn[enters]] = since[turn[leaves]]
        return until

    def _likeness(self, rows: Block) -> Index:
        if not len(rows):
            return np.zeros(0, np.int64)
        columns = rows.columns[len(self.rated.types) :]
        if self._how.key is not None:
            names = [group_names(_alike(columns[attribute])) for attribute in self._how.key]
            return self._likenesses.assign(*combined(names))
        names = [group_names(_alike(column)) for column in columns]
        return self._likenesses.assign(*combined([(rows.groups, range(len(self.keys))), *names]))

    def shown(self, new: Block, own: Index, rows: Block, firing: Index) -> tuple[Block, Index]:
        width = len(self.rated.types)
        values = replace(new, columns=new.columns[:width]).behind(self._latest)
        rows, firing = self.chosen(rows, firing)
        columns = list(rows.columns[:width])
        if any(self._aggregated) and len(rows):
            since = np.append(np.zeros(len(self._latest), np.int64), own)
            latest = _latest(values.groups, since, rows.groups, firing)
            for i in np.flatnonzero(self._aggregated).tolist():
                columns[i] = values.columns[i].take(latest)
        lasts, _ = last_by_group(np.zeros(len(values), np.int64), values.groups)
        self._latest = values.take(lasts)
        return replace(rows, columns=tuple(columns)), firing

    def chosen(self, rows: Block, firing: Index) -> tuple[Block, Index]:
        """Those of the rows inside that are shown."""
        return rows, firing

    def forget(self) -> None:
        inside = np.zeros(len(self.keys), np.bool_)
        inside[self.held.groups] = True
        self._latest = self._latest.take(np.flatnonzero(inside[self._latest.groups]))
        known = len(self.keys)
        self.held, self._latest = self.keys.forget(self.held, self._latest)
        if len(self.keys) < known:
            # The names of likenesses have the numbers of groups in them.
            self._likenesses = KeySpace()
            self._held_like = self._likeness(self.held)

    def store(self, realm: int) -> Any:
        self.settle()
        width = len(self.rated.types)
        saved = self.keys.saved(replace(self.held, columns=self.held.columns[:width]))
        likes = self.keys.saved(replace(self.held, columns=self.held.columns[width:]))
        inside = [(like[1], row) for like, row in zip(likes, saved, strict=True)]
        data_of = {key: data for _, data, _, key in self.keys.saved(self._latest)}
        groups = dict.fromkeys(row[3] for row in saved)
        return (inside, [(key, data_of[key]) for key in groups])

    def load(self, realm: int, state: Any, due_ms: int | None) -> None:
        inside, latest = state
        rows = [(row[0], (*row[1], *like), row[2], row[3]) for like, row in inside]
        super().load(realm, rows, due_ms)
        self._held_like = self._likeness(self.held)
        if self._how.key is not None:
            # Earlier revisions kept those before the latest of a key, too.
            kept = np.flatnonzero(replaced(self._held_like, self._held_like) == NEVER)
            self.held, self._held_like = self.held.take(kept), self._held_like[kept]
        # Earlier revisions kept the values of groups that had left, too.
        groups = {row[3] for row in rows}
        values = [(0, data, CURRENT, key) for key, data in latest if key in groups]
        self._latest = self.keys.loaded(values, self.rated.types)


class GroupsInWindow(WindowContent):
    """A row for each group that has events in the window: its newest, groups in the order of their
    oldest."""

    def chosen(self, rows: Block, firing: Index) -> tuple[Block, Index]:
        index, firing = last_by_group(firing, rows.groups)
        return rows.take(index), firing


def _repeated(since: Index, until: Index) -> tuple[Index, Index]:
    """(rows, firings): each row as often as it is shown, one firing behind the other."""
    counts = np.maximum(until - since, 0)
    which = np.repeat(np.arange(len(since), dtype=np.int64), counts)
    firsts = np.cumsum(counts) - counts
    firing = np.arange(len(which), dtype=np.int64) - firsts[which] + since[which]
    arranged = np.argsort(firing, kind="stable")
    return which[arranged], firing[arranged]


def replaced(like: Index, since: Index) -> Index:
    """Since when a later row of its likeness stands in the place of each row, or NEVER."""
    by_like = np.argsort(like, kind="stable")
    own = like[by_like]
    until = np.full(len(like), NEVER, np.int64)
    follows = np.flatnonzero(own[1:] == own[:-1])
    until[by_like[follows]] = since[by_like[follows + 1]]
    return until


def _latest(groups: Index, since: Index, wanted: Index, firing: Index) -> Index:
    """The last row of each wanted group in front of a firing. `since` ascends."""
    width = int(max(since.max(), firing.max())) + 1
    by_group = np.argsort(groups, kind="stable")
    names = (groups * width + since)[by_group]
    return by_group[np.searchsorted(names, wanted * width + firing, side="right") - 1]


def _alike(column: Column) -> Column:
    """The column with one zero only: both are alike."""
    if column.type not in (AttributeType.FLOAT, AttributeType.DOUBLE):
        return column
    return Column(column.type, column.values + column.values.dtype.type(0), column.nulls)


def oldest_of_each(like: Index, enters: Any) -> tuple[Index, Index]:
    """(rows, what takes each of them out): of each likeness first in, first out; what finds nothing
    inside takes nothing out."""
    by_like = np.argsort(like, kind="stable")
    own, is_in = like[by_like], enters[by_like]
    firsts = np.searchsorted(own, own)
    total = np.cumsum(np.where(is_in, 1, -1))
    inside = total - np.where(firsts > 0, total[firsts - 1], 0)
    # The lowest so far of each likeness: a later likeness stands deeper than all of one before it.
    depth = firsts * (len(like) + 1)
    lowest = np.minimum(np.minimum.accumulate(inside - depth) + depth, 0)
    earlier = np.append(0, lowest[:-1])
    earlier[firsts == np.arange(len(like))] = 0
    takes = np.flatnonzero(~is_in & (lowest == earlier))
    entries = np.flatnonzero(is_in)
    # How many of its likeness were taken before: that many entries of it are passed over.
    gone = np.cumsum(~is_in & (lowest == earlier))
    nth = gone[takes] - 1 - np.where(firsts[takes] > 0, gone[firsts[takes] - 1], 0)
    first_entry = np.searchsorted(entries, firsts[takes])
    return by_like[entries[first_entry + nth]], by_like[takes]
