"""An on-demand query on what is archived of a stream, with the meaning that it has on a table: what
the process does that `remembering` starts. `python -m lockstep.history.recalling`: a question comes
in as JSON, an answer goes out, and that is all.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from lockstep.aggregations.meaning.ranges import span
from lockstep.archive import naming
from lockstep.archive.answering import end_with, limited_to
from lockstep.archive.keeping import SideArchive
from lockstep.archive.place import Place
from lockstep.archive.reading import lives_of
from lockstep.archive.tables import UNREADABLE, Table, one_line
from lockstep.control import OnDemandAnswer, refusal_of
from lockstep.events import AttributeType, LockstepError, StreamSchema
from lockstep.events.columns import ARROW_TYPES, conformed, default_names, rows_of
from lockstep.events.typed import from_json
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.execute.reference.on_demand import matching, select
from lockstep.history.errors import HistoryError
from lockstep.history.questions import Recall
from lockstep.operators.contract import StreamEvent
from lockstep.plan import AppPlan, plan_of_deployed
from lockstep.siddhiql import CheckedOnDemand, ast, check_on_demand
from lockstep.tables.meaning import Match

BATCH_ROWS: Final = 65_536
THREADS: Final = 2
_ONLY_NULLS: Final = "n"
_ORDERS: Final = {
    naming.OUTPUT: (naming.SEQUENCE, naming.POSITION, naming.ORDINAL),
    naming.INPUT: (naming.POSITION, naming.ROW),
}
"""What tells in which order rows of a side stood."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A table of a stream, and which of the app's lives it is of."""

    life: int
    side: str
    shape: str
    table: Table


def recalled(question: Recall) -> OnDemandAnswer:
    """Blocking."""
    try:
        return _answer(question)
    except LockstepError as error:
        return refusal_of(error)
    except UNREADABLE as error:
        return OnDemandAnswer(error=one_line(error))


def _answer(question: Recall) -> OnDemandAnswer:
    plan = plan_of_deployed(question.text)
    checked = check_on_demand(question.query, plan.checked)
    executor = ReferenceExecutor(plan)
    engine = executor.engine
    engine.now = engine.wall = question.now_ms
    found = _events(question, plan, checked, matching(checked, engine))
    rows = select(checked, found, engine)
    if len(rows) > question.rows:
        raise HistoryError(
            f"the answer has more than {question.rows} rows (archive.query_rows)",
            hint="add a limit, group them, or export them by `lockstep archive query`",
        )
    columns = [(one.name, str(one.type)) for one in checked.output.attributes]
    return OnDemandAnswer(rows=[list(row) for row in rows], columns=columns)


def _events(
    question: Recall, plan: AppPlan, checked: CheckedOnDemand, match: Match
) -> list[StreamEvent]:
    """What the query lets through, in the order in which it stood in the logs."""
    place = Place(question.folder, question.options)
    schema = checked.scope.sources[0].schema
    time = _within(checked)
    found: list[tuple[tuple[int, ...], StreamEvent]] = []
    tables = _tables(place, question.app, schema.name)
    if not tables:
        raise _nothing_of(schema.name, plan)
    for one in tables:
        for keys, events in _read(one, schema, time, match):
            kept = {id(event) for event in match.rows(None, events)}
            found += [
                (key, event) for key, event in zip(keys, events, strict=True) if id(event) in kept
            ]
    found.sort(key=lambda each: each[0])
    return [event for _, event in found]


def _tables(place: Place, app: str, stream: str) -> Sequence[_Found]:
    """Of what was published; where nothing was, of what came in. As SQL names them."""
    sides: dict[str, list[_Found]] = {}
    for logs in lives_of(place, app):
        for side in (naming.OUTPUT, naming.INPUT):
            for name, table in SideArchive(place, logs, side).tables():
                if name.stream == stream:
                    one = _Found(logs.since_ms, side, name.shape, table)
                    sides.setdefault(side, []).append(one)
    return sides.get(naming.OUTPUT) or sides.get(naming.INPUT) or ()


