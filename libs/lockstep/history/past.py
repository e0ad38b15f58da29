"""The past that an app is to begin with: what of an archive it is, and whether the app's text can
take it. All calls block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from lockstep.archive import naming
from lockstep.archive.keeping import SideArchive
from lockstep.archive.place import Place
from lockstep.archive.reading import InputReader, Span, lives_of
from lockstep.events import Position
from lockstep.events.columns import ARROW_TYPES
from lockstep.history.errors import HistoryError
from lockstep.history.gaps import check_gaps
from lockstep.plan import AppPlan
from lockstep.siddhiql import SiddhiQLError, ast

_ONLY_NULLS: Final = "n"


@dataclass(frozen=True, slots=True)
class PastSpan:
    """What of an archived input log an app is to fold: what stands behind `after`; the archive has
    it up to `archived_to`. `begins_ms`: the clock of the first record. `ignored`: streams that the
    text does not have."""

    logs: naming.Logs
    after: Position
    archived_to: Position
    begins_ms: int
    ignored: Sequence[str]


def past_of(plan: AppPlan, place: Place, app: str, from_ms: int) -> PastSpan:
    """What the archive of `app` has from a time on. HistoryError; SiddhiQLError where a stream of
    the text had other attributes then."""
    lives = lives_of(place, app)
    if not lives:
        raise HistoryError(
            f"the archive has nothing of an app '{app}'",
            hint="`lockstep archive list` says what there is; --from-app names whose input to take",
        )  # fmt: skip
    logs = lives[-1]
    reader = InputReader(place, logs)
    whole = reader.bounds()
    first = reader.first_at(from_ms, is_playback=plan.checked.is_playback)
    if first is None:
        raise HistoryError(
            f"the archive of '{app}' ends before that time",
            hint="deploy it without --from: there is nothing to fold",
        )  # fmt: skip
    span = Span(max(first - 1, whole.after), whole.up_to)
    ignored = check_span(plan, place, reader, logs, span)
    return PastSpan(logs, span.after, span.up_to, reader.clock_behind(span.after), ignored)


def check_span(
    plan: AppPlan, place: Place, reader: InputReader, logs: naming.Logs, span: Span
) -> Sequence[str]:
    """Whether the text can fold what is archived of a span; the streams in it that the text does
    not have. HistoryError, SiddhiQLError."""
    check_gaps(plan, reader, span)
    found = reader.shapes(span)
    for (stream, shape), position in found.items():
        if stream in plan.inputs:
            _check_shape(plan, SideArchive(place, logs, naming.INPUT), stream, shape, position)
    return sorted({stream for stream, _ in found if stream not in plan.inputs})


def _check_shape(
    plan: AppPlan, side: SideArchive, stream: str, shape: str, position: Position
) -> None:
    table = side.table(stream, shape).opened()
    if table is None:
        return
    columns = [
        one for one in pa.schema(table.schema().to_arrow()) if one.name not in naming.EVENT_COLUMNS
    ]
    schema = plan.schemas[stream]
    # A column that had nothing but nulls is of no type, and fits any.
    codes = shape.partition("-")[0]
    wanted = naming.codes_of(ARROW_TYPES[kind] for kind in schema.types)
    same_types = all(one in (_ONLY_NULLS, two) for one, two in zip(codes, wanted, strict=False))
    if same_types and [one.name for one in columns] == naming.column_names(schema.names):
        return
    defined = (one.at for one in plan.checked.app.definitions if one.name == stream)
    at = next(defined, ast.NOWHERE)
    had = ", ".join(f"{one.name} {one.type}" for one in columns)
    raise SiddhiQLError(
        f"stream '{stream}' had other attributes at position {position}: {had}",
        line=at.line, column=at.column,
        hint="a time since when it had those of today leaves these out",
    )  # fmt: skip
