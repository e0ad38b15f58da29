"""What a mail says: its headers, the text of one type, and what an IMAP server is asked for.

A mail is whatever somebody sent: nothing here raises because of one.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from email import message_from_bytes
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.utils import collapse_rfc2231_value
from typing import Any, Final

FIELDS: Final = ("subject", "from", "to", "cc", "bcc")
"""What a `search.term` may name."""
MAX_DECODED_CHARACTERS: Final = 65_536
"""Of a header; a longer one stays as it came. The library's time grows with the square."""
MAX_PARAMETERS_CHARACTERS: Final = 8_192
"""Of a header with parameters; those of a longer one are not read, for the same reason."""

_UNREADABLE: Final = (
    MessageError, LookupError, ValueError, TypeError, AttributeError, AssertionError,
)  # fmt: skip
"""What the library raises because of a mail."""
_NO_CHARSETS: Final = frozenset(
    {"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape"}
)
"""Codecs of Python that no mail is written in: they raise, or take for ever."""
_UNKNOWN: Final = "?"
"""Stands for a value that is there and cannot be read."""


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


class _Mail(Message):
    """A mail or a part. The parser asks for its parameters, too."""

    def get_param(
        self, param: str, failobj: Any = None, header: str = "content-type", unquote: bool = True
    ) -> Any:
        """A text, or `failobj` when it is not there."""
        whole = str(self.get(header, ""))
        if len(whole) <= MAX_PARAMETERS_CHARACTERS:
            try:
                found = super().get_param(param, failobj, header, unquote)
                if not isinstance(found, tuple):
                    return found
                if _is_charset(found[0] or "us-ascii"):
                    return collapse_rfc2231_value(found)
            except _UNREADABLE:
                pass  # nobody knows what it says, but maybe that it is there
        return _UNKNOWN if param in whole.lower() else failobj


def read_mail(raw: bytes, content_type: str) -> tuple[bytes, dict[str, str]]:
    """The text of the first part of that type in UTF-8, and the headers by name, in small letters,
    too. A mail without such a part gives a text that says so, which no format takes for events."""
    try:
        return _read(message_from_bytes(raw, _Mail), content_type)
    except RecursionError:
        return b"(a mail of too many parts within parts)", {}
    except _UNREADABLE:
        return b"(a mail that cannot be read)", {}


def _read(mail: Message, content_type: str) -> tuple[bytes, dict[str, str]]:
    headers: dict[str, str] = {}
    for name, value in reversed(mail.items()):
        headers[name] = headers[name.lower()] = _decoded(str(value))
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
        inner = part.get_payload() if part.is_multipart() else ()
        if isinstance(inner, list):
            waiting += [each for each in reversed(inner) if isinstance(each, Message)]


def _decoded(value: str) -> str:
    text = value
    if "=?" in value and len(value) <= MAX_DECODED_CHARACTERS:
        try:
            words = decode_header(value)
            if all(charset is None or _is_charset(charset) for _, charset in words):
                text = str(make_header(words))
        except _UNREADABLE:
            text = value
    return text.encode(errors="replace").decode()


def _text(part: Message) -> bytes:
    try:
        payload = part.get_payload(decode=True)
    except _UNREADABLE:
        del part["Content-Transfer-Encoding"]  # it is not written in what that says
        payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    charset = part.get_content_charset("utf-8")
    known = charset if _is_charset(charset) else "utf-8"
    return data.decode(known, errors="replace").encode(errors="replace")


def _is_charset(name: str) -> bool:
    """Whether bytes of a mail can be decoded with it."""
    try:
        b"x".decode(name, errors="replace")  # of nothing any codec makes a text
        return codecs.lookup(name).name not in _NO_CHARSETS
    except (LookupError, ValueError):
        return False
