"""Large messages of many events in binary form, in columns."""

from __future__ import annotations

import struct
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lockstep.events import AttributeType
from lockstep.events.columns import ARROW_TYPES
from lockstep.mapping.binary.meaning import LETTERS, BinarySource
from lockstep.mapping.columnar import OddError, QuickReader
from lockstep.mapping.contract import Columns, Properties

_COUNT = struct.Struct(">i")


class BinaryColumns(QuickReader):
    """Reads for a BinarySource: what has one size all at once, up to the next string."""

    def __init__(self, source: BinarySource) -> None:
        self._types = source.types
        letters = "q"  # the event's time, which nobody takes here
        pieces = []
        for kind in self._types:
            if kind is AttributeType.STRING:
                pieces.append(f"{letters}i")  # its length
                letters = ""
            else:
                letters += LETTERS[kind]
        self._pieces = [struct.Struct(f">{each}") for each in pieces]
        self._last = struct.Struct(f">{letters}")

    def columns(self, payload: Any, properties: Properties) -> Columns:
        """See QuickReader."""
        try:
            parts, texts = self._read(payload)
        except struct.error as error:
            raise OddError(str(error)) from error
        events = len(parts[-1])
        if not events:
            raise OddError("there are no events")
        found = [list(zip(*each, strict=True)) for each in parts]
        fixed = [values for each in found[:-1] for values in each[:-1]] + found[-1]
        placed = iter(fixed[1:])
        strings = iter(texts)
        values = [
            pc.cast(pa.array(next(strings), pa.binary()), pa.string())
            if kind is AttributeType.STRING
            else pa.array(next(placed), ARROW_TYPES[kind])
            for kind in self._types
        ]
        return Columns(values, events, together=True)

    def _read(self, data: bytes) -> tuple[list[list[tuple[Any, ...]]], list[list[bytes | None]]]:
        """What stands between the strings, and the strings: of each place, event by event."""
        (count,) = _COUNT.unpack_from(data)
        at, end = _COUNT.size, len(data)
        parts: list[list[tuple[Any, ...]]] = [[] for _ in range(len(self._pieces) + 1)]
        texts: list[list[bytes | None]] = [[] for _ in self._pieces]
        pieces = [
            (piece.unpack_from, piece.size, part.append, text.append)
            for piece, part, text in zip(self._pieces, parts, texts, strict=False)
        ]
        last, size, take = self._last.unpack_from, self._last.size, parts[-1].append
        for _ in range(count):
            for unpack, width, keep, keep_text in pieces:
                piece = unpack(data, at)
                at += width
                length = piece[-1]
                if not 0 <= length <= end - at:
                    raise OddError("a string reaches beyond the message")
                keep(piece)
                keep_text(data[at : at + length] or None)
                at += length
            take(last(data, at))
            at += size
        if at != end:
            raise OddError("more stands behind the last event")
        return parts, texts
