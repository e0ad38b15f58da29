"""Values of variables as texts, as the older products wrote them, and back. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pyasn1.error import PyAsn1Error
from pysnmp.error import PySnmpError
from pysnmp.proto.rfc1902 import OctetString
from pysnmp.proto.rfc1905 import EndOfMibView, NoSuchInstance, NoSuchObject

_ABSENT: Final = (NoSuchObject, NoSuchInstance, EndOfMibView)
_PER_SECOND: Final = 100
TEXT: Final = OctetString(b"")
"""What a variable becomes whose type nobody knows."""


def is_absent(value: Any) -> bool:
    """The agent has no such variable."""
    return isinstance(value, _ABSENT)


def text_of(value: Any) -> str | None:
    """None for what the agent has not. Times are `1:28:33.05`, bytes that are no text `ff:00`."""
    if is_absent(value):
        return None
    special = _TEXTS.get(type(value).__name__)
    return str(value.prettyPrint()) if special is None else special(value)


def value_of(text: str, like: Any) -> Any:
    """A value of the type of another one; ValueError for a text that is none."""
    try:
        if type(like).__name__ == "OctetString":
            return like.clone(text.encode())
        return like.clone(text.strip())
    except (PyAsn1Error, PySnmpError, ValueError, TypeError) as error:
        raise ValueError(f"{text[:200]!r} is no {type(like).__name__}") from error


def _bytes(value: Any) -> str:
    raw = bytes(value)
    try:
        found = raw.decode()
    except UnicodeDecodeError:
        return raw.hex(":")
    is_text = all(character.isprintable() or character in "\t\r\n" for character in found)
    return found if is_text else raw.hex(":")


def _ticks(value: Any) -> str:
    seconds, hundredths = divmod(int(value), _PER_SECOND)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    before = "" if not days else "1 day, " if days == 1 else f"{days} days, "
    return f"{before}{hours}:{minutes:02}:{seconds:02}.{hundredths:02}"


_TEXTS: Final[dict[str, Callable[[Any], str]]] = {
    "OctetString": _bytes,
    "Opaque": lambda value: bytes(value).hex(":"),
    "TimeTicks": _ticks,
}
