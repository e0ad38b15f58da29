"""The snapshot codec: MessagePack with tags for what MessagePack lacks; versioned, no pickle.

A snapshot is a header (magic, version, log position) and a body. Reading refuses other versions,
unknown tags and damaged bytes with SnapshotError. Values come back with the types they had: tuples
stay tuples, lists lists, keys of any hashable kind stay keys.
"""

from __future__ import annotations

import struct
from typing import Any

import msgspec

from lockstep.operators.contract import JoinedEvent, MatchedEvent, StreamEvent
from lockstep.operators.errors import SnapshotError
from lockstep.operators.packed import PackedEvents, PackedPairs

MAGIC = b"LOCKSTEP"
VERSION = 1
_HEADER = struct.Struct(">8sHQ")

_EVENT, _TUPLE, _SET, _FROZENSET, _MAP, _BIG, _JOINED, _MATCHED, _PACKED, _PAIRS = range(1, 11)
_SCALARS = frozenset({type(None), bool, float, str, bytes})
_LONG_MIN, _LONG_MAX = -(2**63), 2**63 - 1


def _unknown(value: Any) -> Any:
    raise SnapshotError(f"a value of type {type(value).__name__} cannot be part of a snapshot")


_encoder = msgspec.msgpack.Encoder(enc_hook=_unknown)
_encode = _encoder.encode
_Ext = msgspec.msgpack.Ext


def _packed(value: Any) -> Any:
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is int:
        return value if _LONG_MIN <= value <= _LONG_MAX else _Ext(_BIG, str(value).encode())
    if kind is list:
        return [_packed(item) for item in value]
    if kind is tuple:
        return _Ext(_TUPLE, _encode([_packed(item) for item in value]))
    if isinstance(value, StreamEvent):
        data = [item if type(item) in _SCALARS else _packed(item) for item in value.data]
        return _Ext(_EVENT, _encode([value.timestamp_ms, value.kind, data]))
    if kind is dict:
        if all(type(key) is str for key in value):
            return {key: _packed(item) for key, item in value.items()}
        pairs = [(_packed(key), _packed(item)) for key, item in value.items()]
        return _Ext(_MAP, _encode(pairs))
    return _packed_rare(value)


def _packed_rare(value: Any) -> Any:
    if isinstance(value, (set, frozenset)):
        # Sets have no order of their own: sorted bytes make equal states equal snapshots.
        items = sorted(_encode(_packed(item)) for item in value)
        return _Ext(_SET if isinstance(value, set) else _FROZENSET, _encode(items))
    if isinstance(value, JoinedEvent):
        parts = [value.timestamp_ms, value.kind, _packed(value.left), _packed(value.right)]
        return _Ext(_JOINED, _encode(parts))
    if isinstance(value, PackedEvents):
        return _Ext(_PACKED, value.payload)
    if isinstance(value, PackedPairs):
        return _Ext(_PAIRS, value.payload)
    if isinstance(value, MatchedEvent):
        slots = [_packed(slot) for slot in value.slots]
        return _Ext(_MATCHED, _encode([value.timestamp_ms, value.kind, slots]))
    return _unknown(value)


def _ext(code: int, data: memoryview) -> Any:
    if code == _PACKED:
        return PackedEvents(data).events()
    if code == _PAIRS:
        return PackedPairs(data).pairs()
    return _unpacked(code, data, _decoder)


def _ext_packed(code: int, data: memoryview) -> Any:
    if code == _PACKED:
        return PackedEvents(data)
    if code == _PAIRS:
        return PackedPairs(data)
    return _unpacked(code, data, _packed_decoder)


def _unpacked(code: int, data: memoryview, decoder: msgspec.msgpack.Decoder[Any]) -> Any:
    if code == _BIG:
        return int(bytes(data))
    inner = decoder.decode(data)
    if code == _EVENT:
        return StreamEvent(inner[0], tuple(inner[2]), inner[1])
    if code == _TUPLE:
        return tuple(inner)
    if code == _MAP:
        return dict(inner)
    if code in (_SET, _FROZENSET):
        items = [decoder.decode(item) for item in inner]
        return set(items) if code == _SET else frozenset(items)
    if code == _JOINED:
        return JoinedEvent(inner[0], inner[2], inner[3], inner[1])
    if code == _MATCHED:
        return MatchedEvent(inner[0], inner[2], inner[1])
    raise SnapshotError(f"unknown tag {code} in a snapshot")


_decoder = msgspec.msgpack.Decoder(ext_hook=_ext)
_packed_decoder = msgspec.msgpack.Decoder(ext_hook=_ext_packed)


def encode(value: Any) -> bytes:
    """A plain value as bytes; raises SnapshotError for what `PlainState` does not allow."""
    return _encode(_packed(value))


def decode(data: bytes | memoryview, *, keep_packed: bool = False) -> Any:
    """The value that `encode` was given; raises SnapshotError for damaged bytes.

    Packed events come as lists of events, or as they are for who can read them (`keep_packed`).
    """
    try:
        return (_packed_decoder if keep_packed else _decoder).decode(data)
    except (msgspec.DecodeError, ValueError, TypeError, LookupError) as error:
        raise SnapshotError(f"damaged snapshot: {error}") from error


def seal(position: int, body: Any) -> bytes:
    """A snapshot: header and body."""
    return _HEADER.pack(MAGIC, VERSION, position) + encode(body)


def position_of(snapshot: bytes) -> int:
    """The log position a snapshot was taken at; raises SnapshotError when it is none of ours."""
    if len(snapshot) < _HEADER.size:
        raise SnapshotError("not a snapshot: too short")
    magic, version, position = _HEADER.unpack_from(snapshot)
    if magic != MAGIC:
        raise SnapshotError("not a snapshot: it does not start with the magic bytes")
    if version != VERSION:
        raise SnapshotError(
            f"a snapshot of version {version}; this release reads version {VERSION}",
            hint="restore it with the release that wrote it, or replay the log from the start",
        )
    return int(position)


def unseal(snapshot: bytes, *, keep_packed: bool = False) -> tuple[int, Any]:
    """(position, body) of a snapshot; raises SnapshotError. `keep_packed`: see decode."""
    position = position_of(snapshot)
    return position, decode(memoryview(snapshot)[_HEADER.size :], keep_packed=keep_packed)
