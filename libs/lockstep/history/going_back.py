"""Where an app stood at a time of its clock: in its archive, and in what its log still holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow.compute as pc

from lockstep.archive.naming import Logs
from lockstep.archive.place import Place
from lockstep.archive.reading import InputReader, Span
from lockstep.events import Position
from lockstep.events.bundles import Bundle
from lockstep.events.codec import EncodedEntry
from lockstep.events.columns import EventColumns
from lockstep.history.past import check_span
from lockstep.plan import AppPlan


@dataclass(frozen=True, slots=True)
class Archived:
    """What an archive says of a time. `later`: its first record behind the time; None: it has none.
    `span`: what it holds. `begins_ms`: the clock of its first record."""

    later: Position | None
    span: Span
    begins_ms: int


def archived_at(place: Place, logs: Logs, to_ms: int, *, is_playback: bool) -> Archived | None:
    """None where nothing of these logs is archived. Blocks. UnavailableError."""
    reader = InputReader(place, logs)
    if reader.is_empty:
        return None
    span = reader.bounds()
    later = reader.first_at(to_ms + 1, is_playback=is_playback)
    return Archived(later, span, reader.clock_behind(span.after))


def check_archived(plan: AppPlan, place: Place, logs: Logs, span: Span) -> None:
    """HistoryError or SiddhiQLError where a fold of the archive would not be that of the log.
    Blocks. UnavailableError."""
    check_span(plan, place, InputReader(place, logs), logs, span)


def first_later(
    entries: Sequence[EncodedEntry], to_ms: int, *, is_playback: bool
) -> Position | None:
    """The first record behind a time: of the door's clock, in playback one with a later event;
    None where there is none among these. CodecError. Pure."""
    for entry in entries:
        if clock_of(entry, is_playback=is_playback) > to_ms:
            return entry.position
    return None


def clock_of(entry: EncodedEntry, *, is_playback: bool) -> int:
    """Of a record, in milliseconds; in playback that of its latest event, 0 where it has none."""
    if not is_playback:
        return entry.header.clock_ms
    columns = entry.columns()
    parts = columns.parts if isinstance(columns, Bundle) else (columns,)
    events = [one for one in parts if isinstance(one, EventColumns) and len(one)]
    return max((int(pc.max(one.timestamps()).as_py()) for one in events), default=0)
