"""How fast forms of messages are read and written: `python -m tests.bench.run --part mappers`.

Events of six attributes, in one thread and without any transport; an event a message, and a
thousand in a message where the form has such messages. Read: from a message's bytes to those of the
input log's record, as the receiver does it: large messages in columns where there is a reader for
that. Of a thousand in a message it is also measured how fast they are event by event. Written: as
the publisher does it. Each form takes turns with the suite's own JSON of the same events, and
seconds are those of the processor, so that figures hold on a machine that is busy, too.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lockstep.events import Event, StreamSchema
from lockstep.mapping import MessageWriter
from lockstep.siddhiql import ast, check
from lockstep_services.receiver.columns import ColumnReader
from lockstep_services.receiver.decode import JSON, decode_text
from lockstep_services.receiver.drafts import RowsDraft
from lockstep_services.receiver.mapped import MessageReader, message_reader
from lockstep_services.receiver.values import EventReader

EVENTS: Final = 5_000
TOGETHER: Final = 1_000
ROUNDS: Final = 7
_STREAM: Final = (
    "define stream S (room string, floor int, celsius double, at long, open bool, humidity float);"
)
_BYTES_STREAM: Final = "define stream S (body object);"
_NAMES: Final = ("room", "floor", "celsius", "at", "open", "humidity")
_FIELDS: Final = [
    {"name": name, "type": type_}
    for name, type_ in zip(
        _NAMES, ("string", "int", "double", "long", "boolean", "float"), strict=True
    )
]
_RECORD: Final = {"type": "record", "name": "S", "fields": _FIELDS}
_QUOTES: Final = '"""'
_GROUPED: Final = "event.grouping.enabled='true'"
_ALONE: Final = "type='json'"
_TOGETHER: Final = f"type='json', {_GROUPED}"
_ARRAY: Final = json.dumps({"type": "array", "items": _RECORD})
_ARRAY_DEF: Final = f"schema.def={_QUOTES}{_ARRAY}{_QUOTES}"
_PROTO_DEF: Final = (
    'syntax = "proto3"; message S { string room = 1; int32 floor = 2; double celsius = 3; '
    "int64 at = 4; bool open = 5; float humidity = 6; }"
)
_PROTO: Final = f"type='protobuf', schema.def={_QUOTES}{_PROTO_DEF}{_QUOTES}"


def _attributes(path: Callable[[str], str]) -> str:
    return "@attributes({})".format(", ".join(f"{name}='{path(name)}'" for name in _NAMES))


_PATHS: Final = _attributes(str)
_PLACES: Final = _attributes(lambda name: str(_NAMES.index(name)))
_REGEXES: Final = ", ".join(
    f"""regex.{letter}={_QUOTES}{name}:"?([^",\\n]*){_QUOTES}"""
    for letter, name in zip("ABCDEF", _NAMES, strict=True)
)
_REGEX_GROUPS: Final = _attributes(lambda name: "ABCDEF"[_NAMES.index(name)])


@dataclass(frozen=True)
class Form:
    """Options of `@map` for a message of one event, and for one of many, if there is such.

    `extra`: what the source alone says. `grouping`: the sink, for many. `joined`: how other senders
    write it, and not a sink here.
    """

    name: str
    alone: str
    together: str | None = None
    extra: str = ""
    grouping: str = ""
    stream: str = _STREAM
    joined: Callable[[Sequence[Event]], bytes] | None = None


def _own_json(events: Sequence[Event]) -> bytes:
    """As any sender writes it: bare objects of JSON, an array of several."""
    objects = [dict(zip(_NAMES, event.data, strict=True)) for event in events]
    return json.dumps(objects if len(objects) > 1 else objects[0], separators=(",", ":")).encode()


def _plain(name: str, more: str = "", extra: str = "") -> Form:
    """A form whose type is its name, and which groups by the usual option."""
    type_ = f"type='{name}'{more}"
    title = f"{name}, by attributes" if extra else name
    return Form(title, type_, f"{type_}, {_GROUPED}", extra)


FORMS: Final = (
    Form(
        "json, with gaps",
        _ALONE,
        _TOGETHER,
        "fail.on.missing.attribute='false'",
        joined=_own_json,
    ),
    _plain("json", extra=_attributes(lambda name: f"$.event.{name}")),
    _plain("csv"),
    _plain("csv", extra=_PLACES),
    Form("xml", "type='xml'", "type='xml'"),
    Form("xml, by attributes", "type='xml'", "type='xml'", f"enclosing.element='events', {_PATHS}"),
    _plain("text"),
    _plain("text", extra=f"{_REGEXES}, {_REGEX_GROUPS}"),
    Form("keyvalue, a form", "type='keyvalue'"),
    Form("keyvalue, json", "type='keyvalue'", "type='keyvalue'", joined=_own_json),
    Form("binary", "type='binary'", "type='binary'"),
    _plain("msgpack"),
    _plain("msgpack", extra=_PATHS),
    Form("cloudevents", "type='cloudevents'", "type='cloudevents'", grouping=_GROUPED),
    Form("avro", "type='avro'", f"type='avro', {_GROUPED}, {_ARRAY_DEF}"),
    Form("avro, by attributes", "type='avro'", f"type='avro', {_GROUPED}, {_ARRAY_DEF}", _PATHS),
    Form(
        "avro container",
        "type='avro', form='container'",
        f"type='avro', form='container', {_GROUPED}",
    ),
    Form("protobuf", _PROTO),
    Form("protobuf, by attributes", _PROTO, extra=_PATHS),
    Form("binaryPassThrough", "type='binaryPassThrough'", stream=_BYTES_STREAM),
)

Work = Callable[[], Any]


