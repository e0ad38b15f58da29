"""What a mail says: its headers, the text of one type, and what an IMAP server is asked for.

A mail is whatever somebody sent: nothing here raises because of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from email import message_from_bytes
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from typing import Final

FIELDS: Final = ("subject", "from", "to", "cc", "bcc")
"""What a `search.term` may name."""


def search_of(term: str) -> list[str]:
    """`subject:a, from:b` as the criteria of an IMAP search; ValueError says what is wrong."""
    criteria: list[str] = []
    for part in filter(None, (each.strip() for each in term.split(","))):
        name, colon, value = part.partition(":")
        field = name.strip().lower()
        if not colon or field not in FIELDS or not value.strip():
            raise ValueError(f"{part!r} is no {', '.join(FIELDS)} with a text behind a colon")
        criteria += [field.upper(), quoted(value.strip())]
    return criteria


def quoted(text: str) -> str:
    """A text as IMAP takes it; ValueError for one that not every server takes."""
    if not (text.isascii() and text.isprintable()):
        raise ValueError(f"{text!r} is no printable ASCII")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def read_mail(raw: bytes, content_type: str) -> tuple[bytes, dict[str, str]]:
    """The text of the first part of that type in UTF-8, and the headers by name, in small letters,
    too. A mail without such a part gives a text that says so, which no format takes for events."""
    try:
        mail = message_from_bytes(raw)
    except RecursionError:
        return b"(a mail of too many parts within parts)", {}
    headers: dict[str, str] = {}
    for name, value in reversed(mail.items()):
        headers[name] = headers[name.lower()] = _decoded(value)
    for part in _parts(mail):
        if part.get_content_type() == content_type and not part.get_filename():
            return _text(part), headers
    return f"(a mail without a part of the type {content_type})".encode(), headers


def _parts(mail: Message) -> Iterator[Message]:
    """All of them, outermost and first ones first, however deep they lie."""
    waiting = [mail]
    while waiting:
        part = waiting.pop()
        yield part
        inner = part.get_payload()
        if isinstance(inner, list):
            waiting += [each for each in reversed(inner) if isinstance(each, Message)]


def _decoded(value: object) -> str:
    try:
        text = str(make_header(decode_header(str(value))))
    except (MessageError, LookupError, ValueError):
        text = str(value)
    return text.encode(errors="replace").decode()


def _text(part: Message) -> bytes:
    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    try:
        return data.decode(part.get_content_charset("utf-8"), errors="replace").encode()
    except LookupError:
        return data.decode(errors="replace").encode()
