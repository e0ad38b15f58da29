"""From what the binary log tells to transactions: which rows of the wanted table each of them
changed. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from lockstep.databases.contract import DatabaseError, RowChange, TableShape, net_changes
from lockstep.databases.mysql.binlog import (
    CommitTold,
    FileTold,
    PreparedTold,
    Row,
    RowsTold,
    StatementTold,
    Told,
    UnreadableError,
)
from lockstep.databases.mysql.columns import Field, UnlikeError
from lockstep.databases.mysql.statements import Effect, effect_of

Change = tuple[RowChange, tuple[Any, ...]]
EMPTY_EVERY: Final = 256
"""One in so many transactions that change nothing here is told, so that the place moves on."""


@dataclass(frozen=True, slots=True)
class Transaction:
    """What one did, chunk by chunk, each key at most once in a chunk; `end`: the place behind it.
    `is_remade`: what it did can only be seen in the table itself."""

    end: int
    chunks: Sequence[Sequence[Change]] = ()
    is_remade: bool = False


@dataclass(slots=True)
class Assembler:
    """Keeps what was told of a transaction until its end. `table`: schema and name, as the server
    writes them."""

    shape: TableShape
    fields: Sequence[Field]
    table: tuple[str, str]
    where: str
    _changes: list[Change] = field(default_factory=list)
    _is_doubtful: bool = False
    _passed: int = 0

    def transactions(self, told: Told) -> Sequence[Transaction | FileTold]:
        """Those that end here, in the order of their commits, and files of the log."""
        match told:
            case RowsTold():
                self._take(told)
            case StatementTold():
                return self._statement(told)
            case CommitTold():
                return self._ended(told.place)
            case PreparedTold():
                self._drop()
            case FileTold():
                self._drop()
                return [told]
        return ()

    def _statement(self, told: StatementTold) -> Sequence[Transaction]:
        effect = effect_of(told.text, told.schema, self.table)
        if effect is Effect.COMMITTED:
            return self._ended(told.place)
        if effect is Effect.DOUBTFUL:
            self._is_doubtful = bool(self._changes)
        if effect in (Effect.NOTHING, Effect.DOUBTFUL):
            return ()
        self._drop()
        if effect is Effect.REMADE:
            return [Transaction(told.place, is_remade=True)]
        if effect is Effect.EMPTIED:
            none = tuple(None for _ in self.fields)
            return [Transaction(told.place, [[(RowChange.ALL_GONE, none)]])]
        return ()

    def _drop(self) -> None:
        self._changes, self._is_doubtful = [], False

    def _ended(self, place: int) -> Sequence[Transaction]:
        changes, is_doubtful = self._changes, self._is_doubtful
        self._drop()
        if is_doubtful:
            return [Transaction(place, is_remade=True)]
        if changes:
            return [Transaction(place, [net_changes(changes, self.shape.key_places)])]
        self._passed = (self._passed + 1) % EMPTY_EVERY
        return () if self._passed else [Transaction(place)]

    def _take(self, told: RowsTold) -> None:
        lacking = [one.name for one in self.fields if one.name in told.lacking]
        if lacking:
            raise self._unreadable(f"a change in the binary log lacks column {lacking[0]!r}")
        for before, after in told.rows:
            row = None if after is None else tuple(self._read(one, after) for one in self.fields)
            key = None if row is None else self._checked([row[n] for n in self.shape.key_places])
            if before is not None:
                fields = (self.fields[place] for place in self.shape.key_places)
                was = self._checked([self._read(one, before) for one in fields])
                if was != key:
                    self._changes.append((RowChange.GONE, self._key_row(was)))
            if row is not None:
                self._changes.append((RowChange.ROW, row))

    def _checked(self, key: Sequence[Any]) -> Sequence[Any]:
        check_key(key, self.where)
        return key

    def _key_row(self, key: Sequence[Any]) -> tuple[Any, ...]:
        parts = dict(zip(self.shape.key_places, key, strict=True))
        return tuple(parts.get(place) for place in range(len(self.fields)))

    def _read(self, one: Field, told: Row) -> Any:
        if one.name not in told:
            raise self._unreadable(f"a change in the binary log has no column {one.name!r}")
        value = told[one.name]
        if value is None:
            return None
        try:
            return one.told(value)
        except UnlikeError as error:
            raise self._unreadable(f"a change holds {error} in column {one.name!r}") from error
        except DatabaseError as error:
            raise UnreadableError(error.message, where=self.where, hint=error.hint) from error

    def _unreadable(self, why: str) -> UnreadableError:
        hint = "SET GLOBAL binlog_row_image = 'FULL', binlog_row_metadata = 'FULL'"
        return UnreadableError(why, where=self.where, hint=hint)


def check_key(key: Sequence[Any], where: str) -> None:
    """UnreadableError for a row that the app could not tell from others."""
    if any(part is None for part in key):
        raise UnreadableError(
            "a row has no value in the app's @PrimaryKey", where=where,
            hint="name columns that are NOT NULL",
        )  # fmt: skip
