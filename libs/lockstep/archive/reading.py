"""The archive read back in the order of the log. All calls block.

A reader looks at one version of each table: what is archived, put together or expired meanwhile
does not change what it reads. Only erasing takes files from under it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lockstep.archive import naming
from lockstep.archive.events_in import EVENTS, GAP, LEFT_OUT, Restored, StreamRows, restored
from lockstep.archive.keeping import SideArchive
from lockstep.archive.place import Place
from lockstep.archive.tables import Table, folders_below
from lockstep.events import Position

if TYPE_CHECKING:  # loads pandas: 40 MB, which most processes never need
    import pyarrow.dataset as ds

WINDOW: Final = 16_384
"""Positions looked at together."""
SLICE_EVENTS: Final = 131_072
READ_EVENTS: Final = 1_048_576
READ_BYTES: Final = 134_217_728
"""What is read at once: files that were put together have the rows of many slices side by side."""

RowsByTable = Mapping[tuple[str, str], StreamRows]
"""By stream and shape."""

Block = tuple[Sequence[Mapping[str, Any]], RowsByTable]
"""Rows of `records`, and the events that they stand for."""


@dataclass(frozen=True, slots=True)
class Span:
    """Positions behind `after` up to `up_to`."""

    after: Position
    up_to: Position


@dataclass(frozen=True, slots=True)
class Gap:
    """What is lacking, at its first and last position: the events of a stream, or, without one, all
    records that there were."""

    stream: str
    first: Position
    last: Position


@dataclass(frozen=True)
class Pinned:
    """The versions that somebody reads, by path: what travels to other machines."""

    versions: Mapping[str, int]


class InputReader:
    """Of one app's input log. `pinned`: versions that somebody else has chosen."""

    def __init__(self, place: Place, logs: naming.Logs, pinned: Pinned | None = None) -> None:
        self._place = place
        self._side = SideArchive(place, logs, naming.INPUT)
        if pinned is None:
            # `records` first: writers write it last, so the others have what it has. What they
            # have beyond it stands behind `bounds`.
            records = self._side.records
            found = {records.path: records.version()}
            found |= {name.path: table.version() for name, table in self._side.tables()}
            pinned = Pinned({path: one for path, one in found.items() if one is not None})
        self.pinned = pinned
        self._datasets: dict[str, ds.Dataset | None] = {}

    @property
    def is_empty(self) -> bool:
        """Nothing was archived."""
        return self._side.records.path not in self.pinned.versions

    def _dataset(self, path: str) -> ds.Dataset | None:
        if path not in self._datasets:
            version = self.pinned.versions.get(path)
            table = Table(self._place, path)
            self._datasets[path] = None if version is None else table.dataset(version)
        return self._datasets[path]

    def bounds(self) -> Span:
        """From in front of the first record to the last one."""
        dataset = self._dataset(self._side.records.path)
        if dataset is None:
            return Span(0, 0)
        found = _extremes(dataset, "position", None)
        return Span(0, 0) if found is None else Span(found[0] - 1, found[1])

    def first_at(self, time_ms: int, *, is_playback: bool) -> Position | None:
        """The first record at or behind a time: of the clock, in playback of the events themselves;
        None: there is none yet."""
        if not is_playback:
            records = self._dataset(self._side.records.path)
            if records is None:
                return None
            found = _extremes(records, "position", pc.field("clock_ms") >= time_ms)
            return None if found is None else found[0]
        firsts: list[Position] = []
        known = pc.field(naming.POSITION) <= self.bounds().up_to
        for name, _ in self._side.tables():
            dataset = self._dataset(name.path)
            if dataset is not None:
                later = pc.field(naming.TIMESTAMP) >= time_ms
                found = _extremes(dataset, naming.POSITION, later & known)
                firsts += [] if found is None else [found[0]]
        return min(firsts, default=None)

    def records(self, span: Span) -> Iterator[Sequence[Mapping[str, Any]]]:
        """Rows of `records` in order, window by window."""
        dataset = self._dataset(self._side.records.path)
        if dataset is None:
            return
        for start in range(span.after, span.up_to, WINDOW):
            end = min(start + WINDOW, span.up_to)
            place = (pc.field("position") > start) & (pc.field("position") <= end)
            rows = dataset.to_table(filter=place).sort_by("position").to_pylist()
            if rows:
                yield rows

    def slices(self, span: Span, max_events: int = SLICE_EVENTS) -> Iterator[list[Restored]]:
        """The records of a span as they stood in the log, in slices that cut none."""
        for read, rows in _ahead(self._blocks(span, max_events)):
            for records in _sized(read, max_events):
                yield [restored(one, _of(rows, one)) for one in records if one["kind"] != GAP]

    def _blocks(self, span: Span, max_events: int) -> Iterator[Block]:
        """Records of a span with their rows: at first `max_events`, then as many as
        `READ_BYTES` and `READ_EVENTS` allow."""
        at_once = max_events
        for window in self.records(span):
            start = 0
            while start < len(window):
                read = window[start : start + _fitting(window[start:], at_once)]
                start += len(read)
                rows, read_bytes = self._rows(read)
                yield read, rows
                events = max(1, sum(one["events"] or 0 for one in read))
                room = READ_BYTES * events // max(1, read_bytes)
                at_once = max(max_events, min(READ_EVENTS, room))

    def _rows(self, records: Sequence[Mapping[str, Any]]) -> tuple[RowsByTable, int]:
        """The rows of records, by stream and shape, and how many bytes they take."""
        first, last = records[0]["position"], records[-1]["position"]
        wanted = {(one["stream"], one["shape"]) for one in records if one["kind"] == EVENTS}
        found = {key: self._events(*key, first, last) for key in wanted}
        size = sum(batch.nbytes for batches in found.values() for batch in batches)
        return {key: StreamRows(batches) for key, batches in found.items()}, size

    def _events(
        self, stream: str, shape: str, first: Position, last: Position
    ) -> Sequence[pa.RecordBatch]:
        dataset = self._dataset(self._side.table(stream, shape).path)
        if dataset is None:
            return ()
        place = (pc.field(naming.POSITION) >= first) & (pc.field(naming.POSITION) <= last)
        found = dataset.to_table(filter=place)
        # Delta keeps its own order of columns: those it partitions by may come last.
        names = list(naming.EVENT_COLUMNS)
        rest = [one for one in found.column_names if one not in names]
        found = found.select([*names, *rest])
        if not _ascends(found):
            found = found.sort_by([(naming.POSITION, "ascending"), (naming.ROW, "ascending")])
        batches: list[pa.RecordBatch] = found.combine_chunks().to_batches()
        return batches

    def shapes(self, span: Span) -> dict[tuple[str, str], Position]:
        """The streams whose events stand in a span, of which shape, and where first."""
        dataset = self._dataset(self._side.records.path)
        if dataset is None:
            return {}
        place = (pc.field("position") > span.after) & (pc.field("position") <= span.up_to)
        found: dict[tuple[str, str], Position] = {}
        columns = ["position", "stream", "shape"]
        is_events = pc.field("kind") == EVENTS
        for batch in dataset.to_batches(columns=columns, filter=place & is_events):
            table = pa.Table.from_batches([batch])
            least = table.group_by(["stream", "shape"]).aggregate([("position", "min")])
            for row in least.to_pylist():
                key = (row["stream"], row["shape"])
                found[key] = min(row["position_min"], found.get(key, row["position_min"]))
        return found

    def clock_behind(self, position: Position) -> int:
        """The clock of the first record behind a position; 0: there is none."""
        found = next(self.records(Span(position, position + WINDOW)), ())
        return int(found[0]["clock_ms"]) if found else 0

    def gaps(self, span: Span) -> list[Gap]:
        """Why a fold of the span would not be that of the log: records that were forgotten before
        they were archived, and streams that are not archived."""
        dataset = self._dataset(self._side.records.path)
        if dataset is None:
            return []
        place = (pc.field("position") > span.after) & (pc.field("position") <= span.up_to)
        odd = place & pc.field("kind").isin([GAP, LEFT_OUT])
        found: dict[str, Gap] = {}
        for row in dataset.to_table(columns=["position", "kind", "stream"], filter=odd).to_pylist():
            stream = row["stream"] if row["kind"] == LEFT_OUT else ""
            one = found.get(stream, Gap(stream, row["position"], row["position"]))
            first, last = min(one.first, row["position"]), max(one.last, row["position"])
            found[stream] = Gap(stream, first, last)
        return sorted(found.values(), key=lambda one: one.stream)

    def time_behind(self, position: Position, *, is_playback: bool) -> int:
        """The first time, as `first_at` has it, at which all up to a position is left out."""
        places = [(self._side.records.path, "clock_ms", "position")]
        if is_playback:
            tables = [name.path for name, _ in self._side.tables()]
            places = [(path, naming.TIMESTAMP, naming.POSITION) for path in tables]
        latest = -1
        for path, column, place in places:
            dataset = self._dataset(path)
            if dataset is not None:
                found = _extremes(dataset, column, pc.field(place) <= position)
                latest = latest if found is None else max(latest, found[1])
        return latest + 1


