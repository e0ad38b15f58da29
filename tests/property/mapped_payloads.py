"""Random messages in the forms of sources: mostly as a sender means them, some odd, some broken."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from lockstep.events import Event, StreamSchema
from lockstep.mapping import MappingError, MessageWriter
from lockstep.plan import java
from lockstep.siddhiql import ast, check
from lockstep_services.receiver.mapped import message_reader

TYPES: Final = ("string", "int", "long", "float", "double", "bool")
NAMES: Final = tuple(f"a_{kind}" for kind in TYPES)
STREAM: Final = f"define stream S ({', '.join(f'a_{kind} {kind}' for kind in TYPES)});"
WITH_OBJECT: Final = STREAM.replace(");", ", a_object object);")
GROUPED: Final = "event.grouping.enabled='true'"

_PLAIN: Final = {
    "string": ("", "a", "room 1", "grüße ☃", "🐍", "null", "NaN", "x" * 40),
    "int": ("0", "5", "-7", "2147483647", "-2147483648", "007", "-0"),
    "long": ("0", "1700000000000", "-9223372036854775808", "9223372036854775807"),
    "float": ("0", "0.1", "-2.5", "1e5", "3.4028235677973366e38", "1e39", ".5", "7"),
    "double": ("0.0", "20.125", "-1e-5", "1e308", "5e-324", "1.", "9007199254740993"),
    "bool": ("true", "false", "TRUE", "False"),
}  # fmt: skip
_ODD: Final = (
    "", " ", "null", " null", "+5", "0x1F", "0X1p3", "inf", "-inf", "nan", "NaN", "Infinity",
    "-Infinity", "1d", "2.5f", "1_0", "٣", "5 ", " 5", "\u00a05", "\x1f5", "5\t", "2147483648",
    "9223372036854775808", "99999999999999999999", "1e400", "1e-400", "+1e+5", "--1", ".", "1e",
    "yes", "İ", "a\u2028b", "\u2003", "]]>", "a&b", "<b>", "a>b", 'say "x"', "'q'", '"', "'", ",",
    "a,", ",,", "a;b", "~~~~~~~~~~", "x:y", "a\nb", "a\rb", "a\r\nb", "\x00", "\x01", "\ufffe",
    "\ufeff", "\ud83d", "\\u0041", "-", "1 2", "tRue",
)  # fmt: skip


@dataclass(frozen=True)
class Form:
    """A `@map` and what makes messages for it. `plain`: some messages must become columns."""

    name: str
    mapping: str
    make: Callable[[random.Random], bytes]
    stream: str = STREAM
    is_text: bool = True

    def reader(self) -> Any:
        """What reads the messages of a source of that form."""
        checked = check(f"@source(type='http', @map({self.mapping})) {self.stream}")
        [definition] = checked.app.definitions
        assert isinstance(definition, ast.StreamDefinition)
        return message_reader(checked.streams["S"], definition.annotations[0])

    def schema(self) -> StreamSchema:
        """The stream's."""
        return check(self.stream).streams["S"]


def message(form: Form, chance: random.Random) -> bytes:
    """A message, in one case of four broken somewhere."""
    body = form.make(chance)
    if chance.random() < 0.25 and body:
        at = chance.randrange(len(body))
        piece = body[at : at + chance.choice((1, 1, 3, 20))]
        match chance.randrange(4):
            case 0:
                return body[:at] + body[at + len(piece) :]
            case 1:
                return body[:at] + piece + body[at:]
            case 2:
                odd = chance.choice(_ODD).encode(errors="replace") if form.is_text else b"\xc0"
                return body[:at] + odd + body[at:]
            case _:
                return body[:at] + bytes([chance.randrange(256)]) + body[at + 1 :]
    return body


def _events(chance: random.Random) -> range:
    return range(chance.choice((1, 2, 3, 7, 20)))


def _oddness(chance: random.Random) -> float:
    """How often a value is odd: in half of the messages none is."""
    return chance.choice((0, 0, 0.02, 0.3))


def _text(kind: str, chance: random.Random, oddness: float) -> str:
    if chance.random() < oddness:
        return chance.choice(_ODD).replace("\ud83d", "?")
    return chance.choice(_PLAIN[kind])


def _value(kind: str, chance: random.Random, oddness: float) -> Any:
    """A value of JSON."""
    if chance.random() < oddness:
        return chance.choice(
            (None, 5, -1, 2**31, 2**63, 2**70, 1.5, 1e300, True, "x", "7", "\ud83d", [1], {"k": []},
             *_ODD)
        )  # fmt: skip
    text = chance.choice(_PLAIN[kind])
    if kind == "string":
        return text
    if kind == "bool":
        return text.lower() == "true"
    return int(text) if kind in ("int", "long") else float(text)


