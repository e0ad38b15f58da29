"""What a mail says, whatever somebody sent."""

from __future__ import annotations

import random
from email.message import EmailMessage

import pytest

from lockstep.connectors.email.mails import MAX_PARAMETERS_CHARACTERS, read_mail, search_of


def of_parts() -> bytes:
    """A text, the same as a page, and a text that is attached."""
    mail = EmailMessage()
    mail["Subject"] = "Größe"
    mail.add_attachment("attached", filename="a.txt")
    mail.attach(_part("plain", "größer"))
    mail.attach(_part("html", "<b>größer</b>"))
    return mail.as_bytes()


def _part(kind: str, text: str) -> EmailMessage:
    part = EmailMessage()
    part.set_content(text, subtype=kind, charset="iso-8859-1")
    return part


@pytest.mark.parametrize(
    ("kind", "expected"), [("text/plain", "größer"), ("text/html", "<b>größer</b>")]
)
def test_the_first_part_of_the_type_that_is_not_attached(kind: str, expected: str) -> None:
    """In UTF-8, whatever the mail is written in."""
    payload, headers = read_mail(of_parts(), kind)
    assert payload.decode().strip() == expected
    assert headers["Subject"] == headers["subject"] == "Größe"


NESTED = b"".join(
    b'Content-Type: multipart/mixed; boundary="%d"\r\n\r\n--%d\r\n' % (n, n) for n in range(1_050)
)


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"\xff\xfe\x00", b"Subject: =?utf-8?b?!!!?=\r\n\r\nx",
        b"Subject: =?nope?q?=ff?=\r\n\r\n", b"Subject: \xff\xed\xa0\x80\r\n\r\nx",
        b"Content-Type: text/plain; charset=nope\r\n\r\n\xff",
        b"Content-Type: text/plain\r\nContent-Transfer-Encoding: base64\r\n\r\n*", NESTED,
        b"Content-Type: multipart/mixed\r\n\r\nno boundary", b"Content-Type: image/png\r\n\r\nx",
    ],
    ids=range(10),
)  # fmt: skip
def test_any_mail_gives_a_text(raw: bytes) -> None:
    """Its payload and headers can be written as UTF-8."""
    payload, headers = read_mail(raw, "text/plain")
    payload.decode()
    for name, value in headers.items():
        assert f"{name}{value}".encode()


def mail_of(*headers: str, text: bytes = b"hello") -> bytes:
    """Headers, a text of plain text, a line of it."""
    return "".join(f"{each}\r\n" for each in headers).encode("latin-1") + b"\r\n" + text


DIGITS = "9" * 5_000
LONG = ";" * (MAX_PARAMETERS_CHARACTERS + 1)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (mail_of("Content-Type: text/plain; charset=idna"), "hello"),
        (mail_of("Content-Type: text/plain; charset=undefined"), "hello"),
        (mail_of("Content-Type: text/plain; charset=punycode", text=b"a-\xff"), "a-\ufffd"),
        (mail_of("Content-Type: text/plain; charset=hex"), "hello"),
        (mail_of('Content-Type: text/plain; charset="a\0b"'), "hello"),
        (mail_of("Content-Type: text/plain; charset=unicode_escape", text=b"\\ud800"), "\\ud800"),
        (mail_of("Content-Type: text/plain; charset=utf-7", text=b"a+2AA-b"), "a?b"),
        (mail_of("Content-Type: text/plain; charset=utf-8", text=b"a\xffb"), "a\ufffdb"),
        (mail_of("Content-Type: text/plain; charset*=idna''x%ff", text=b"\xff"), "\ufffd"),
        (mail_of("Content-Type: text/plain; charset*=utf-8''utf-8", text=b"\xc3\xa9"), "é"),
        (mail_of(f"Content-Type: text/plain; a*{DIGITS}=x"), "hello"),
        (mail_of("Content-Type: text/plain; a*=x; a*0=y"), "hello"),
        (mail_of(f"Content-Type: text/plain{LONG}"), "hello"),
        (mail_of(f"Subject: {'=?a?q?' * 20_000}"), "hello"),
        (mail_of("Content-Transfer-Encoding: uue", text=b"begin 644 a\nM\xff\nend\n"), None),
    ],
    ids=range(15),
)  # fmt: skip
def test_a_text_is_read_as_well_as_it_can_be(raw: bytes, expected: str | None) -> None:
    """Whatever it says that it is written in; what cannot be decoded is replaced."""
    payload, headers = read_mail(raw, "text/plain")
    assert expected is None or payload.decode() == expected
    assert headers