def _ascends(rows: pa.Table) -> bool:
    positions = rows.column(naming.POSITION).to_numpy()
    numbers = rows.column(naming.ROW).to_numpy()
    steps = np.diff(positions)
    return bool(((steps > 0) | ((steps == 0) & (np.diff(numbers) > 0))).all())


def _ahead(blocks: Iterator[Block]) -> Iterator[Block]:
    """Reads the next one while this one is used."""
    reader = ThreadPoolExecutor(1, "archive-reader")
    try:
        coming = reader.submit(next, blocks, None)
        while (found := coming.result()) is not None:
            coming = reader.submit(next, blocks, None)
            yield found
    finally:
        # Whoever goes away early need not wait for a block that nobody wants.
        reader.shutdown(wait=False, cancel_futures=True)


def _of(rows: RowsByTable, record: Mapping[str, Any]) -> pa.Table | None:
    source = rows.get((record["stream"], record["shape"]))
    return source and source.of(record["position"])


def _sized(
    records: Sequence[Mapping[str, Any]], max_events: int
) -> Iterator[Sequence[Mapping[str, Any]]]:
    start = 0
    while start < len(records):
        end = start + _fitting(records[start:], max_events)
        yield records[start:end]
        start = end


def _fitting(records: Sequence[Mapping[str, Any]], max_events: int) -> int:
    """How many of the first records have no more events than that; one at least."""
    events = 0
    for index, record in enumerate(records):
        events += record["events"] or 0
        if index and events > max_events:
            return index
    return len(records)


def _extremes(dataset: ds.Dataset, column: str, where: Any) -> tuple[int, int] | None:
    low: int | None = None
    high: int | None = None
    for batch in dataset.to_batches(columns=[column], filter=where):
        if len(batch):
            found = pc.min_max(batch.column(0)).as_py()
            low = found["min"] if low is None else min(low, found["min"])
            high = found["max"] if high is None else max(high, found["max"])
    return None if low is None or high is None else (low, high)


def lives_of(place: Place, app: str) -> list[naming.Logs]:
    """The logs of an app that were archived, the newest last. Folders of other names are somebody
    else's."""
    found = folders_below(place, naming.folder_name(app))
    numbers = [int(one) for one in found if one.isascii() and one.isdecimal()]
    return [naming.Logs(app, one) for one in sorted(numbers)]


def apps_of(place: Place) -> list[str]:
    """All apps of which something was archived."""
    return [naming.name_of(one) for one in folders_below(place, "") if not one.startswith("_")]
