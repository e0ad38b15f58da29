"""Values of type `object` as bytes: MessagePack, with tags for what MessagePack lacks.

What goes in comes out with its type: tuples, sets, bytes, keys of any hashable kind, integers of
any size. Equal values give equal bytes (sets are sorted), so that they can be compared and hashed.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from lockstep.events.errors import InvalidEventError

LEVELS_MAX: Final = 100
"""Lists, maps, tuples and sets in one another: so deep is a value that a function makes, as those
that come in at the doors."""
_TRAVELLING_MAX: Final = LEVELS_MAX + 10
"""Around a value there may be its row, and around that the rows of an event that failed. Whoever
reads the logs has to read it, with the stack that Python gives everybody."""

_TUPLE, _SET, _FROZENSET, _MAP, _BIG = range(1, 6)
_SCALARS: Final = frozenset({type(None), bool, float, str, bytes})
_LONG_MIN, _LONG_MAX = -(2**63), 2**63 - 1
_Ext = msgspec.msgpack.Ext
_encoder = msgspec.msgpack.Encoder()


class UnknownTagError(ValueError):
    """Bytes that a newer release wrote, or that are damaged."""


def encode_object(value: Any) -> bytes:
    """The value as bytes; InvalidEventError for kinds of values that cannot travel, and for what is
    nested too deep."""
    try:
        return _encoder.encode(_packed(value, _TRAVELLING_MAX))
    except (TypeError, UnicodeEncodeError, RecursionError) as error:
        raise InvalidEventError(f"a value that cannot travel: {error}") from error


def decode_object(payload: bytes) -> Any:
    """The value; ValueError for damaged bytes."""
    return _decoder.decode(payload)


def _packed(value: Any, levels: int) -> Any:
    """`levels`: how many more there may be."""
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is int:
        return value if _LONG_MIN <= value <= _LONG_MAX else _Ext(_BIG, str(value).encode())
    if not levels:
        raise InvalidEventError(
            f"a value that cannot travel: lists and maps may be nested {LEVELS_MAX} deep"
        )
    levels -= 1
    if kind is list:
        return [_packed(item, levels) for item in value]
    if kind is tuple:
        return _Ext(_TUPLE, _encoder.encode([_packed(item, levels) for item in value]))
    if kind is dict:
        if all(type(key) is str for key in value):
            return {key: _packed(item, levels) for key, item in value.items()}
        pairs = [(_packed(key, levels), _packed(item, levels)) for key, item in value.items()]
        return _Ext(_MAP, _encoder.encode(pairs))
    if kind is set or kind is frozenset:
        items = sorted(_encoder.encode(_packed(item, levels)) for item in value)
        return _Ext(_SET if kind is set else _FROZENSET, _encoder.encode(items))
    raise TypeError(f"{kind.__module__}.{kind.__qualname__}")


def _ext(code: int, data: memoryview) -> Any:
    if code == _BIG:
        return int(bytes(data))
    items = _decoder.decode(data)
    if code == _TUPLE:
        return tuple(items)
    if code == _MAP:
        return dict(items)
    if code == _SET:
        return {_decoder.decode(item) for item in items}
    if code == _FROZENSET:
        return frozenset(_decoder.decode(item) for item in items)
    raise UnknownTagError(f"unknown tag {code}")


_decoder = msgspec.msgpack.Decoder(ext_hook=_ext)