def _nothing_of(stream: str, plan: AppPlan) -> HistoryError:
    """Nothing is archived of a stream; what the app's author can do about it."""
    hint = "@archive in front of its definition, or @app:archive, keeps it from now on"
    is_written = any(stream in node.written for node in plan.nodes)
    if is_written and stream not in plan.exported:
        hint = (
            "other queries read it and it has no sink, so its rows are not published, and not "
            "archived. Give it a sink, as @sink(type='log'), or ask a stream that they write"
        )
    return HistoryError(f"nothing is archived of stream '{stream}'", hint=hint)


def _within(checked: CheckedOnDemand) -> pc.Expression:
    """The time that is asked for, as a condition on tables."""
    within = checked.query.range
    assert within is not None
    start, end = within.start, within.end
    assert isinstance(start, ast.Constant)
    last = end.value if isinstance(end, ast.Constant) else None
    start_ms, end_ms = span(start.value, last, is_pattern=end is None)
    time = pc.field(naming.TIMESTAMP)
    return (time >= start_ms) & (time < end_ms)


def _texts(columns: Sequence[str], schema: StreamSchema, match: Match) -> pc.Expression:
    """What tables can leave out by themselves: texts that are not the one asked for."""
    where = pc.scalar(True)
    for one in match.equalities:
        is_text = schema.types[one.attribute] is AttributeType.STRING
        if is_text and isinstance(one.value, ast.Constant) and isinstance(one.value.value, str):
            where &= pc.field(columns[one.attribute]) == one.value.value
    return where


def _read(
    one: _Found, schema: StreamSchema, time: pc.Expression, match: Match
) -> Iterator[tuple[list[tuple[int, ...]], list[StreamEvent]]]:
    """Events of a table, each with what they are put in order by."""
    dataset = one.table.dataset()
    if dataset is None:
        return
    there = _attributes(dataset.schema)
    names = [each.name for each in there] if _is_alike(one, schema, there) else None
    order = _ORDERS[one.side]
    columns = [*order, naming.TIMESTAMP, *(names or ())]
    where = time if names is None else time & _texts(names, schema, match)
    for batch in dataset.to_batches(columns=columns, filter=where, batch_size=BATCH_ROWS):
        count = len(batch)
        if not count:
            continue
        if names is None:
            raise HistoryError(
                f"stream '{schema.name}' had other attributes in that time: "
                + ", ".join(f"{each.name} {each.type}" for each in there),
                hint="a later 'within' leaves them out; `lockstep archive query` reads both",
            )
        values = batch.select(range(len(order) + 1, batch.num_columns))
        data = rows_of(conformed(values, schema), count)
        times = batch.column(len(order)).to_pylist()
        places = zip(*(batch.column(at).to_pylist() for at in range(len(order))), strict=True)
        yield [(one.life, *place) for place in places], list(map(StreamEvent, times, data))


def _attributes(schema: pa.Schema) -> list[pa.Field]:
    own = {naming.DAY, *naming.EVENT_COLUMNS, *naming.ROW_COLUMNS}
    return [one for one in schema if one.name not in own]


def _is_alike(one: _Found, schema: StreamSchema, there: Sequence[pa.Field]) -> bool:
    """Columns of today's attributes; or of their types alone, where nobody named them. One that had
    nothing but nulls is of no type, and fits any."""
    wanted = naming.codes_of(ARROW_TYPES[kind] for kind in schema.types)
    codes = one.shape.partition("-")[0]
    names = [each.name for each in there]
    known = (naming.column_names(schema.names), list(default_names(len(schema.names))))
    same = all(has in (_ONLY_NULLS, code) for has, code in zip(codes, wanted, strict=False))
    return same and names in known


def main() -> None:
    """One question from standard input."""
    question = from_json(sys.stdin.buffer.read(), Recall)
    limited_to(question.memory_bytes, question.cpu_s)
    pa.set_cpu_count(THREADS)
    pa.set_io_thread_count(THREADS)
    try:
        answer = msgspec.json.encode(recalled(question), enc_hook=str)
    except MemoryError:
        refused = OnDemandAnswer(
            error="the query needs more memory than it may have here", user_error=True,
            hint="a shorter 'within', or `lockstep archive query`, which has Spark",
        )  # fmt: skip
        answer = msgspec.json.encode(refused)
    end_with(answer)


if __name__ == "__main__":
    main()