# --- lines and tags ----------------------------------------------------------------------------


def _csv(delimiter: str = ",", head: str = "") -> Callable[[random.Random], bytes]:
    def make(chance: random.Random) -> bytes:
        oddness, end = _oddness(chance), chance.choice(("\n", "\n", "\r\n", "\r"))
        blanks, quotes = chance.choice((0, 0, 0.2)), chance.choice((0, 0, 0.2))
        lines = [
            delimiter.join(_cell(kind, chance, oddness, blanks, quotes) for kind in TYPES)
            + (f"{delimiter}more" if chance.random() < oddness else "")
            for _ in _events(chance)
        ]
        lines = [line for line in lines for line in (line, *[""] * (chance.random() < oddness))]
        text = end.join([head] * bool(head) + lines) + end * chance.randrange(3)
        return text.encode(chance.choice(("utf-8", "utf-8", "utf-8-sig")))

    return make


def _cell(kind: str, chance: random.Random, oddness: float, blanks: float, quotes: float) -> str:
    text = _text(kind, chance, oddness)
    if chance.random() < quotes:
        text = '"' + text.replace('"', '""') + '"'
    if chance.random() < blanks:
        text = chance.choice((" ", "\t", "  ")) + text + chance.choice(("", " "))
    return text


def _xml(root: str, event: str) -> Callable[[random.Random], bytes]:
    def make(chance: random.Random) -> bytes:
        oddness, between = _oddness(chance), chance.choice(("", "", "\n  ", "\r\n"))
        names = list(zip(NAMES, TYPES, strict=True))
        chance.shuffle(names)
        extra = chance.random() < 0.2
        events = []
        for _ in _events(chance):
            inner = [
                f"<{name}>{_escaped(_text(kind, chance, oddness), chance)}</{name}>"
                for name, kind in names
                if chance.random() >= oddness / 5
            ]
            inner += ["<more>1</more>"] * extra
            events.append(f"<{event}>{between}{between.join(inner)}{between}</{event}>")
        head = chance.choice(("", "", '<?xml version="1.0" encoding="UTF-8"?>', "<!-- x -->"))
        body = between.join(events)
        return f"{head}<{root}>{between}{body}{between}</{root}>\n".encode(errors="replace")

    return make


def _escaped(text: str, chance: random.Random) -> str:
    if chance.random() < 0.9:
        text = text.replace("&", "&amp;").replace("<", "&lt;").replace("]]>", "]]&gt;")
    return text


def _lines(chance: random.Random) -> bytes:
    oddness = _oddness(chance)
    comma, end = chance.choice((",", ",", "")), chance.choice(("", "", "\n", "\n\n"))
    names = list(zip(NAMES, TYPES, strict=True))
    if chance.random() < 0.2:
        chance.shuffle(names)
    events = []
    for _ in _events(chance):
        lines = []
        for name, kind in names:
            text = _text(kind, chance, oddness)
            is_null = chance.random() < 0.05
            if kind == "string" and not is_null and chance.random() >= oddness:
                text = f'"{text}"'
            lines.append(f"{name}:{'null' if is_null else text}")
            if chance.random() < oddness / 5:
                lines.append("more:1")
        events.append(f"{comma}\n".join(lines))
    between = chance.choice(("\n~~~~~~~~~~\n",) * 4 + ("\n ~~~~~~~~~~\n",))
    return (between.join(events) + end).encode(errors="replace")


# --- documents ---------------------------------------------------------------------------------


def _object(chance: random.Random, oddness: float, *, with_object: bool = False) -> dict[str, Any]:
    found = {
        name: _value(kind, chance, oddness)
        for name, kind in zip(NAMES, TYPES, strict=True)
        if chance.random() >= oddness / 5
    }
    if with_object:
        found["a_object"] = chance.choice((None, 1, "x", [1, {"k": None}], {"x": 0.5}))
    if chance.random() < oddness:
        found[chance.choice(("more", "event", "_timestamp"))] = chance.choice((1, "x", {}, [1]))
    return found


def _json(shape: Callable[[dict[str, Any]], Any], *, enclosed: str = "") -> Any:
    def make(chance: random.Random) -> bytes:
        oddness = _oddness(chance)
        found: Any = [shape(_object(chance, oddness, with_object=True)) for _ in _events(chance)]
        if chance.random() < oddness:
            found.insert(chance.randrange(len(found)), chance.choice((None, 1, [], {}, "x")))
        if chance.random() < 0.1:
            found = found[0]
        document = {enclosed: found} if enclosed else found
        return _dumped(document, chance)

    return make


