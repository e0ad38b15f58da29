"""What a slice's writes bring to a table: the keys of rows, by which they are made, and then the
values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lockstep.columns.chunks import Chunks
from lockstep.columns.column import Column, Unfit, from_values
from lockstep.columns.frame import Rows as Frame
from lockstep.columns.pairs import beside
from lockstep.events import describe
from lockstep.operators.contract import StreamEvent
from lockstep.operators.errors import PROCESSING_ERRORS
from lockstep.tables import kernel as tables
from lockstep.tables.coming import Coming
from lockstep.tables.following import Followed
from lockstep.tables.rows import Rows
from lockstep.tables.store import TableStore
from lockstep.tables.writers import Writer

Longs = npt.NDArray[np.int64]
Own = tuple[Writer, Chunks]
_STEP_ROWS = 48
"""Rows that a step on columns has on average at least, else rows are computed one by one."""


def brought(writer: Writer, chunks: Chunks, table: TableStore) -> tuple[Longs, Longs]:
    """By index the keys of each row of a writer, as a new row and as a changed one (kernel)."""
    count = len(chunks)
    shape = (len(table.indexes), count)
    new, changed = np.zeros(shape, np.int64), np.full(shape, -1, np.int64)
    if writer.inserted:
        columns = _new_rows(writer.inserted, chunks, table)
        table.check(columns)
        new = table.keys_of(columns, count)
    if writer.changed:
        table.check([None if at is None else chunks.columns[at] for at in writer.changed])
        for index in table.indexes[1:]:
            places = [writer.changed[attribute] for attribute in index.attributes]
            given = [chunks.columns[place] for place in places if place is not None]
            if given:
                changed[index.number] = index.ids(given, create=True)
    return new, changed


def writes_of(writers: Sequence[Own], arranged: Longs, table: TableStore) -> tables.Writes:
    """The rows of writers, one writer's behind the other's, `arranged` in order, as writes."""
    keys = [brought(writer, chunks, table) for writer, chunks in writers]
    # What one writer brings another one may look for, so this comes second.
    looked = [sought(writer, chunks) for writer, chunks in writers]
    return tables.Writes(
        *(np.concatenate(each)[arranged] for each in zip(*looked, strict=True)),
        *(
            np.ascontiguousarray(np.concatenate(each, axis=1)[:, arranged])
            for each in zip(*keys, strict=True)
        ),
    )


def keyed_writes(writers: Sequence[Own], arranged: Longs, table: TableStore) -> tuple[Longs, Longs]:
    """The same of a table whose rows are found by key: the key that each looks for, and that of the
    row which it inserts."""
    own = [_keys_of(writer, chunks, table) for writer, chunks in writers]
    pairs = zip(writers, own, strict=True)
    wanted = [_wanted_of(writer, chunks, keys) for (writer, chunks), keys in pairs]
    if len(writers) == 1:
        return wanted[0], own[0]
    return np.concatenate(wanted)[arranged], np.concatenate(own)[arranged]


def _keys_of(writer: Writer, chunks: Chunks, table: TableStore) -> Longs:
    """The key of each row of a writer as a new row, of a table whose rows are found by key."""
    if writer.changed:
        table.check([None if at is None else chunks.columns[at] for at in writer.changed])
    if not writer.inserted:
        return np.full(len(chunks), -1, np.int64)
    columns = _new_rows(writer.inserted, chunks, table)
    table.check(columns)
    index = table.index(table.primary)
    return index.ids([columns[i] for i in index.attributes], create=True)


def _wanted_of(writer: Writer, chunks: Chunks, own: Longs) -> Longs:
    """The key that each looks for; `own` are those as new rows."""
    if not writer.wanted or writer.wants_own:
        return own
    frame = beside(chunks, 0)
    return writer.index.ids([value(frame) for value in writer.wanted], create=False)


def sought(writer: Writer, chunks: Chunks) -> tuple[Longs, Longs, Longs]:
    """Kind, index and key there of each row of a writer."""
    count = len(chunks)
    wanted = np.zeros(count, np.int64)
    if writer.wanted:
        frame = beside(chunks, 0)
        wanted = writer.index.ids([value(frame) for value in writer.wanted], create=False)
    kind, index = (np.full(count, n, np.int64) for n in (writer.kind, writer.index.number))
    return kind, index, wanted


def _new_rows(places: Sequence[int | None], chunks: Chunks, table: TableStore) -> list[Column]:
    """The columns of new rows."""
    nothing = [None] * len(chunks)
    return [
        from_values(type_, nothing) if place is None else chunks.columns[place]
        for type_, place in zip(table.schema.types, places, strict=True)
    ]


def fill(store: TableStore, entries: Longs, rows: Rows, followed: Followed) -> None:
    """Sees to the values of all rows that came, also those that were followed: they are written
    here where rows are computed of rows, else when somebody looks (coming)."""
    came = np.flatnonzero(entries[:, 2] >= 0)
    if len(came) < len(entries):
        entries = entries.take(came, axis=0)
    if not len(entries):
        return
    if followed.computes or not any(writer.computed for writer, _ in rows.writers):
        store.coming = Coming(store, entries, rows, followed)
        return
    store.held.times[entries[:, 2]] = rows.times_of(entries[:, 0])
    depth = tables.depths(entries, np.zeros(len(store.held.times), np.int64))
    last = int(depth.max())
    if last * _STEP_ROWS > len(entries):
        _row_by_row(store, entries, rows)
        return
    _given(store, entries, rows)
    for step in range(last + 1):
        lines = np.flatnonzero(depth == step) if last else np.arange(len(entries))
        _computed(store, entries[lines], rows)


def _lines(entries: Longs, rows: Rows, number: int) -> tuple[Longs, Longs]:
    """(the entries of a writer that insert, those that change)."""
    own = rows.owner[entries[:, 0]] == number
    new = entries[:, 1] < 0
    return np.flatnonzero(own & new), np.flatnonzero(own & ~new)


def _given(store: TableStore, entries: Longs, rows: Rows) -> None:
    """What rows have from those that the writers brought."""
    for number, (writer, chunks) in enumerate(rows.writers):
        inserts, changes = _lines(entries, rows, number)
        for lines, places in ((inserts, writer.inserted), (changes, writer.changed)):
            if not len(lines):
                continue
            source, target = rows.row[entries[lines, 0]], entries[lines, 2]
            for attribute, place in enumerate(places):
                if place is not None:
                    store.held.put(attribute, target, chunks.columns[place].take(source))
                elif lines is inserts:
                    nothing = from_values(store.schema.types[attribute], [None] * len(lines))
                    store.held.put(attribute, target, nothing)


def _computed(store: TableStore, entries: Longs, rows: Rows) -> None:
    """What rows keep, and what is computed of them, where they are as they were."""
    for number, (writer, chunks) in enumerate(rows.writers):
        _, lines = _lines(entries, rows, number)
        if not len(lines):
            continue
        write, old, new = entries[lines].T
        frame = _pairs(store, chunks, rows, write, old)
        for attribute, place in enumerate(writer.changed):
            compute = writer.computed.get(attribute)
            if compute is not None:
                store.held.put(attribute, new, compute(frame))
            elif place is None:
                store.held.copy(attribute, old, new)


def _pairs(store: TableStore, chunks: Chunks, rows: Rows, write: Longs, old: Longs) -> Frame:
    """Rows of the writer (slot 0) beside those of the table (slot 1)."""
    source = rows.row[write]

    def find(slot: int, attribute: int) -> Column:
        if slot:
            return store.held.column(attribute, old)
        return chunks.columns[attribute].take(source)

    return Frame(len(write), find, lambda: rows.times_of(write), lambda: rows.now[write])


def _row_by_row(store: TableStore, entries: Longs, rows: Rows) -> None:
    """All values of new rows, by the reference's actions: where rows are changed again and again,
    there is nothing to do at once."""
    events = [_events(chunks) for _, chunks in rows.writers]
    owner, row = rows.owner[entries[:, 0]].tolist(), rows.row[entries[:, 0]].tolist()
    olds, news = entries[:, 1].tolist(), entries[:, 2].tolist()
    known = _known(store, entries)
    made: list[tuple[Any, ...]] = []
    try:
        for number, at, old, new in zip(owner, row, olds, news, strict=True):
            action, event = rows.actions[number], events[number][at]
            if old >= 0:
                data = action.setter(event, known[old])
            else:
                arrange = getattr(action, "arrange", None)
                data = event.data if arrange is None else arrange(event)
            known[new] = StreamEvent(event.timestamp_ms, data)
            made.append(data)
    except PROCESSING_ERRORS as error:
        raise Unfit(f"a table refuses an event: {describe(error)}") from error
    for attribute, type_ in enumerate(store.schema.types):
        column = from_values(type_, [data[attribute] for data in made])
        store.held.put(attribute, entries[:, 2], column)


def _events(chunks: Chunks) -> list[StreamEvent]:
    data = zip(*(column.to_pylist() for column in chunks.columns), strict=True)
    return list(map(StreamEvent, chunks.times.tolist(), data))


def _known(store: TableStore, entries: Longs) -> dict[int, StreamEvent]:
    """The rows that there were before, of those that are changed."""
    places = np.setdiff1d(entries[:, 1], np.append(entries[:, 2], -1))
    data = zip(*(column.to_pylist() for column in store.held.columns(places)), strict=True)
    times = store.held.times[places].tolist()
    return dict(zip(places.tolist(), map(StreamEvent, times, data), strict=True))
