"""Messages in the form of a source: chunks, and every bad field told."""

from __future__ import annotations

import base64
import json
from typing import Any

import msgspec
import pytest
from multidict import CIMultiDict

from lockstep.siddhiql import ast, check
from lockstep.telemetry import get_logger
from lockstep_services.receiver.accept import Sending
from lockstep_services.receiver.decode import MalformedBodyError, Refusal
from lockstep_services.receiver.mapped import message_reader
from lockstep_services.receiver.messages import BusMessage, Transfer
from lockstep_services.receiver.sources import source_number, with_source
from lockstep_services.receiver.values import FieldError

STREAM = "define stream S (room string, celsius double, at long);"


def reader(mapping: str, stream: str = STREAM) -> Any:
    """What reads the messages of `@source(type='http', @map(…))`."""
    checked = check(f"@source(type='http', {mapping}) {stream}")
    definition = checked.app.definitions[0]
    assert isinstance(definition, ast.StreamDefinition)
    return message_reader(checked.streams["S"], definition.annotations[0])


def chunks(mapping: str, body: str | bytes, **headers: str) -> list[list[tuple[Any, ...]]]:
    """The values that a message brings, chunk by chunk; nothing may be refused."""
    raw = body.encode() if isinstance(body, str) else body
    decoded = reader(mapping).read(raw, CIMultiDict(headers))
    assert not decoded.refused
    return [[event.data for event in chunk] for chunk in decoded.chunks]


def errors(mapping: str, body: str) -> list[tuple[str | None, str]]:
    """All that is wrong with a message that is refused as a whole."""
    with pytest.raises(MalformedBodyError) as refused:
        reader(mapping).read(body.encode(), {})
    return [(error.field, error.message) for error in refused.value.errors]


PATHS = "@map(type='json', @attributes(room='$.where.room', celsius='t', at='$.when'))"
TEXT = (
    r"@map(type='text', regex.A='(\w+) is at ([-.\d]+)', "
    "@attributes(room='A[1]', celsius='A[2]', at='A[2]'))"
)


@pytest.mark.parametrize(
    ("mapping", "body", "expected"),
    [
        (PATHS, '{"where":{"room":"a"},"t":21,"when":"7"}', [[("a", 21.0, 7)]]),
        (
            PATHS,
            '[{"where":{"room":"a"},"t":1.5,"when":7},{"where":{"room":null},"t":"2","when":8}]',
            [[("a", 1.5, 7), (None, 2.0, 8)]],
        ),
        (
            "@map(type='json', enclosing.element='$.readings', @attributes("
            "room='r', celsius='c', at='a'))",
            '{"readings":[{"r":"x","c":1.0,"a":1},{"r":"y","c":2.0,"a":2}]}',
            [[("x", 1.0, 1), ("y", 2.0, 2)]],
        ),
        (
            "@map(type='json', enclosing.element='$.readings')",
            '{"readings":[{"room":"x","celsius":1,"at":1},'
            '{"event":{"room":"y","celsius":2,"at":2}}]}',
            [[("x", 1.0, 1), ("y", 2.0, 2)]],
        ),
        (
            "@map(type='json', fail.on.missing.attribute='false')",
            '[{"room":"x"},{"event":{"at":2}}]',
            [[("x", None, None), (None, None, 2)]],
        ),
        (
            "@map(type='json', event.grouping.enabled='false', @attributes("
            "room='r', celsius='c', at='a'))",
            '[{"r":"x","c":1.0,"a":1},{"r":"y","c":2.0,"a":2}]',
            [[("x", 1.0, 1)], [("y", 2.0, 2)]],
        ),
        (
            "@map(type='xml')",
            "<events><event><room>x</room><celsius>1.5</celsius><at>7</at></event></events>",
            [[("x", 1.5, 7)]],
        ),
        ("@map(type='csv')", "x,1.5,7\n", [[("x", 1.5, 7)]]),
        (
            "@map(type='csv', delimiter=';', header.present='true', event.grouping.enabled='true',"
            " @attributes(room='2', celsius='1', at='0'))",
            "at;celsius;room\n1;1.5;x\n2;2.5;y\n",
            [[("x", 1.5, 1), ("y", 2.5, 2)]],
        ),
        ("@map(type='text')", 'room:"x",\ncelsius:1.5,\nat:7', [[("x", 1.5, 7)]]),
        (TEXT.replace("at='A[2]'", "at='B'").replace("regex.A", "regex.B='#(.)', regex.A"),
         "attic is at -3.5 #7", [[("attic", -3.5, 7)]]),
        ("@map(type='keyvalue')", "room=a+b&celsius=1.5&at=7", [[("a b", 1.5, 7)]]),
        ("@map(type='keyvalue')", '{"room":"a","celsius":1.5,"at":7}', [[("a", 1.5, 7)]]),
        (
            "@map(type='keyvalue', @attributes(room='r', celsius='c', at='t'))",
            "r=&c=1&t=7",
            [[("", 1.0, 7)]],
        ),
    ],
)  # fmt: skip
def test_forms(mapping: str, body: str, expected: list[Any]) -> None:
    """As extensions 13 says; what belongs together stays one chunk."""
    assert chunks(mapping, body) == expected


