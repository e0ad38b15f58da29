"""The snapshot codec: MessagePack with tags for what MessagePack lacks; versioned, no pickle.

A snapshot is a header (magic, version, log position), columns of events that are large, each behind
the other, the body, which says where they stand, and the body's size: so it is written in one go,
and nothing large is there twice. Snapshots of version 1 have all in the body, behind the header.
Reading refuses other versions, unknown tags and damaged bytes with SnapshotError. Values come back
with the types they had: tuples stay tuples, lists lists, keys of any hashable kind stay keys.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

import msgspec

from lockstep.operators.contract import JoinedEvent, MatchedEvent, StreamEvent
from lockstep.operators.errors import SnapshotError
from lockstep.operators.packed import PackedEvents, PackedPairs

MAGIC = b"LOCKSTEP"
VERSION = 2
ALL_IN_THE_BODY = 1
_HEADER = struct.Struct(">8sHQ")
_SIZE = struct.Struct(">Q")
ALIGNMENT = 64
"""Of what stands in front of the body, as Arrow likes it."""

Bytes = bytes | memoryview
"""A snapshot that is read."""


class Sink(Protocol):
    """Where a snapshot is written to, piece by piece."""

    def write(self, data: Any, /) -> object:
        """Takes a buffer."""


_EVENT, _TUPLE, _SET, _FROZENSET, _MAP, _BIG, _JOINED, _MATCHED, _PACKED, _PAIRS, _ASIDE = range(
    1, 12
)
_SCALARS = frozenset({type(None), bool, float, str, bytes})
_NAMED: Final = 2
_LONG_MIN, _LONG_MAX = -(2**63), 2**63 - 1


def _unknown(value: Any) -> Any:
    raise SnapshotError(
        f"a value of type {type(value).__name__} cannot be part of a snapshot",
        hint="give plain values: EXTENDING.md",
    )


_encoder = msgspec.msgpack.Encoder(enc_hook=_unknown)
_encode = _encoder.encode
_Ext = msgspec.msgpack.Ext


def _inline(code: int, buffers: Iterable[Any]) -> Any:
    return _Ext(code, b"".join(buffers))


_Aside = Callable[[int, Iterable[Any]], Any]
"""Puts columns with a tag where they belong; gives what stands for them."""


def _packed(value: Any, aside: _Aside) -> Any:
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is int:
        return value if _LONG_MIN <= value <= _LONG_MAX else _Ext(_BIG, str(value).encode())
    if kind is list:
        return _all_packed(value, aside)
    if kind is tuple:
        try:
            return _Ext(_TUPLE, _encode(_all_packed(value, aside)))
        except SnapshotError as error:
            # A snapshot is made of (path, state): whose state it is says where to look.
            if len(value) == _NAMED and type(value[0]) is str:
                error.where = value[0]
            raise
    if isinstance(value, StreamEvent):
        data = [item if type(item) in _SCALARS else _packed(item, aside) for item in value.data]
        return _Ext(_EVENT, _encode([value.timestamp_ms, value.kind, data]))
    if kind is dict:
        if all(type(key) is str for key in value):
            return {key: _packed(item, aside) for key, item in value.items()}
        pairs = [(_packed(key, aside), _packed(item, aside)) for key, item in value.items()]
        return _Ext(_MAP, _encode(pairs))
    return _packed_rare(value, aside)


def _all_packed(values: Iterable[Any], aside: _Aside) -> list[Any]:
    # Most values are leaves, which a call each would make twice as dear.
    return [
        value
        if (kind := type(value)) in _SCALARS or (kind is int and _LONG_MIN <= value <= _LONG_MAX)
        else _packed(value, aside)
        for value in values
    ]


def _packed_rare(value: Any, aside: _Aside) -> Any:
    if isinstance(value, (set, frozenset)):
        # Sets have no order of their own: sorted bytes make equal states equal snapshots.
        items = sorted(_encode(_packed(item, aside)) for item in value)
        return _Ext(_SET if isinstance(value, set) else _FROZENSET, _encode(items))
    if isinstance(value, JoinedEvent):
        sides = [_packed(value.left, aside), _packed(value.right, aside)]
        return _Ext(_JOINED, _encode([value.timestamp_ms, value.kind, *sides]))
    if isinstance(value, PackedEvents | PackedPairs):
        is_events = isinstance(value, PackedEvents)
        columns = value if isinstance(value, PackedEvents) else value.columns
        if columns.is_small:
            rows = value.events() if isinstance(value, PackedEvents) else value.pairs()
            return _packed(rows, aside)
        place = aside if columns.is_large else _inline
        return place(_PACKED if is_events else _PAIRS, columns.buffers())
    if isinstance(value, MatchedEvent):
        slots = [_packed(slot, aside) for slot in value.slots]
        return _Ext(_MATCHED, _encode([value.timestamp_ms, value.kind, slots]))
    return _unknown(value)


class _Reader:
    """Decodes what was packed; `whole` is where columns stand that were put aside."""

    def __init__(self, *, keep_packed: bool, whole: memoryview | None = None) -> None:
        self._keep_packed = keep_packed
        self._whole = whole
        self._decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(ext_hook=self._ext)
        self.decode = self._decoder.decode

    def _ext(self, code: int, data: memoryview) -> Any:
        if code == _ASIDE:
            code, start, size = msgspec.msgpack.decode(data)
            if self._whole is None or start + size > len(self._whole):
                raise SnapshotError("damaged snapshot: columns are not where they should be")
            data = self._whole[start : start + size]
        if code == _PACKED:
            events = PackedEvents(data)
            return events if self._keep_packed else events.events()
        if code == _PAIRS:
            pairs = PackedPairs(PackedEvents(data))
            return pairs if self._keep_packed else pairs.pairs()
        return _unpacked(code, data, self._decoder)


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


_decoders = {keep_packed: _Reader(keep_packed=keep_packed) for keep_packed in (False, True)}


def encode(value: Any) -> bytes:
    """A plain value as bytes; raises SnapshotError for what `PlainState` does not allow."""
    return _encode(_packed(value, _inline))


def decode(data: Bytes, *, keep_packed: bool = False) -> Any:
    """The value that `encode` was given; raises SnapshotError for damaged bytes.

    Packed events come as lists of events, or as they are for who can read them (`keep_packed`).
    """
    return _decoded(_decoders[keep_packed], data)


def _decoded(reader: _Reader, data: Bytes) -> Any:
    try:
        return reader.decode(data)
    except (msgspec.DecodeError, ValueError, TypeError, LookupError) as error:
        raise SnapshotError(f"damaged snapshot: {error}") from error


class _Written:
    """A snapshot on its way into a sink."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._size = 0

    def write(self, data: Any) -> None:
        """The next piece."""
        self._sink.write(data)
        self._size += len(memoryview(data).cast("B"))

    def aside(self, code: int, buffers: Iterable[Any]) -> Any:
        """Columns of their own, and what stands for them in the body."""
        self.write(bytes(-self._size % ALIGNMENT))
        start = self._size
        for buffer in buffers:
            self.write(buffer)
        return _Ext(_ASIDE, _encode([code, start, self._size - start]))


