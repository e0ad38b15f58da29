"""A record in the definition that its stream has now, whatever that was when it was written.

Columns are taken by name, and numbers take the type of now. A row with a value that cannot is
refused by itself; those beside it pass. Nothing but the record and the definition counts, so every
replica and every replay finds the same. Looks at the header alone where nothing has changed.

So are the rows of the output log that were published before an upgrade and are read behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lockstep.columns.column import Index, Mask
from lockstep.events import (
    Attribute,
    AttributeType,
    Event,
    EventsRecord,
    Operation,
    Position,
    StreamSchema,
)
from lockstep.events.codec import EncodedEntry, EventColumns, EventsHeader, encode_columns
from lockstep.events.columns import (
    ARROW_TYPES,
    LETTERS,
    arrow_schema,
    default_names,
    rows_of,
    singles,
    taken,
)
from lockstep.events.outputs import OutputColumns, RowsOfColumns
from lockstep.execute.contract import EventFault

MAX_VALUES_SHOWN: Final = 5
"""In the reason of a dead letter; its payload has them all."""
MAX_VALUE_CHARS: Final = 100
"""Of each of them."""

_NAMES: Final = {kind.value[0]: kind for kind in AttributeType}


@dataclass(frozen=True, slots=True)
class Fitted:
    """What passes of a record (None: nothing), how many events that is, and what was refused."""

    entry: EncodedEntry | None
    events: int
    faults: Sequence[EventFault] = ()


def fitted(entry: EncodedEntry, header: EventsHeader, schema: StreamSchema | None) -> Fitted:
    """A record of events, for an app whose stream has that schema (None: it has no such stream).
    Errors: CodecError."""
    if schema is None:
        return _none(entry, f"the app has no stream '{header.stream}' (any more)")
    width = len(schema.attributes)
    if header.attributes != width:
        reason = f"{header.attributes} values; stream '{header.stream}' has {width} attributes"
        return _none(entry, reason)
    names = header.batch.names
    if not names and _are_names(default_names(width), schema):
        names = default_names(width)
    places = None if names in ((), schema.names) else _places(names, schema.names)
    if places is None and header.batch.codes == schema.codes:
        return Fitted(entry, header.events)
    columns = entry.columns()
    assert isinstance(columns, EventColumns)
    if places is not None:
        columns = replace(columns, batch=columns.batch.select(places))
    passing, faults = _sorted_out(entry.position, columns, schema)
    if not len(passing):
        return Fitted(None, 0, faults)
    payload = encode_columns(replace(passing, batch=_cast_all(passing.batch, schema)))
    return Fitted(EncodedEntry(entry.position, payload), len(passing), faults)


@dataclass(frozen=True, slots=True)
class Misfit:
    """Rows that do not fit, with the values and the names that they were published with."""

    rows: OutputColumns
    reason: str

    @property
    def names(self) -> tuple[str, ...]:
        """Of the values."""
        return tuple(self.rows.batch.schema.names)


def fitted_rows(
    rows: RowsOfColumns, schema: StreamSchema
) -> tuple[RowsOfColumns, Sequence[Misfit]]:
    """Rows of a stream or stored table as its definition has them now, and those that do not fit.

    What nobody named stays in its place: rows of old releases, and deletions that bear the key's
    values alone.
    """
    wanted = arrow_schema(schema)
    if all(each.batch.schema == wanted for each in rows.columns):
        return rows, ()
    misfits: list[Misfit] = []
    found = [_fitted_columns(each, schema, misfits) for each in rows.columns]
    return RowsOfColumns(found), misfits


def _fitted_columns(
    columns: OutputColumns, schema: StreamSchema, misfits: list[Misfit]
) -> OutputColumns:
    names, width = tuple(columns.batch.schema.names), len(schema.attributes)
    is_named = _are_names(names, schema)
    if len(names) != width:
        fit = np.zeros(len(columns), np.bool_)
        if not is_named and columns.operations is not None:
            fit = columns.operations == Operation.DELETE
        reason = f"published with {len(names)} values; '{schema.name}' has {width} attributes now"
        if not fit.all():
            misfits.append(Misfit(columns.picked(np.flatnonzero(~fit)), reason))
        return columns.picked(np.flatnonzero(fit))
    if not is_named:
        return columns
    places = _places(names, schema.names)
    batch = columns.batch if places is None else columns.batch.select(places)
    fit = np.ones(len(columns), np.bool_)
    for refused, reason in _refusals(batch, schema):
        fit[refused] = False
        misfits.append(Misfit(columns.picked(refused), reason))
    passing = replace(columns, batch=batch)
    if not fit.all():
        passing = passing.picked(np.flatnonzero(fit))
    return replace(passing, batch=_cast_all(passing.batch, schema))


def _are_names(names: tuple[str, ...], schema: StreamSchema) -> bool:
    """Whether the attributes were called so. What nobody named is called `c0`, `c1` …, as
    attributes are, too."""
    return names != default_names(len(names)) or set(names) == set(schema.names)


def _none(entry: EncodedEntry, reason: str) -> Fitted:
    """All of the record is refused."""
    record = entry.record()
    assert isinstance(record, EventsRecord)
    events = [Event(one.timestamp_ms, one.data) for chunk in record.chunks for one in chunk]
    return Fitted(None, 0, [EventFault(entry.position, record.stream, tuple(events), None, reason)])


@lru_cache(maxsize=1024)
def _places(names: tuple[str, ...], wanted: tuple[str, ...]) -> tuple[int, ...] | None:
    """Of each attribute the place of its column; None: its own. Columns are found by name. The
    attributes whose names the record does not know take the columns left over, in order: they
    were renamed."""
    known = {name: place for place, name in enumerate(names)}
    found = [known.get(name) for name in wanted]
    left = iter(sorted(set(range(len(names))).difference(found)))
    places = tuple(next(left) if place is None else place for place in found)
    return None if places == tuple(range(len(names))) else places


def _sorted_out(
    position: Position, columns: EventColumns, schema: StreamSchema
) -> tuple[EventColumns, list[EventFault]]:
    """The rows all of whose values fit, in their chunks, which may be empty now; and the others, by
    the first attribute that they do not fit."""
    fit = np.ones(len(columns), np.bool_)
    faults: list[EventFault] = []
    for refused, reason in _refusals(columns.batch, schema):
        fit[refused] = False
        # One letter for all of them: when a type changed, that may be every row of a long log.
        some = columns.picked(refused, singles(len(refused))).to_record()
        events = tuple(Event(one.timestamp_ms, one.data) for (one,) in some.chunks)
        faults.append(EventFault(position, schema.name, events, None, reason))
    if not faults:
        return columns, faults
    before = np.concatenate(([0], np.cumsum(fit)))
    ends = before[np.cumsum(columns.chunk_lengths)]
    lengths = np.diff(ends, prepend=0).astype(np.int32)
    return columns.picked(np.flatnonzero(fit), lengths), faults


def _refusals(batch: pa.RecordBatch, schema: StreamSchema) -> Iterator[tuple[Index, str]]:
    """Which rows have a value that does not fit, and why: by the first such attribute."""
    fit = np.ones(batch.num_rows, np.bool_)
    for place, attribute in enumerate(schema.attributes):
        column = batch.column(place)
        misfits = _misfits(column, attribute.type)
        refused = None if misfits is None else np.flatnonzero(fit & misfits)
        if refused is not None and len(refused):
            fit[refused] = False
            rows = rows_of(taken(batch.select([place]), refused), len(refused))
            values = _shown([value for (value,) in rows])
            yield refused, f"{_why(schema.name, column, attribute)}: {values}"


def _misfits(column: pa.Array, wanted: AttributeType) -> Mask | None:
    """Which values do not take a type; None: all do. A number has to stay what it is; as a double
    or float it becomes the nearest one. Nulls fit.

    Not left to a cast that is checked: what it finds at the ends of a range hangs on the machine.
    """
    kind = ARROW_TYPES[wanted]
    if column.type == kind or column.null_count == len(column):
        return None
    if not (wanted.is_numeric and _NAMES[LETTERS[column.type]].is_numeric):
        return _mask(column.is_valid())
    is_floating = pa.types.is_floating(column.type)
    if pa.types.is_floating(kind) or not (is_floating or kind.bit_width < column.type.bit_width):
        return None
    limit = (float if is_floating else int)(1 << (kind.bit_width - 1))
    fits = pc.and_(pc.greater_equal(column, -limit), pc.less(column, limit))
    if is_floating:
        fits = pc.and_(fits, pc.equal(pc.floor(column), column))
    return _mask(pc.invert(fits.fill_null(True)))


def _mask(flags: pa.Array) -> Mask:
    found: Mask = flags.to_numpy(zero_copy_only=False)
    return found


def _cast_all(batch: pa.RecordBatch, schema: StreamSchema) -> pa.RecordBatch:
    """A batch all of whose values fit, in the names and types of the definition."""
    arrays = list(map(_cast, batch.columns, schema.types))
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(schema))


def _cast(column: pa.Array, wanted: AttributeType) -> pa.Array:
    """A column all of whose values fit."""
    kind = ARROW_TYPES[wanted]
    if column.null_count == len(column):
        return pa.nulls(len(column), kind)
    return column.cast(kind, safe=False)


def _why(stream: str, column: pa.Array, attribute: Attribute) -> str:
    name, had = f"'{stream}.{attribute.name}'", _NAMES[LETTERS[column.type]]
    if had.is_numeric and attribute.type.is_numeric:
        return f"{name} holds a {had} that is no {attribute.type}"
    return f"{name} holds {had}; the app has {attribute.type}"


def _shown(values: Sequence[Any]) -> str:
    """The first ones, for people."""
    texts = [repr(value) for value in values[:MAX_VALUES_SHOWN]]
    shown = [one if len(one) <= MAX_VALUE_CHARS else one[:MAX_VALUE_CHARS] + "…" for one in texts]
    more = len(values) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
