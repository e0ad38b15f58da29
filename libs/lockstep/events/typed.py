"""JSON and MessagePack as values of a type, whichever thread asks for the type first.

msgspec finds out how a type is read when it is asked for it, and in the midst of that other threads
see what it has so far. One that decodes then reads through a null pointer, and the process is gone
(`tests/unit/events/test_typed.py`). Here types are found out about one after the other. Decoders
that a module makes when it is imported are made before anybody can use them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from threading import Lock
from typing import Any, Final, TypeVar

import msgspec

T = TypeVar("T")

_ESCAPED: Final = re.compile(r'["\\\x00-\x1f]')
"""What JSON writes in another way."""

_known: dict[Any, Any] = {}
_finding_out = Lock()


def from_json(raw: bytes | bytearray | memoryview | str, kind: type[T]) -> T:
    """A value of that type. msgspec.DecodeError where it is no JSON, msgspec.ValidationError where
    it is of another type."""
    found: T = _decoder(msgspec.json.Decoder, kind).decode(raw)
    return found


def from_msgpack(raw: bytes | bytearray | memoryview, kind: type[T]) -> T:
    """The same of MessagePack."""
    found: T = _decoder(msgspec.msgpack.Decoder, kind).decode(raw)
    return found


def converted(value: Any, kind: type[T], *, strict: bool = True) -> T:
    """What was decoded already, as a value of that type. msgspec.ValidationError. Unless `strict`,
    texts may stand for numbers."""
    _decoder(msgspec.json.Decoder, kind)
    return msgspec.convert(value, kind, strict=strict)


def can_name_fields(names: Iterable[str]) -> bool:
    """Whether fields of a struct may be called so in JSON: msgspec wants names that JSON writes as
    they are."""
    return not any(_ESCAPED.search(name) for name in names)


def _decoder(make: Any, kind: Any) -> Any:
    found = _known.get((make, kind))
    if found is None:
        with _finding_out:  # somebody else may have made it meanwhile: both do the same
            found = _known[make, kind] = make(kind)
    return found