def test_transport_properties() -> None:
    """Headers, named in any case."""
    mapping = "@map(type='json', @attributes(room='trp:X-Room', celsius='c', at='trp:at'))"
    assert chunks(mapping, '{"c":1}', **{"x-room": "hall", "At": "7"}) == [[("hall", 1.0, 7)]]
    assert errors(mapping, '{"c":1}') == [
        ("room", "the transport brought no property 'X-Room'"),
        ("at", "the transport brought no property 'at'"),
    ]


@pytest.mark.parametrize("mapping", ["", "@map(type='passThrough')", "@map(type='json')"])
def test_the_suites_own_form_needs_no_reader(mapping: str) -> None:
    """Plain JSON by names is read by the quick way, as everywhere else."""
    text = mapping or "receiver.url='http://h/p'"
    assert reader(text) is None


@pytest.mark.parametrize(
    ("mapping", "body", "expected"),
    [
        (PATHS, "{", [(None, "malformed")]),
        (PATHS, "", []),
        (
            PATHS,
            '{"where":{},"t":"warm","when":1.5}',
            [("room", "no '$.where.room'"), ("celsius", "warm is no double"), ("at", "1.5")],
        ),
        (
            PATHS,
            '[{"where":{"room":"a"},"t":1,"when":1},{"where":{"room":"a"},"t":"x","when":"y"}]',
            [("[1].celsius", "x is no double"), ("[1].at", "y is no long")],
        ),
        (PATHS, "[5]", [(None, "must be a JSON object")]),
        (
            "@map(type='json', enclosing.element='$.readings')",
            '{"readings":[{"room":"x","celsius":1,"at":1},{"room":5,"celsius":"x","at":1}]}',
            [("[1].room", "expected string"), ("[1].celsius", "expected double")],
        ),
        ("@map(type='json', enclosing.element='$.readings')", "{}", []),
        ("@map(type='xml')", "<events>", [(None, "")]),
        (
            "@map(type='xml')",
            "<events><event><room>x</room><celsius>warm</celsius></event></events>",
            [("celsius", "warm is no double"), ("at", "no 'at'")],
        ),
        ("@map(type='csv')", "x,warm", [("celsius", "warm is no double"), ("at", "no '2'")]),
        (TEXT, "nothing", [("room", "no 'A[1]'"), ("celsius", "no 'A[2]'"), ("at", "no 'A[2]'")]),
        ("@map(type='keyvalue')", "room=a&celsius=x&at=1", [("celsius", "x is no double")]),
        ("@map(type='keyvalue')", "no form", [(None, "no form")]),
    ],
)  # fmt: skip
def test_what_does_not_fit(mapping: str, body: str, expected: list[tuple[str | None, str]]) -> None:
    """The message is refused as a whole, and each bad field is named."""
    if mapping.startswith("@map(type='keyvalue')") and body == "no form":
        with pytest.raises(MalformedBodyError, match="no form"):
            reader(mapping).read(body.encode(), {})
        return
    found = errors(mapping, body)
    if expected and expected[0][1] == "malformed":
        assert found == [] or "JSON" in found[0][1]
        return
    assert [field for field, _ in found] == [field for field, _ in expected]
    for (_, message), (_, part) in zip(found, expected, strict=True):
        assert part in message