def own_json(*, wraps: bool, as_lines: bool) -> Form:
    """The suite's own form, which needs no source."""

    def make(chance: random.Random) -> bytes:
        oddness = _oddness(chance)
        found = [_object(chance, oddness, with_object=True) for _ in _events(chance)]
        shaped = [{"event": each} if wraps else each for each in found]
        if as_lines:
            return b"\n".join(_dumped(each, chance) for each in shaped)
        return _dumped(shaped, chance)

    return Form("own", "", make, WITH_OBJECT)


def _dumped(document: Any, chance: random.Random) -> bytes:
    text = json.dumps(document, ensure_ascii=chance.random() < 0.5)
    return text.encode(errors="replace")


def _cloud_events(chance: random.Random) -> bytes:
    oddness = _oddness(chance)
    times = ("2026-03-01T10:00:00Z", "2026-03-01T10:00:00.1234567+05:30", "1970-01-01T00:00:00Z")
    odd_times = (
        "2026-03-01 10:00:00Z", "2026-03-01T10:00:00", "2026-03-01t10:00:00z",
        "1969-12-31T23:59:59Z", "9999-01-01T00:00:00Z", "2026-02-30T10:00:00Z",
        "2026-03-01T24:00:00Z", "2026-03-01T10:00:60Z",
        "2026-03-01T10:00Z", "2026-03-01T10:00:00+0530", "2026-03-01T10:00:00.Z", 5, None, "",
        "2026-03-01T10:00:00+24:00", "2026-03-01T10:00:00.12345678901Z",
    )  # fmt: skip
    has_time = chance.random() < 0.7
    events = []
    for number in _events(chance):
        event: dict[str, Any] = {
            "specversion": "1.0", "id": f"ü{number}", "source": "/s", "type": "t",
            "data": _object(chance, oddness, with_object=True),
        }  # fmt: skip
        if has_time or chance.random() < oddness:
            event["time"] = chance.choice(odd_times if chance.random() < oddness else times)
        if chance.random() < oddness:
            name = chance.choice(("specversion", "id", "source", "type", "data", "data_base64"))
            event[name] = chance.choice((None, "", 1, "x", "e30=", "0.3", "\ud83d", {}))
            if chance.random() < 0.3:
                del event[name]
        events.append(event)
    return _dumped(events if chance.random() < 0.9 else events[0], chance)


def _msgpack(*, as_lists: bool) -> Callable[[random.Random], bytes]:
    def make(chance: random.Random) -> bytes:
        oddness = _oddness(chance)
        found: list[Any] = []
        for _ in _events(chance):
            event: dict[Any, Any] = _object(chance, oddness, with_object=True)
            if chance.random() < oddness:
                event[chance.choice((*NAMES, b"a_int", "more", 5))] = chance.choice(
                    (b"bytes", b"\xff", datetime(2026, 3, 1, tzinfo=UTC), float("nan"), 2**64 - 1,
                     msgspec.msgpack.Ext(1, b"x"), float("inf"), [b"x"], {5: 1}, None)
                )  # fmt: skip
            found.append(list(event.values()) if as_lists else event)
        try:
            return msgspec.msgpack.encode(found)
        except (OverflowError, UnicodeEncodeError, ValueError):
            return b"\x90"  # no MessagePack can hold it

    return make


def _sent(options: str) -> Callable[[random.Random], bytes]:
    """As sinks write them."""
    checked = check(f"@sink(type='log', @map({options})) {STREAM}")
    [definition] = checked.app.definitions
    assert isinstance(definition, ast.StreamDefinition)
    writer = MessageWriter(checked.streams["S"], definition.annotations[0])

    def make(chance: random.Random) -> bytes:
        oddness = _oddness(chance)
        rows = [
            tuple(None if chance.random() < oddness else _held(kind, chance) for kind in TYPES)
            for _ in _events(chance)
        ]
        try:
            return writer.write([Event(0, row) for row in rows])
        except MappingError:
            return b""  # it has no nulls

    return make


def _held(kind: str, chance: random.Random) -> Any:
    """A value as an event has it."""
    value = _value(kind, chance, 0)
    return java.f32(value) if kind == "float" else value


def _attributes(paths: Sequence[str], *more: str) -> str:
    named = zip((*NAMES, "a_object"), (*paths, *more), strict=False)
    return "@attributes({})".format(", ".join(f"{name}='{path}'" for name, path in named))


_AVRO_FIELDS: Final = [
    {"name": name, "type": ["null", "boolean" if kind == "bool" else kind]}
    for name, kind in zip(NAMES, TYPES, strict=True)
]
_AVRO_ARRAY: Final = json.dumps(
    {"type": "array", "items": {"type": "record", "name": "S", "fields": _AVRO_FIELDS}}
)
_AVRO: Final = f'type=\'avro\', schema.def="""{_AVRO_ARRAY}"""'
_LENIENT: Final = "fail.on.missing.attribute='false'"
_NESTED: Final = _attributes([f"$.in.{name}" for name in NAMES], "$.in.a_object")
_PLACES: Final = _attributes(("5", "4", "3", "2", "1", "trp:x"))
_REGEXES: Final = (
    "type='text', " + GROUPED + ", " + ", ".join(
        f'''regex.{letter}="""{name}:"?([^",\n]*)"""'''
        for letter, name in zip("ABCDEF", NAMES, strict=True)
    ) + ", "
)  # fmt: skip


