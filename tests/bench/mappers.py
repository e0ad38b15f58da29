"""How fast forms of messages are read and written: `python -m tests.bench.run --part mappers`.

Events of six attributes, as the receiver reads them (`message_reader`) and as the publisher writes
them (`MessageWriter`), in one thread and without any transport: an event a message, and a thousand
in a message where the form has such messages.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any, Final

from lockstep.events import Event
from lockstep.mapping import MessageWriter
from lockstep.siddhiql import check
from lockstep_services.receiver.mapped import message_reader

EVENTS: Final = 20_000
TOGETHER: Final = 1_000
ROUNDS: Final = 3
_NAMES: Final = ("room", "floor", "celsius", "at", "open", "humidity")
_STREAM: Final = (
    "define stream S (room string, floor int, celsius double, at long, open bool, humidity float);"
)
_FIELDS: Final = [
    {"name": name, "type": type_}
    for name, type_ in zip(
        _NAMES, ("string", "int", "double", "long", "boolean", "float"), strict=True
    )
]
_RECORD: Final = {"type": "record", "name": "S", "fields": _FIELDS}
_ARRAY: Final = json.dumps({"type": "array", "items": _RECORD})
_PROTO: Final = (
    'syntax = "proto3"; message S { string room = 1; int32 floor = 2; double celsius = 3; '
    "int64 at = 4; bool open = 5; float humidity = 6; }"
)
_QUOTES: Final = '"""'
_PATHS: Final = "@attributes({})".format(", ".join(f"{name}='{name}'" for name in _NAMES))
_JSON_PATHS: Final = _PATHS.replace("='", "='$.event.")

# form → options of `@map` for a message of one event, for one of many; more of the source's
FORMS: Final[dict[str, tuple[str, str | None, str]]] = {
    "json, by names": (
        "type='json'",
        "type='json', event.grouping.enabled='true'",
        "fail.on.missing.attribute='false'",
    ),
    "json, by paths": (
        "type='json', event.grouping.enabled='false'",
        "type='json', event.grouping.enabled='true'",
        _JSON_PATHS,
    ),
    "msgpack": ("type='msgpack'", "type='msgpack', event.grouping.enabled='true'", ""),
    "avro": (
        "type='avro'",
        f"type='avro', event.grouping.enabled='true', schema.def={_QUOTES}{_ARRAY}{_QUOTES}",
        "",
    ),
    "avro, by paths": (
        "type='avro'",
        f"type='avro', event.grouping.enabled='true', schema.def={_QUOTES}{_ARRAY}{_QUOTES}",
        _PATHS,
    ),
    "avro container": (
        "type='avro', form='container'",
        "type='avro', form='container', event.grouping.enabled='true'",
        "",
    ),
    "protobuf": (f"type='protobuf', schema.def={_QUOTES}{_PROTO}{_QUOTES}", None, ""),
    "protobuf, by paths": (f"type='protobuf', schema.def={_QUOTES}{_PROTO}{_QUOTES}", None, _PATHS),
}


def mappers_figures() -> list[dict[str, Any]]:
    """A row per form and size of messages: events/s and MB/s, the best of three rounds."""
    events = [
        Event(
            1_000 + n,
            (f"room {n % 50}", n % 7, 20 + n % 100 / 8, n * 1_000, n % 2 == 0, n % 64 / 4),
        )
        for n in range(EVENTS)
    ]
    found = []
    for form, (alone, together, extra) in FORMS.items():
        found.append(_figures(form, alone, extra, events, 1))
        if together is not None:
            found.append(_figures(form, together, extra, events, TOGETHER))
    return found


def _figures(form: str, options: str, extra: str, events: list[Event], size: int) -> dict[str, Any]:
    comma = ", " if extra else ""
    checked = check(
        f"@sink(type='log', @map({options})) @source(type='http', @map({options}{comma}{extra})) "
        f"{_STREAM}"
    )
    [definition] = checked.app.definitions
    annotations = {each.name: each for each in definition.annotations}  # type: ignore[union-attr]
    schema = checked.streams["S"]
    writer = MessageWriter(schema, annotations["sink"])
    reader = message_reader(schema, annotations["source"])
    assert reader is not None
    groups = [events[at : at + size] for at in range(0, len(events), size)]
    bodies = [writer.write(group) for group in groups]
    read = sum(len(chunk) for body in bodies for chunk in reader.read(body, {}).chunks)
    assert read == len(events)
    writing = _seconds(lambda: [writer.write(group) for group in groups])
    reading = _seconds(lambda: [reader.read(body, {}) for body in bodies])
    sent = sum(map(len, bodies))
    row = {
        "name": f"{form}, {size} a message",
        "bytes an event": round(sent / len(events), 1),
        "read events/s": round(len(events) / reading),
        "read MB/s": round(sent / reading / 1e6, 1),
        "write events/s": round(len(events) / writing),
        "write MB/s": round(sent / writing / 1e6, 1),
    }
    print(row)
    return row


def _seconds(work: Callable[[], Any]) -> float:
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)
