"""Each change of a table by itself: what was inserted, updated or deleted, and where it stands in
the database's own order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Protocol

from lockstep.databases.contract import DatabaseError

BEFORE: Final = "before_"
BEGUN: Final = "begun"
AT: Final = "at"
"""What a listener remembers: that it has begun, and up to where changes are durable."""


class RowOperation(StrEnum):
    """What happened to a row."""

    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class RowEvent:
    """One change. `id` is made of its place, so it is the same when the change comes again.
    `entries`: the row by its columns, and under `before_<column>` as it was."""

    id: str
    operation: RowOperation
    entries: Mapping[str, Any]


class Listening(Protocol):
    """The changes of one table, read by one holder, in the database's order. Errors:
    UnavailableError, DatabaseError."""

    async def read(self, *, max_rows: int, wait_ms: int) -> Sequence[RowEvent]:
        """What comes next; none when nothing came in time."""

    async def settle(self) -> None:
        """All that was read is durable: whoever reads on begins behind it."""

    async def forget(self) -> None:
        """Nobody reads any more: what the database keeps for it goes."""

    async def close(self) -> None:
        """Gives connections back; idempotent."""


def entries_of(row: Mapping[str, Any] | None, before: Mapping[str, Any] | None) -> dict[str, Any]:
    """By the names that the older product gives them."""
    found = dict(row or {})
    found.update({f"{BEFORE}{name}": value for name, value in (before or {}).items()})
    return found


class PlaceGoneError(DatabaseError):
    """The database does not keep any more what comes behind a place."""


def place_is_gone(where: str, why: str) -> PlaceGoneError:
    """What came in between nobody can tell: going on in silence would lose it."""
    return PlaceGoneError(
        f"changes of this table are lost: {why}",
        where=where,
        hint="to go on with what comes from now on, give the source another database.server.name",
    )
