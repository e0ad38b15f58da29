"""From messages to transactions: which rows of the wanted table each of them changed. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from lockstep.databases.contract import DatabaseError, RowChange, TableShape, net_changes
from lockstep.databases.postgres.pgoutput import (
    UNCHANGED,
    Begin,
    Commit,
    Deleted,
    Message,
    Relation,
    Truncated,
    Values,
    Written,
)
from lockstep.databases.postgres.values import reader_of

Row = tuple[Any, ...]
Change = tuple[RowChange, Row]

_MODULO = 2**32


@dataclass(slots=True)
class Transaction:
    """What one transaction did: chunks of changes, each key at most once in a chunk. `lacking`:
    rows of which a large value was not told; they have to be read."""

    number: int
    commit: int
    end: int = 0
    chunks: list[list[Change]] = field(default_factory=list)
    lacking: list[Row] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a load has seen: transactions below `first` are in it, those from `last` on are not,
    those between unless they were under way."""

    first: int
    last: int
    under_way: frozenset[int]

    @classmethod
    def read(cls, text: str) -> Snapshot:
        """Of `first:last:a,b,c`."""
        first, last, rest = text.split(":")
        return cls(int(first), int(last), frozenset(int(one) for one in rest.split(",") if one))

    def has_seen(self, transaction: int) -> bool:
        """Of a transaction's number in 32 bits, which is within two thousand millions of these."""
        distance = (transaction - self.last + _MODULO // 2) % _MODULO - _MODULO // 2
        number = self.last + distance
        if number < self.first:
            return True
        return number < self.last and number not in self.under_way


class Decoder:
    """Keeps the shapes of relations from call to call."""

    def __init__(self, shape: TableShape, relation: int) -> None:
        self._shape = shape
        self._relation = relation
        self._places: list[int] = []
        self._readers: list[Callable[[str], Any]] = []

    def transactions(self, messages: Iterable[Message | None]) -> Iterator[Transaction]:
        """Whole ones, in the order of their commits."""
        current: Transaction | None = None
        changes: list[Change] = []
        for message in messages:
            match message:
                case Begin():
                    current, changes = Transaction(message.transaction, message.commit), []
                case Relation() if message.number == self._relation:
                    self._learn(message)
                case Written() if message.relation == self._relation:
                    assert current is not None
                    changes += self._written(message, current)
                case Deleted() if message.relation == self._relation:
                    changes.append((RowChange.GONE, self._key_row(message.before)))
                case Truncated() if self._relation in message.relations:
                    assert current is not None
                    none = tuple(None for _ in self._shape.columns)
                    changes, current.lacking = [], []
                    current.chunks.append([(RowChange.ALL_GONE, none)])
                case Commit() if current is not None:
                    current.end = message.end
                    current.chunks.append(net_changes(changes, self._shape.key_places))
                    yield current
                    current = None

    def _learn(self, relation: Relation) -> None:
        missing = [name for name in self._shape.columns if name not in relation.columns]
        if missing:
            raise DatabaseError(
                f"table {self._shape.table!r} has no column {missing[0]!r} any more",
                hint="add it again, or deploy the app without it",
            )
        self._places = [relation.columns.index(name) for name in self._shape.columns]
        self._readers = [
            reader_of(kind, relation.types[place])
            for kind, place in zip(self._shape.types, self._places, strict=True)
        ]

    def _written(self, message: Written, current: Transaction) -> Sequence[Change]:
        row = self._row(message.row)
        if UNCHANGED in row:
            current.lacking.append(row)
        changes: list[Change] = []
        if message.before is not None:
            before = self._key_row(message.before)
            if self._key(before) != self._key(row):
                changes.append((RowChange.GONE, before))
        return [*changes, (RowChange.ROW, row)]

    def _row(self, values: Values) -> Row:
        found = []
        for place, read in zip(self._places, self._readers, strict=True):
            value = values[place]
            found.append(read(value) if isinstance(value, str) else value)
        return tuple(found)

    def _key_row(self, values: Values) -> Row:
        row = self._row(values)
        if any(part is None for part in self._key(row)):
            raise DatabaseError(
                f"table {self._shape.table!r} does not tell which row was deleted",
                hint="the app's @PrimaryKey has to be the table's primary key;"
                " else: ALTER TABLE … REPLICA IDENTITY FULL",
            )
        places = self._shape.key_places
        return tuple(value if place in places else None for place, value in enumerate(row))

    def _key(self, row: Row) -> Row:
        return tuple(row[place] for place in self._shape.key_places)