def seal_into(sink: Sink, position: int, body: Any) -> None:
    """Writes a snapshot."""
    written = _Written(sink)
    written.write(_HEADER.pack(MAGIC, VERSION, position))
    packed = _encode(_packed(body, written.aside))
    written.write(packed)
    written.write(_SIZE.pack(len(packed)))


def seal(position: int, body: Any) -> bytes:
    """A snapshot in one piece."""
    pieces = Pieces()
    seal_into(pieces, position, body)
    return pieces.joined()


class Pieces:
    """A sink in memory."""

    def __init__(self) -> None:
        self._pieces: list[Any] = []

    def write(self, data: Any, /) -> None:
        self._pieces.append(data)

    def joined(self) -> bytes:
        """All that was written."""
        return b"".join(self._pieces)


def position_of(snapshot: Bytes) -> int:
    """The log position a snapshot was taken at; raises SnapshotError when it is none of ours."""
    if len(snapshot) < _HEADER.size:
        raise SnapshotError("not a snapshot: too short")
    magic, version, position = _HEADER.unpack_from(snapshot)
    if magic != MAGIC:
        raise SnapshotError("not a snapshot: it does not start with the magic bytes")
    if version not in (ALL_IN_THE_BODY, VERSION):
        raise SnapshotError(
            f"a snapshot of version {version}; this release reads versions up to {VERSION}",
            hint="restore it with the release that wrote it, or replay the log from the start",
        )
    return int(position)


def moved(snapshot: Bytes, position: int) -> bytes:
    """The same state at another position of a log. SnapshotError."""
    position_of(snapshot)
    magic, version, _ = _HEADER.unpack_from(snapshot)
    return b"".join((_HEADER.pack(magic, version, position), memoryview(snapshot)[_HEADER.size :]))


def unseal(snapshot: Bytes, *, keep_packed: bool = False) -> tuple[int, Any]:
    """(position, body) of a snapshot; raises SnapshotError. `keep_packed`: see decode."""
    position = position_of(snapshot)
    whole = memoryview(snapshot)
    _, version, _ = _HEADER.unpack_from(whole)
    if version == ALL_IN_THE_BODY:
        return position, decode(whole[_HEADER.size :], keep_packed=keep_packed)
    end = len(whole) - _SIZE.size
    if end < _HEADER.size:
        raise SnapshotError("damaged snapshot: it ends behind its header")
    (size,) = _SIZE.unpack_from(whole, end)
    if size > end - _HEADER.size:
        raise SnapshotError("damaged snapshot: it is shorter than its body")
    reader = _Reader(keep_packed=keep_packed, whole=whole)
    return position, _decoded(reader, whole[end - size : end])