@pytest.mark.parametrize(
    "names",
    ["filename*=idna''x%ff", "filename*=undefined''x", f"filename*{DIGITS}=x",
     "filename*=x; filename*0=y", f"filename=x{LONG}"],
    ids=range(5),
)  # fmt: skip
def test_a_part_whose_file_name_cannot_be_read_is_a_file(names: str) -> None:
    """And never the mail's text."""
    payload, headers = read_mail(
        mail_of("Subject: s", f"Content-Disposition: attachment; {names}"), "text/plain"
    )
    assert payload == b"(a mail without a part of the type text/plain)"
    assert headers["subject"] == "s"


@pytest.mark.parametrize(
    "boundary", ["boundary*=idna''x%ff", f"boundary*{DIGITS}=B", "boundary*=x; boundary*0=B"],
    ids=range(3),
)  # fmt: skip
def test_parts_behind_one_that_cannot_be_told_apart(boundary: str) -> None:
    """A boundary that nobody can read hides its own parts only."""
    inner = mail_of(f"Content-Type: multipart/mixed; {boundary}", text=b"--B\r\n\r\ninner\r\n")
    text = b"--A\r\n" + inner + b"\r\n--A\r\n\r\nouter\r\n--A--\r\n"
    raw = mail_of("Content-Type: multipart/mixed; boundary=A", text=text)
    assert read_mail(raw, "text/plain")[0] == b"outer"


def _strange(chance: random.Random) -> bytes:
    """A mail of words that have made readers of mails fail, with some of its bytes mutated."""
    charsets = ("idna", "undefined", "utf-8", "hex", "a\0b", "utf-7", "", "nope", "punycode")
    names = ("charset", "boundary", "filename", "name")
    marks = ("=", "*=", "*0=", "*0*=", "*1=", "*", f"*{DIGITS}=")
    types = ("text/plain", "multipart/mixed", "message/rfc822", "/", "multipart/digest")
    words = ("a@b", "<", '"', "(", "\\", ",", ";", "\xff", "=?", "?=", "99:99", DIGITS, "group:")

    def header() -> str:
        kind = chance.choice(("Content-Type", "Content-Disposition", "From", "Date", "Subject"))
        if not kind.startswith("Content"):
            charset = chance.choice(charsets)
            told = "".join(chance.choice(words) for _ in range(4))
            return f"{kind}: {told}=?{charset}?{chance.choice('qbx')}?=ff{told}?=\r\n"
        said = "".join(
            f";{chance.choice(names)}{chance.choice(marks)}{chance.choice((*charsets, 'B'))}"
            f"{chance.choice(('', chr(39) * 2 + 'x%ff'))}"
            for _ in range(chance.randrange(4))
        )
        return f"{kind}: {chance.choice(types)}{said}\r\n"

    def part(depth: int) -> str:
        code = chance.choice(("base64", "quoted-printable", "uue", "8bit"))
        head = "".join(header() for _ in range(4)) + f"Content-Transfer-Encoding: {code}\r\n"
        inner = f"--B\r\n{part(depth + 1)}\r\n--B--\r\n" if depth < 3 else "begin 644 a\nM\xff\n"
        return f"{head}\r\n\xff=f+2AA-\r\n{inner}"

    raw = bytearray(part(0).encode("latin-1"))
    for _ in range(chance.randrange(10)):
        raw[chance.randrange(len(raw))] = chance.randrange(256)
    return bytes(raw)


def test_any_of_many_strange_mails_gives_a_text() -> None:
    """The library raises half a dozen kinds of errors at these: none gets out."""
    chance = random.Random(1)
    for _ in range(500):
        payload, headers = read_mail(_strange(chance), "text/plain")
        payload.decode()
        "".join(f"{name}{value}" for name, value in headers.items()).encode()


def test_a_mail_without_such_a_part_says_so() -> None:
    """So it becomes a dead letter that tells why."""
    payload, _ = read_mail(b"Content-Type: text/html\r\n\r\nx", "text/plain")
    assert payload == b"(a mail without a part of the type text/plain)"


def test_a_search_term_as_imap_takes_it() -> None:
    """Quoted, so that no text ends the command."""
    assert search_of('subject:a "b" \\, from: x@y') == [
        "SUBJECT", '"a \\"b\\" \\\\"', "FROM", '"x@y"',
    ]  # fmt: skip
    assert search_of("") == []


@pytest.mark.parametrize(
    "term", ["subject", "body:x", "subject:", "subject:a\r\nA1 LOGOUT", "to:ä"]
)
def test_a_search_term_that_is_none(term: str) -> None:
    """Unknown names, no text, and what an IMAP server need not take."""
    with pytest.raises(ValueError, match="is no"):
        search_of(term)