def test_half_a_character_is_refused() -> None:
    """JSON can write it, and the log could not hold it."""
    body = '{"where":{"room":"a\\ud800"},"t":1,"when":1}'
    assert errors(PATHS, body) == [("room", "half of a character: surrogates not allowed")]
    whole = body.replace("a\\ud800", "\\ud83d\\ude00")
    assert chunks(PATHS, whole) == [[("\U0001f600", 1.0, 1)]]


HALF: list[FieldError] = [FieldError("p", "half of a character: surrogates not allowed")]


@pytest.mark.parametrize("inner", [r'{"x":"\ud800"}', r'[["\ud800"]]', r'{"\ud800":1}'])
def test_half_a_character_in_an_object_is_refused(inner: str) -> None:
    """However deep it is in it; else those that share its record would be refused, too."""
    mapper = reader("@map(type='json', @attributes(p='$.p'))", "define stream S (p object);")
    with pytest.raises(MalformedBodyError) as refused:
        mapper.read(f'{{"p":{inner}}}'.encode(), {})
    assert refused.value.errors == HALF
    whole = inner.replace("d800", "d83d\\ude00")
    ((event,),) = mapper.read(f'{{"p":{whole}}}'.encode(), {}).chunks
    assert event.data == (json.loads(whole),)


@pytest.mark.parametrize(
    ("mapping", "body", "headers"),
    [
        ("@map(type='json', @attributes(p='trp:X'))", b"{}", {"x": "a\udcff"}),
        ("@map(type='binaryPassThrough', @attributes(p='trp:X', q='0'))", b"\x00",
         {"x": "a\udcff"}),
        ("@map(type='cloudevents')",
         json.dumps({"specversion": "1.0", "id": "7", "source": "/", "type": "t",
                     "data_base64": base64.b64encode(rb'{"p":"\ud800","q":1}').decode()}).encode(),
         {}),
    ],
)  # fmt: skip
def test_half_a_character_from_elsewhere_is_refused(
    mapping: str, body: bytes, headers: dict[str, str]
) -> None:
    """A header's byte that is no UTF-8, and an escape within Base64."""
    stream = "p string" if "json" in mapping else "p string, q object"
    with pytest.raises(MalformedBodyError) as refused:
        reader(mapping, f"define stream S ({stream});").read(body, CIMultiDict(headers))
    assert refused.value.errors == HALF


JSON_FORM = '{"n":%s,"x":[{"n":"?"}]}'
EVENT_FORM = f'{{"specversion":"1.0","id":"1","source":"s","type":"t","data":{JSON_FORM}}}'


@pytest.mark.parametrize(
    ("mapping", "form", "begin", "end"),
    [
        ("@map(type='json', @attributes(n='$.n'))", JSON_FORM, "[", "]"),
        ("@map(type='json', @attributes(n='$..x'))", JSON_FORM, "[", "]"),
        ("@map(type='json', enclosing.element='$..x')", JSON_FORM, "[", "]"),
        ("@map(type='json', fail.on.missing.attribute='false')", JSON_FORM, "[", "]"),
        ("@map(type='cloudevents')", EVENT_FORM, "[", "]"),
        ("@map(type='keyvalue')", JSON_FORM, "[", "]"),
        ("@map(type='xml')", "<events><event><n>%s</n></event></events>", "<a>", "</a>"),
    ],
)
def test_messages_of_any_depth_are_refused(mapping: str, form: str, begin: str, end: str) -> None:
    """Also those that can be decoded just so; large ones are left to whoever refuses."""
    mapper = reader(mapping, "define stream S (n int);")
    for depth in [300, 500, 700, *range(900, 1_000, 12), 1_500]:
        body = (form % (begin * depth + end * depth)).encode()
        with pytest.raises(MalformedBodyError):
            mapper.read(body, {})
        assert mapper.draft(body + b" " * 9_000, {}, None) is None


