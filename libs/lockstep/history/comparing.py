"""Two sets of rows, position by position: which stand in both, and which in one alone. Blocking.

Rows of a position count as a bag: units of a cut app have no order between keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from lockstep.archive import naming
from lockstep.archive.keeping import SideArchive
from lockstep.archive.reading import Span

if TYPE_CHECKING:  # loads pandas: 40 MB, which most processes never need
    import pyarrow.dataset as ds

WINDOW: Final = 65_536
MISSING: Final = "missing"
OTHER: Final = "other"
_LEADING: Final = (naming.POSITION, naming.TIMESTAMP, naming.OPERATION)


@dataclass(frozen=True, slots=True)
class Difference:
    """A row that was published and not given again, or the reverse."""

    kind: str
    stream: str
    position: int
    timestamp_ms: int
    values: tuple[Any, ...]


@dataclass
class Compared:
    """How many rows are the same, were published only (`missing`), were given only (`other`)."""

    same: int = 0
    missing: int = 0
    other: int = 0
    first: list[Difference] = field(default_factory=list)


class Rows:
    """What a side has of each stream, as it is now."""

    def __init__(self, side: SideArchive) -> None:
        self.streams: dict[str, list[ds.Dataset]] = {}
        for name, table in side.tables():
            found = table.dataset()
            if found is not None:
                self.streams.setdefault(name.stream, []).append(found)

    def last(self) -> int:
        """The greatest position of a row."""
        found = [0]
        for datasets in self.streams.values():
            for one in datasets:
                for batch in one.to_batches(columns=[naming.POSITION]):
                    found += [pc.max(batch.column(0)).as_py()] if len(batch) else []
        return max(found)

    def of(self, stream: str, span: Span) -> list[pa.Table]:
        """The rows of a span, of each shape, in the order of identities, without these."""
        place = (pc.field(naming.POSITION) > span.after) & (pc.field(naming.POSITION) <= span.up_to)
        found: list[pa.Table] = []
        for dataset in self.streams.get(stream, ()):
            rows = dataset.to_table(filter=place)
            if len(rows):
                rows = rows.sort_by([(naming.POSITION, "ascending"), (naming.ORDINAL, "ascending")])
                values = [one for one in rows.column_names if one not in naming.ROW_COLUMNS]
                found.append(rows.select([*_LEADING, *values]).combine_chunks())
        return found


def compared(published: Rows, given: Rows, span: Span, *, shown: int) -> Compared:
    """Of all streams that either has."""
    result = Compared()
    for window in _windows(span):
        for stream in sorted({*published.streams, *given.streams}):
            _compare(stream, published.of(stream, window), given.of(stream, window), result, shown)
    return result


def _windows(span: Span) -> Iterator[Span]:
    for start in range(span.after, span.up_to, WINDOW):
        yield Span(start, min(start + WINDOW, span.up_to))


def _compare(
    stream: str, one: Sequence[pa.Table], two: Sequence[pa.Table], result: Compared, shown: int
) -> None:
    if len(one) == len(two) == 1 and one[0].equals(two[0]):
        result.same += len(one[0])
        return
    published, given = _bag(one), _bag(two)
    result.same += (published & given).total()
    missing, other = published - given, given - published
    result.missing += missing.total()
    result.other += other.total()
    room = shown - len(result.first)
    if room > 0:
        both = [(MISSING, row) for row in missing] + [(OTHER, row) for row in other]
        both.sort(key=lambda each: each[1][:2])
        result.first += [_told(kind, stream, row) for kind, row in both[:room]]


def _told(kind: str, stream: str, row: tuple[Any, ...]) -> Difference:
    return Difference(kind, stream, row[0], row[1], row[3:])


def _bag(tables: Sequence[pa.Table]) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for table in tables:
        columns = [_comparable(one.to_pylist()) for one in table.columns]
        found.update(zip(*columns, strict=True))
    return found


def _comparable(values: list[Any]) -> list[Any]:
    """No number equals NaN, and here one does."""
    return ["NaN" if value != value else value for value in values]


def as_json(difference: Difference) -> Mapping[str, Any]:
    """For programs."""
    return {
        "kind": difference.kind, "stream": difference.stream, "position": difference.position,
        "timestamp_ms": difference.timestamp_ms, "values": [*map(str, difference.values)],
    }  # fmt: skip
