"""What following a table of a database gives: its rows, then the changes of each transaction."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, Protocol

from lockstep.events import AttributeType, Fault, LockstepError, UnavailableError

MAX_ANSWER_ROWS: Final = 50_000
"""That one question may bring."""


class DatabaseError(LockstepError):
    """A database that answers, and cannot do what was asked: somebody has to look after it."""

    fault = Fault.USER


class LoginRefusedError(UnavailableError):
    """A database that answers, and does not let us in. No sender can mend that, and it passes: a
    password is changed in two places, one after the other. `said`: the server's words. They name
    the user, so they stand beside `where`, which logs have and senders have not."""

    def __init__(self, said: str, *, where: str) -> None:
        super().__init__(
            "the database refuses the login",
            where=f"{where} ({said})",
            hint="look at its user and password, and the secret or datasource that they come from;"
            " the log says more",
        )
        self.said = said


class RowChange(IntEnum):
    """What a change does: nothing, the row is so now, the row with this key is gone, all rows are
    gone."""

    NOTHING = 0
    ROW = 1
    GONE = 2
    ALL_GONE = 3


@dataclass(frozen=True, slots=True)
class TableShape:
    """A table as an app sees it: its name there, and the columns that are wanted with the types
    that they shall have, the key among them."""

    table: str
    columns: tuple[str, ...]
    types: tuple[AttributeType, ...]
    key: tuple[str, ...]

    @property
    def key_places(self) -> tuple[int, ...]:
        """Where the key is among the columns."""
        return tuple(self.columns.index(name) for name in self.key)


@dataclass(frozen=True, slots=True)
class ChangeBatch:
    """Changes that go into the log together.

    `columns`: of each wanted column a value per change; `chunks`: how many changes belong together,
    as one transaction's do. `id` is the same when the batch comes again. `position`: where to go
    on from when the batch is durable; None: nowhere yet, it is part of a load.
    """

    id: str
    kinds: Sequence[RowChange]
    columns: Sequence[Sequence[Any]]
    chunks: Sequence[int]
    position: int | None


@dataclass(frozen=True, slots=True)
class ReadRows:
    """Some rows, with values that JSON can say. `is_cut`: there are more than were wanted."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    is_cut: bool


class Memory(Protocol):
    """What a follower has to remember, in the suite's store: numbers that only grow."""

    async def get(self, name: str) -> int:
        """0 at the start."""

    async def put(self, name: str, value: int) -> None:
        """Durable when it returns."""


class Following(Protocol):
    """One table that is followed by one holder. Errors: UnavailableError, DatabaseError."""

    def changes(self) -> AsyncIterator[ChangeBatch | None]:
        """All that comes, from where the memory says; when the next is asked for, the one before is
        durable. None where nothing came for a while: look whether you still may."""

    def told(self, *, was_there: bool) -> None:
        """Of the batch that came last, once it is durable: whether the log had its id already."""

    async def forget(self) -> None:
        """Nobody follows any more: what the database keeps for it goes."""

    async def close(self) -> None:
        """Gives the connection back; idempotent."""


class Asking(Protocol):
    """A database that is asked for rows of its tables. Errors: UnavailableError, DatabaseError."""

    async def rows(
        self, shape: TableShape, equal: Sequence[str], keys: Sequence[tuple[Any, ...]]
    ) -> list[tuple[Any, ...]]:
        """The wanted columns of all rows whose columns `equal` have one of the values."""

    async def close(self) -> None:
        """Gives connections back; idempotent."""


def too_many(keys: int, table: str) -> DatabaseError:
    """Of one question."""
    return DatabaseError(
        f"{keys} keys have more than {MAX_ANSWER_ROWS} rows of {table!r}",
        hint="ask by columns that fewer rows share, or use mode='copy'",
    )


def net_changes(
    changes: Sequence[tuple[RowChange, tuple[Any, ...]]], key: Sequence[int]
) -> list[tuple[RowChange, tuple[Any, ...]]]:
    """Of each key the last change alone, in the order of the last changes."""
    last: dict[tuple[Any, ...], tuple[RowChange, tuple[Any, ...]]] = {}
    for kind, row in changes:
        name = tuple(row[place] for place in key)
        last.pop(name, None)
        last[name] = (kind, row)
    return list(last.values())


def batch_of(
    id_: str,
    chunks: Sequence[Sequence[tuple[RowChange, tuple[Any, ...]]]],
    width: int,
    position: int | None,
) -> ChangeBatch:
    """Chunks of changes as columns."""
    flat = [change for chunk in chunks for change in chunk]
    columns: Sequence[Sequence[Any]] = [[] for _ in range(width)]
    if flat:
        columns = [list(column) for column in zip(*(row for _, row in flat), strict=True)]
    return ChangeBatch(
        id_,
        [kind for kind, _ in flat],
        columns,
        [len(chunk) for chunk in chunks if chunk],
        position,
    )