@pytest.mark.parametrize(
    "mapping",
    [
        "@map(type='json', @attributes(n=\"$.i[?(@.t =~ /(?=(a+)+b).*/)].n\"))",
        "@map(type='json', enclosing.element=\"$.i[?(@.t =~ /(?=(a+)+b).*/)]\")",
    ],
)
def test_an_expression_of_too_many_steps_refuses_its_message(mapping: str) -> None:
    """Large messages are left to whoever refuses."""
    mapper = reader(mapping, "define stream S (n int);")
    body = b'{"i":[{"n":1,"t":"%s"}]}' % (b"a" * 3_000)
    with pytest.raises(MalformedBodyError):
        mapper.read(body, {})
    assert mapper.draft(body + b" " * 9_000, {}, None) is None


def test_expressions_read_texts_of_a_limited_length() -> None:
    """They may take the square of it, and would hold up everybody."""
    ((field, message),) = errors(TEXT, "x" * 20_000)
    assert field is None
    assert "20000 characters" in message


def test_lines_of_csv_are_refused_one_by_one() -> None:
    """The others pass; each refused one is a message of its own, to be sent again."""
    mapping = (
        "@map(type='csv', delimiter=';', header.present='true', event.grouping.enabled='true')"
    )
    csv = reader(mapping)
    decoded = csv.read(b"r;c;a\nx;1.5;7\ny;warm;8\nz;2.5;soon\n", {})
    assert [[event.data for event in chunk] for chunk in decoded.chunks] == [[("x", 1.5, 7)]]
    assert [(one.line, one.reason) for one in decoded.refused] == [
        (2, "celsius: warm is no double"),
        (3, "at: soon is no long"),
    ]
    mended = decoded.refused[0].payload.replace(b"warm", b"3.5")
    again = csv.read(mended, {})
    assert [[event.data for event in chunk] for chunk in again.chunks] == [[("y", 3.5, 8)]]


def test_groups_of_text_are_refused_one_by_one() -> None:
    """Events of a group are chunks of one."""
    text = reader("@map(type='text', event.grouping.enabled='true')")
    good = 'room:"x",\ncelsius:1.5,\nat:7'
    decoded = text.read(f"{good}\n~~~~~~~~~~\nroom:'y'\n~~~~~~~~~~\n{good}".encode(), {})
    assert len(decoded.chunks) == 2
    (refused,) = decoded.refused
    assert [error.field for error in refused.errors] == ["celsius", "at"]
    assert refused.payload.strip() == b"room:'y'"


def test_a_content_type_may_name_the_source() -> None:
    """So that a refused message can be sent again in its own form."""
    assert source_number("text/csv") is None
    assert source_number("text/csv; source=x") is None
    assert source_number(with_source("text/csv; charset=utf-8", 3)) == 3
    assert with_source("text/csv; source=1", 3) == "text/csv; source=1"


CLOUD = "@map(type='cloudevents')"
SOLD = {"specversion": "1.0", "id": "7", "source": "/shop", "type": "sold",
        "time": "1970-01-01T00:00:01Z", "data": {"room": "x", "celsius": 1.5, "at": 7}}  # fmt: skip


def test_cloudevents_keep_their_time_and_identity() -> None:
    """Structured and binary; so a message that comes again counts once."""
    structured = reader(CLOUD).read(json.dumps([SOLD, {**SOLD, "id": "8"}]).encode(), {})
    ((first, second),) = structured.chunks
    assert first.data == ("x", 1.5, 7)
    assert (first.timestamp_ms, first.event_id) == (1000, "/shop 7")
    assert second.event_id == "/shop 8"
    headers = CIMultiDict({f"CE-{k}": v for k, v in SOLD.items() if isinstance(v, str)})
    binary = reader(CLOUD).read(json.dumps(SOLD["data"]).encode(), headers)
    assert binary.chunks == [(first,)]


def test_msgpack() -> None:
    """Events have no time of their own."""
    body = msgspec.msgpack.encode([["x", 1.5, 7], {"room": "y", "celsius": 2, "at": 8}])
    decoded = reader("@map(type='msgpack')").read(body, {})
    assert [[e.data for e in chunk] for chunk in decoded.chunks] == [[("x", 1.5, 7), ("y", 2.0, 8)]]
    assert {event.timestamp_ms for chunk in decoded.chunks for event in chunk} == {None}