def mappers_figures(only: str = "") -> list[dict[str, Any]]:
    """A row per form and size of messages: the medians of some rounds, in turns with JSON."""
    events = [
        Event(
            1_000 + n,
            (f"room {n % 50}", n % 7, 20 + n % 100 / 8, n * 1_000, n % 2 == 0, n % 64 / 4),
        )
        for n in range(EVENTS)
    ]
    found = []
    for form in FORMS:
        if only not in form.name:
            continue
        found.append(_figures(form, form.alone, events, 1))
        if form.together is not None:
            found.append(_figures(form, form.together, events, TOGETHER))
    return found


def _figures(form: Form, options: str, events: list[Event], size: int) -> dict[str, Any]:
    schema, sink, source = _declared(form, options, form.grouping if size > 1 else "")
    reader = message_reader(schema, source)
    assert reader is not None
    writer = MessageWriter(schema, sink)
    groups = [events[at : at + size] for at in range(0, len(events), size)]
    plain = [_own_json(group) for group in groups]
    given = groups
    if form.stream is _BYTES_STREAM:
        given = [[Event(1_000, (body,))] for body in plain]
    bodies = [(form.joined or writer.write)(group) for group in given]
    door = _Door()
    assert len(bodies) == len(plain) == len(events) // size

    def mapped() -> None:
        _read_all(schema, reader, bodies, size, in_columns=True)

    def by_event() -> None:
        _read_all(schema, reader, bodies, size, in_columns=False)

    assert sum(len(chunk) for body in bodies for chunk in reader.read(body, {}).chunks) == EVENTS
    read, slow, json_read = _in_turns(mapped, by_event, lambda: door.take(plain, size))
    row = {
        "name": f"{form.name}, {size} a message",
        "bytes an event": round(sum(map(len, bodies)) / EVENTS, 1),
        "in columns": reader.draft(bodies[0], {}, None) is not None,
        **_rates("read", read, json_read, bodies, plain),
    }
    if row["in columns"]:
        row |= _rates("by event", slow, json_read, bodies, plain)
    if size == 1 or _groups(sink):
        base = MessageWriter(*_declared(FORMS[0], _ALONE if size == 1 else _TOGETHER)[:2])
        wrote, json_wrote = _in_turns(
            lambda: [writer.write(group) for group in given],
            lambda: [base.write(group) for group in groups],
        )
        written = [writer.write(group) for group in given]
        json_written = [base.write(group) for group in groups]
        row |= _rates("write", wrote, json_wrote, written, json_written)
    print(row, flush=True)
    return row


def _read_all(
    schema: StreamSchema, reader: MessageReader, bodies: Sequence[bytes], size: int, *,
    in_columns: bool,
) -> None:  # fmt: skip
    """To records of the input log, each of a thousand events."""
    chunks: list[Any] = []
    for body in bodies:
        draft = reader.draft(body, {}, None) if in_columns else None
        if draft is not None:
            draft.encoded(1_000)
            continue
        chunks += reader.read(body, {}).chunks
        if len(chunks) >= TOGETHER or size > 1:
            RowsDraft(schema, chunks).encoded(1_000)
            chunks = []


def _groups(sink: ast.Annotation) -> bool:
    """Whether a sink puts several events into a message."""
    [mapping] = sink.nested("map")
    return mapping.get("event.grouping.enabled") == "true"


class _Door:
    """The suite's own JSON, as the receiver reads it: large bodies in columns, others as rows."""

    def __init__(self) -> None:
        self._schema = check(_STREAM).streams["S"]
        self._rows = EventReader(self._schema)
        self._columns = ColumnReader(self._schema)

    def take(self, bodies: Sequence[bytes], size: int) -> None:
        """To records of the input log, each of a thousand events."""
        chunks: list[Any] = []
        for body in bodies:
            draft = self._columns.read(JSON, body, None)
            if draft is not None:
                draft.encoded(1_000)
                continue
            chunks += decode_text(JSON, body, self._rows, max_refused=1).chunks
            if len(chunks) * size >= TOGETHER:
                RowsDraft(self._schema, chunks).encoded(1_000)
                chunks = []


def _declared(
    form: Form, options: str, grouping: str = ""
) -> tuple[StreamSchema, ast.Annotation, ast.Annotation]:
    written = ", ".join(filter(None, (options, grouping)))
    read = ", ".join(filter(None, (options, form.extra)))
    checked = check(
        f"@sink(type='log', @map({written})) @source(type='http', @map({read})) {form.stream}"
    )
    [definition] = checked.app.definitions
    annotations = {each.name: each for each in definition.annotations}  # type: ignore[union-attr]
    return checked.streams["S"], annotations["sink"], annotations["source"]


def _in_turns(*works: Work) -> list[list[float]]:
    """Processor seconds of each, round by round; a round before them is not counted."""
    for work in works:
        work()
    found: list[list[float]] = [[] for _ in works]
    for _ in range(ROUNDS):
        for work, seconds in zip(works, found, strict=True):
            began = time.process_time()
            work()
            seconds.append(time.process_time() - began)
    return found


def _rates(
    what: str,
    seconds: Sequence[float],
    of_json: Sequence[float],
    bodies: Sequence[bytes],
    json_bodies: Sequence[bytes],
) -> dict[str, Any]:
    median, json_median = statistics.median(seconds), statistics.median(of_json)
    ratios = [plain / own for own, plain in zip(seconds, of_json, strict=True)]
    return {
        f"{what} events/s": round(EVENTS / median),
        f"{what} MB/s": round(sum(map(len, bodies)) / median / 1e6, 1),
        f"{what} json events/s": round(EVENTS / json_median),
        f"{what} json MB/s": round(sum(map(len, json_bodies)) / json_median / 1e6, 1),
        f"{what} to json": round(statistics.median(ratios), 2),
    }