def _nested(inner: dict[str, Any]) -> Any:
    return {"in": inner, "k": 1}


FORMS: Final = (
    Form("csv", f"type='csv', {GROUPED}", _csv()),
    Form("csv;", f"type='csv', delimiter=';', header='true', {GROUPED}", _csv(";", "a;b")),
    Form("csv tab", f"type='csv', delimiter='\\t', {GROUPED}", _csv("\t")),
    Form("csv many", f"type='csv', delimiter='||', {GROUPED}", _csv("||")),
    Form("csv null", f"type='csv', fail.on.unknown.attribute='false', {GROUPED}", _csv()),
    Form(
        "csv of one",
        f"type='csv', {GROUPED}",
        lambda chance: _csv()(chance).replace(b",", b"\n"),
        "define stream S (a_string string);",
    ),
    Form(
        "csv places",
        f"type='csv', {GROUPED}, {_attributes(('trp:x', '1', '2', '4', '3', '5'))}",
        _csv(),
    ),
    Form("xml", "type='xml'", _xml("events", "event")),
    Form("xml missing", f"type='xml', {_LENIENT}", _xml("events", "event")),
    Form(
        "xml paths",
        f"type='xml', enclosing.element='list', {_attributes(NAMES)}",
        _xml("list", "one"),
    ),
    Form("text", f"type='text', {GROUPED}", _lines),
    Form(
        "text in one line",
        f"type='text', new.line.character=';', delimiter='--', {GROUPED}",
        lambda chance: _lines(chance).replace(b"\n", b";").replace(b"~~~~~~~~~~", b"--"),
    ),
    Form("text missing", f"type='text', {_LENIENT}, {GROUPED}", _lines),
    Form("regexes", _REGEXES + _attributes("ABCDEF"), _lines),
    Form("regexes missing", f"{_REGEXES}{_LENIENT}, {_attributes('ABCDEF')}", _lines),
    Form("json", f"type='json', {_NESTED}", _json(_nested), WITH_OBJECT),
    Form("json missing", f"type='json', {_LENIENT}, {_NESTED}", _json(_nested), WITH_OBJECT),
    Form("json gaps", f"type='json', {_LENIENT}", _json(dict), WITH_OBJECT),
    Form("json wrapped", f"type='json', {_LENIENT}", _json(lambda e: {"event": e}), WITH_OBJECT),
    Form(
        "json named",
        f"type='json', enclosing.element='$.list', {_LENIENT}",
        _json(dict, enclosed="list"),
        WITH_OBJECT,
    ),
    Form(
        "json strict",
        "type='json', enclosing.element='$.list'",
        _json(lambda event: {"event": event}, enclosed="list"),
        WITH_OBJECT,
    ),
    Form(
        "json enclosed",
        f"type='json', enclosing.element='$.list', event.grouping.enabled='false', {_NESTED}",
        _json(_nested, enclosed="list"),
        WITH_OBJECT,
    ),
    Form("keyvalue", "type='keyvalue'", _json(dict), WITH_OBJECT),
    Form("cloudevents", "type='cloudevents'", _cloud_events, WITH_OBJECT),
    Form(
        "cloudevents paths",
        "type='cloudevents', "
        + _attributes([f"$.data.{name}" for name in NAMES], "$.data.a_object"),
        _cloud_events,
        WITH_OBJECT,
    ),
    Form("msgpack", "type='msgpack'", _msgpack(as_lists=False), WITH_OBJECT, is_text=False),
    Form("msgpack lists", "type='msgpack'", _msgpack(as_lists=True), WITH_OBJECT, is_text=False),
    Form(
        "msgpack paths",
        f"type='msgpack', {_LENIENT}, {_attributes(NAMES, 'a_object')}",
        _msgpack(as_lists=False),
        WITH_OBJECT,
        is_text=False,
    ),
    Form("binary", "type='binary'", _sent("type='binary'"), is_text=False),
    Form("avro", _AVRO, _sent(f"{_AVRO}, {GROUPED}"), is_text=False),
    Form(
        "avro paths",
        f"{_AVRO}, {_attributes(NAMES)}",
        _sent(f"{_AVRO}, {GROUPED}"),
        is_text=False,
    ),
    Form(
        "avro container",
        "type='avro', form='container'",
        _sent(f"type='avro', form='container', {GROUPED}"),
        is_text=False,
    ),
)