class Acceptor:
    """Reads by a mapping, and keeps what is buried."""

    def __init__(self, mapping: str) -> None:
        self._reader = reader(mapping)
        self.buried: list[Refusal] = []

    async def accept(self, app: str, stream: str, body: bytes, sending: Sending) -> None:
        self._reader.read(body, sending.properties)

    async def bury(
        self, app: str, stream: str, refused: list[Refusal], content_type: str, key: str | None
    ) -> None:
        self.buried += refused


@pytest.mark.parametrize(
    ("mapping", "body", "reason"),
    [
        ("@map(type='msgpack')", b"\xc1",
         "the payload is no MessagePack: MessagePack data is malformed: invalid opcode "
         "'\\xc1' (byte 0) (send one value: a map, or an array)"),
        ("@map(type='msgpack')", msgspec.msgpack.encode({"romo": "x"}),
         "there is no attribute 'romo' (there are room, celsius, at)"),
        ("@map(type='msgpack')", msgspec.msgpack.encode(["x", "warm", 7.5]),
         "celsius: warm is no double; at: 7.5 is no long"),
        (CLOUD, b'{"specversion":"0.3"}', "'specversion' is '0.3' (send CloudEvents 1.0)"),
        (CLOUD, json.dumps({**SOLD, "time": "now"}).encode(),
         "'time' is 'now' (a time from 1970 on, as 2026-03-01T10:00:00Z)"),
    ],
)  # fmt: skip
async def test_dead_letters_say_why_and_what_to_do(mapping: str, body: bytes, reason: str) -> None:
    """The whole message, and it is acknowledged: its neighbours go on."""
    acknowledged = []

    async def acknowledge() -> None:
        acknowledged.append(body)

    acceptor: Any = Acceptor(mapping)
    await Transfer(acceptor, get_logger()).all([BusMessage("A", "S", body, {}, None, acknowledge)])
    assert [(one.reason, one.payload) for one in acceptor.buried] == [(reason, body)]
    assert acknowledged == [body]


def test_a_number_of_thousands_of_digits_is_refused() -> None:
    """As any that is too large: alone in a form of pieces, with its message in one of wholes."""
    digits = "9" * 5000
    body = f"x,1.5,{digits}\ny,2.5,7"
    decoded = reader("@map(type='csv', event.grouping.enabled='true')").read(body.encode(), {})
    assert [[event.data for event in chunk] for chunk in decoded.chunks] == [[("y", 2.5, 7)]]
    assert len(decoded.refused) == 1
    body = f"<events><event><room>x</room><celsius>1</celsius><at>{digits}</at></event></events>"
    [(field, message)] = errors("@map(type='xml')", body)
    assert field == "at"
    assert "is no long" in message


HL7 = 'MSH|^~\\&|LAB|CLINIC|||20200101||ADT^A01|7|P|2.3\rPID|1||5: "x",\r'


def hl7_reader(encoding: str, stream: str) -> Any:
    """Of an hl7 source with the form of the older samples."""
    text = f"@source(type='hl7', port='4000', hl7.encoding='{encoding}', @map(type='text'))"
    checked = check(f"{text} define stream S ({stream});")
    definition = checked.app.definitions[0]
    assert isinstance(definition, ast.StreamDefinition)
    return message_reader(checked.streams["S"], definition.annotations[0])


def test_an_hl7_message_is_the_one_text_of_its_stream() -> None:
    """It names no attributes, so the form of names and values would never find one in it."""
    decoded = hl7_reader("er7", "payload string").read(HL7.encode(), {})
    assert [[event.data for event in chunk] for chunk in decoded.chunks] == [[(HL7,)]]
    with pytest.raises(MalformedBodyError) as refused:
        hl7_reader("er7", "payload string").read(b"MSH|\xff", {})
    assert refused.value.errors[0].field == "payload"
    with pytest.raises(MalformedBodyError):
        hl7_reader("er7", "payload string, more string").read(HL7.encode(), {})
