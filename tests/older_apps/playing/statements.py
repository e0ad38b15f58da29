"""Statements that apps send to databases (`#rdbms:query`, `#rdbms:cud`): the tables that their
authors tell the reader to make, and whether each statement was made once and answered as it should.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from lockstep.mapping import annotated
from lockstep.siddhiql import CheckedApp, ast
from lockstep.siddhiql.statements import ASKING, first_word
from tests.older_apps.playing.inventing import WORDS
from tests.older_apps.playing.judging import STATEMENTS, Judge, kind_of, message_difference
from tests.older_apps.playing.stage import Stage

ANSWERS: Final = "rdbms-call-response"
_TABLE: Final = re.compile(r"CREATE TABLE \w+ ?\((?:\s*\w+ \w+(?:\(\d+\))?,?)+\)", re.IGNORECASE)
_ROW: Final = re.compile(r"INSERT INTO \w+ VALUES ?\('(\w+)'[^()]*\)", re.IGNORECASE)
_RECORDS: Final = "SELECT sink FROM lockstep_sink_calls"


def prerequisites(text: str) -> Iterator[str]:
    """What the comments of a sample want to be run before it; each row also for the names that are
    drawn here."""
    yield from (found.group() for found in _TABLE.finditer(text))
    for row in _ROW.finditer(text):
        for word in (row[1], *WORDS):
            yield row.group().replace(f"'{row[1]}'", f"'{word}'", 1)


def asking(checked: CheckedApp) -> Mapping[str, ast.Annotation]:
    """Its sinks that send statements, by stream."""
    found = annotated(checked, "sink")
    return {schema.name: sink for schema, _, sink in found if kind_of(sink) == STATEMENTS}


async def statements_difference(
    stage: Stage, mark: str, checked: CheckedApp, judge: Judge
) -> tuple[str | None, int]:
    """What was not made as often as the reference says, or not answered as the database answers;
    and how many were."""
    expected: list[bytes] = []
    found: list[bytes] = []
    records = []
    answers = {
        source.get("sink.id"): schema.name
        for schema, _, source in annotated(checked, "source")
        if source.get("type") == ANSWERS
    }
    sinks = asking(checked)
    if any(not _is_question(sink) for sink in sinks.values()):
        records = [str(row[0]) for row in await stage.asked(mark, _RECORDS)]
    for stream, sink in sinks.items():
        asked = [row.data for row in judge.expected if row.stream == stream]
        names = checked.schemas[stream].names
        if _is_question(sink):
            for data in asked:
                values = dict(zip(names, data, strict=True))
                expected += await _answers(stage, mark, stream, sink, values)
            gives = len((sink.get("gives") or "").split(","))
            rows = judge.taken[answers[sink.get("sink.id")]]
            found += [_told(stream, row[-gives:]) for row in rows]
        else:
            expected += [stream.encode()] * len(asked)
            found += [stream.encode() for one in records if f"/{stream}." in f"/{one}"]
    return message_difference(expected, found), len(found)


def _is_question(sink: ast.Annotation) -> bool:
    return first_word(sink.get("statement") or "") in ASKING


async def _answers(
    stage: Stage, mark: str, stream: str, sink: ast.Annotation, values: Mapping[str, Any]
) -> list[bytes]:
    """Asked by another client than ours."""
    statement = (sink.get("statement") or "").replace("?", "%s")
    names = [one.strip() for one in (sink.get("parameters") or "").split(",") if one.strip()]
    rows = await stage.asked(mark, statement, [values[name] for name in names])
    return [_told(stream, row) for row in rows]


def _told(stream: str, row: tuple[object, ...]) -> bytes:
    return f"{stream} {list(row)!r}".encode()
