"""Messages of syslog, read and made, and where they begin and end in a stream."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockstep.connectors.syslog.framing import Frame, FrameError, Frames, Framing, framed
from lockstep.connectors.syslog.messages import (
    FACILITIES,
    SEVERITIES,
    Header,
    SyslogError,
    number_of,
    read_elements,
    read_message,
    write_elements,
)

MOMENT_MS = 1_065_910_455_003
OF_13 = {
    "priority": "13", "facility": "1", "severity": "5", "facility.name": "user",
    "severity.name": "notice", "timestamp": "", "host": "", "app": "", "procid": "", "msgid": "",
    "structured.data": "",
}  # fmt: skip
OF_34 = {
    **OF_13, "priority": "34", "facility": "4", "severity": "2", "facility.name": "auth",
    "severity.name": "crit",
}  # fmt: skip


@pytest.mark.parametrize(
    ("data", "text", "properties"),
    [
        (
            b"<34>1 2003-10-11T22:14:15.003Z mymachine.example.com su 77 ID47 - \xef\xbb\xbffailed",
            b"failed",
            {
                "timestamp": "2003-10-11T22:14:15.003Z", "host": "mymachine.example.com",
                "app": "su", "procid": "77", "msgid": "ID47",
            },
        ),
        (
            rb'<34>1 - - - - - [a@1 k="\"x\\\]" l=""][b] {"n": 1}',
            b'{"n": 1}',
            {
                "structured.data": r'[a@1 k="\"x\\\]" l=""][b]', "sd.a@1.k": '"x\\]',
                "sd.a@1.l": "",
            },
        ),
        ("<34>1 - - - - - [a k=\"é漢\"] ü".encode(), "ü".encode(), {
            "structured.data": '[a k="é漢"]', "sd.a.k": "é漢"}),
        (b"<34>1 - h - - - -", b"", {"host": "h"}),
        (
            b"<34>Oct 11 22:14:15 mymachine su[9]: 'su root' failed\n",
            b"'su root' failed",
            {"timestamp": "Oct 11 22:14:15", "host": "mymachine", "app": "su", "procid": "9"},
        ),
        (
            b"<34>Oct  1 22:14:15 fe80::1 kernel: up",
            b"up",
            {"timestamp": "Oct  1 22:14:15", "host": "fe80::1", "app": "kernel"},
        ),
        (b"<34>Oct 11 22:14:15 su: x: y", b"x: y", {"timestamp": "Oct 11 22:14:15", "app": "su"}),
        (
            b'<34>2026-11-26T06:26:48.286690+00:00 h {"n": "a: b"}',
            b'{"n": "a: b"}',
            {"timestamp": "2026-11-26T06:26:48.286690+00:00", "host": "h"},
        ),
        (b'<34>{"n": 1}\0', b'{"n": 1}', {}),
        (b"<34>", b"", {}),
    ],
)  # fmt: skip
def test_both_forms_are_read(data: bytes, text: bytes, properties: dict[str, str]) -> None:
    """What stands in the header, and the text as it is."""
    assert read_message(data) == (text, {**OF_34, **properties})


@pytest.mark.parametrize("data", [b"no header", b"<192>x", b"<01>x", b"<1>", b'{"n": 1}', b""])
def test_what_has_no_header_is_text_alone(data: bytes) -> None:
    """With the priority that RFC 3164 gives it."""
    text, properties = read_message(data)
    if data == b"<1>":
        assert (text, properties["priority"]) == (b"", "1")
    else:
        assert (text, properties) == (data, OF_13)


@pytest.mark.parametrize(
    "data", [b"<34>1 - - - - - [a k=x] y", b'<34>1 - - - - - [a k="x" y', b"<34>1 - - - - - -y"]
)
def test_a_broken_header_stays_in_front_of_its_text(data: bytes) -> None:
    """So whoever reads the text refuses it, and nothing of it is gone."""
    assert read_message(data) == (data, OF_34)


def test_messages_are_written_as_the_two_documents_say() -> None:
    """The time in UTC; what is not known is a dash."""
    header = Header(4, 2, MOMENT_MS, "h", "su", "9", "ID47")
    elements = {"a@1": {"k": '"x\\]'}}
    assert header.write(elements, b"x") == (
        rb'<34>1 2003-10-11T22:14:15.003Z h su 9 ID47 [a@1 k="\"x\\\]"] x'
    )
    assert Header(4, 2, MOMENT_MS).write({}, b"x") == (
        b"<34>1 2003-10-11T22:14:15.003Z - - - - - x"
    )
    assert header.write_older(b"x") == b"<34>Oct 11 22:14:15 h su[9]: x"
    assert Header(4, 2, 1_000, "h", "su").write_older(b"x") == b"<34>Jan  1 00:00:01 h su: x"
    for bad in ("a b", "ä", "x" * 49, "a\n"):
        with pytest.raises(SyslogError, match=r"app\.name is"):
            Header(4, 2, MOMENT_MS, "h", bad).write({}, b"x")
    for moment_ms in (10**18, -(10**18)):
        with pytest.raises(SyslogError, match="is in no year"):
            Header(4, 2, moment_ms).write({}, b"x")


NAMES = st.text("abcXYZ019@-._", min_size=1, max_size=20)
VALUES = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(
    st.integers(0, 23),
    st.integers(0, 7),
    st.dictionaries(NAMES, st.dictionaries(NAMES, VALUES, max_size=3), max_size=3),
    st.binary(max_size=50).map(lambda data: b"t" + data.rstrip(b"\r\n\0")),
)
def test_what_is_written_is_read_again(
    facility: int, severity: int, elements: dict[str, dict[str, str]], text: bytes
) -> None:
    """Whatever structured data and text hold."""
    written = Header(facility, severity, MOMENT_MS, "h", "su", "9", "m").write(elements, text)
    found, properties = read_message(written)
    assert found == text
    assert properties["priority"] == str(facility * 8 + severity)
    for id_, parameters in elements.items():
        for name, value in parameters.items():
            assert properties[f"sd.{id_}.{name}"] == value
    assert read_elements(write_elements(elements))[0] == elements


@given(st.binary(max_size=80))
def test_anything_can_be_read(data: bytes) -> None:
    """Nothing that comes ends the source."""
    for one in (data, b"<34>" + data, b"<34>1 - - - - - [" + data):
        text, properties = read_message(one)
        assert one.rstrip(b"\r\n\0").endswith(text)
        assert 0 <= int(properties["priority"]) <= 191


def test_facilities_and_severities_have_names_and_numbers() -> None:
    """Those of the documents, and what people call them."""
    assert [number_of(name, FACILITIES) for name in ("kern", "LOCAL7", "4", "security")] == [
        0, 23, 4, 4,
    ]  # fmt: skip
    assert [number_of(name, SEVERITIES) for name in ("error", "warn", "7", "emerg")] == [3, 4, 7, 0]
    for bad in ("loud", "8", "-1", ""):
        with pytest.raises(SyslogError, match="is none of emerg"):
            number_of(bad, SEVERITIES)


LONG = b"x" * 12
STREAMS = [
    (Framing.AUTO, b"5 <1>ab3 abc", [Frame(b"<1>ab"), Frame(b"abc")]),
    (Framing.AUTO, b"<1>a\n<1>b\0\n<1>c", [Frame(b"<1>a"), Frame(b"<1>b")]),
    (Framing.AUTO, b"2 ab<1>c\n2 de", [Frame(b"ab"), Frame(b"<1>c"), Frame(b"de")]),
    (Framing.AUTO, b"12x\n", [Frame(b"12x")]),
    (Framing.AUTO, b"3 a\nb", [Frame(b"a\nb")]),
    (Framing.AUTO, b"12 " + LONG + b"1 a", [Frame(LONG[:10], is_cut=True), Frame(b"a")]),
    (Framing.LINES, b"5 ab\n", [Frame(b"5 ab")]),
    (Framing.LINES, LONG + b"\nab\n", [Frame(LONG[:10], is_cut=True), Frame(b"ab")]),
    (Framing.LINES, LONG * 3 + b"\nab\n", [Frame(LONG[:10], is_cut=True), Frame(b"ab")]),
    (Framing.LINES, LONG[:10] + b"\n", [Frame(LONG[:10])]),
    (Framing.COUNTED, b"2 ab", [Frame(b"ab")]),
]


@pytest.mark.parametrize(("framing", "stream", "frames"), STREAMS)
@pytest.mark.parametrize("size", [1, 2, 5, 1_000])
def test_messages_are_the_same_however_the_bytes_come(
    framing: Framing, stream: bytes, frames: list[Frame], size: int
) -> None:
    """What is longer than the limit is cut, and the rest of it passed over."""
    reading = Frames(framing, 10)
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert [frame for piece in pieces for frame in reading.feed(piece)] == frames


@pytest.mark.parametrize("stream", [b"1 a<1>b", b"1 ax", b"1 a1234567890 b", b"1 a0 b"])
def test_a_stream_that_makes_no_sense_ends_behind_what_did(stream: bytes) -> None:
    """Where each message has to begin with a count."""
    found = Frames(Framing.COUNTED, 10).feed(stream)
    assert next(found) == Frame(b"a")
    with pytest.raises(FrameError, match="begins with no count"):
        next(found)


@given(st.lists(st.binary(min_size=1, max_size=12)), st.integers(1, 9))
def test_counted_messages_come_as_they_were_sent(messages: list[bytes], size: int) -> None:
    """Whatever they hold."""
    stream = b"".join(framed(one, Framing.COUNTED) for one in messages)
    reading = Frames(Framing.AUTO, 12)
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert [frame.data for piece in pieces for frame in reading.feed(piece)] == messages


def test_a_message_that_would_be_two_is_not_sent() -> None:
    """Only where its end is a line feed."""
    assert framed(b"a\nb", Framing.COUNTED) == b"3 a\nb"
    assert framed(b"ab", Framing.LINES) == b"ab\n"
    for bad in (b"a\nb", b"a\0"):
        with pytest.raises(FrameError, match="line feed"):
            framed(bad, Framing.LINES)
