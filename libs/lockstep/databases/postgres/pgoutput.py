"""What PostgreSQL's own decoder says of transactions (plug-in pgoutput, protocol 1). Pure.

Its format: the manual's chapter "Logical Replication Message Formats".
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from lockstep.databases.contract import DatabaseError


class _Unchanged(Enum):
    """A large value that an update did not touch, and that the server therefore did not send."""

    UNCHANGED = "unchanged"


UNCHANGED: Final = _Unchanged.UNCHANGED
Text = str | None | _Unchanged
Values = tuple[Text, ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """A table: its columns in order, with the numbers of their types."""

    number: int
    schema: str
    name: str
    columns: tuple[str, ...]
    types: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Begin:
    """A transaction; `commit`: the position of its commit record."""

    commit: int
    transaction: int


@dataclass(frozen=True, slots=True)
class Commit:
    """Its end; `end`: the position behind it."""

    end: int


@dataclass(frozen=True, slots=True)
class Written:
    """A row as it is now. `before`: as it was, or its key, where the server says so. `is_new`: it
    was inserted."""

    relation: int
    row: Values
    before: Values | None = None
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class Deleted:
    """A row that is gone: as it was, or its key and nulls."""

    relation: int
    before: Values


@dataclass(frozen=True, slots=True)
class Truncated:
    """Tables that were emptied."""

    relations: tuple[int, ...]


Message = Relation | Begin | Commit | Written | Deleted | Truncated


class _Reader:
    def __init__(self, payload: bytes) -> None:
        self._payload = payload
        self._at = 1

    def take(self, form: str) -> int:
        size = struct.calcsize(form)
        (value,) = struct.unpack_from(form, self._payload, self._at)
        self._at += size
        return int(value)

    def text(self) -> str:
        end = self._payload.index(b"\0", self._at)
        found = self._payload[self._at : end].decode()
        self._at = end + 1
        return found

    def raw(self, size: int) -> bytes:
        found = self._payload[self._at : self._at + size]
        if len(found) != size:
            raise ValueError("it ends too early")
        self._at += size
        return found

    def values(self) -> Values:
        found: list[Text] = []
        for _ in range(self.take(">H")):
            match self.raw(1):
                case b"n":
                    found.append(None)
                case b"u":
                    found.append(UNCHANGED)
                case b"t":
                    found.append(self.raw(self.take(">i")).decode())
                case other:
                    raise ValueError(f"a value of the kind {other!r}")
        return tuple(found)


def read_message(payload: bytes) -> Message | None:
    """A message; None for those that tell nothing of rows. DatabaseError for a damaged one."""
    try:
        return _read(payload[:1], _Reader(payload))
    except (struct.error, ValueError, IndexError) as error:
        raise DatabaseError(f"a change that cannot be read: {error}") from error


def _read(kind: bytes, reader: _Reader) -> Message | None:
    match kind:
        case b"B":
            commit = reader.take(">Q")
            reader.take(">q")
            return Begin(commit, reader.take(">I"))
        case b"C":
            reader.take(">B")
            reader.take(">Q")
            return Commit(reader.take(">Q"))
        case b"R":
            return _relation(reader)
        case b"I":
            number = reader.take(">I")
            reader.raw(1)
            return Written(number, reader.values(), is_new=True)
        case b"U":
            return _update(reader)
        case b"D":
            number = reader.take(">I")
            reader.raw(1)
            return Deleted(number, reader.values())
        case b"T":
            count = reader.take(">I")
            reader.take(">B")
            return Truncated(tuple(reader.take(">I") for _ in range(count)))
        case b"O" | b"Y" | b"M":
            return None
        case _:
            raise ValueError(f"a message of the kind {kind!r}")


def _relation(reader: _Reader) -> Relation:
    number, schema, name = reader.take(">I"), reader.text(), reader.text()
    reader.take(">B")
    columns: list[str] = []
    types: list[int] = []
    for _ in range(reader.take(">H")):
        reader.take(">B")
        columns.append(reader.text())
        types.append(reader.take(">I"))
        reader.take(">i")
    return Relation(number, schema, name, tuple(columns), tuple(types))


def _update(reader: _Reader) -> Written:
    number = reader.take(">I")
    sign = reader.raw(1)
    before = None
    if sign in (b"K", b"O"):
        before = reader.values()
        reader.raw(1)
    return Written(number, _filled(reader.values(), before if sign == b"O" else None), before)


def _filled(row: Values, before: Values | None) -> Values:
    """What was not sent is what it was, where the server tells that."""
    if before is None:
        return row
    return tuple(old if new is UNCHANGED else new for new, old in zip(row, before, strict=True))


Relations = Mapping[int, Relation]
