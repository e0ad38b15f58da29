"""What a mail says, whatever somebody sent."""

from __future__ import annotations

from email.message import EmailMessage

import pytest

from lockstep.connectors.email.mails import read_mail, search_of


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
    b'Content-Type: multipart/mixed; boundary="%d"\r\n\r\n--%d\r\n' % (n, n) for n in range(1_500)
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
