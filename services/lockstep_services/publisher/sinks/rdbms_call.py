"""@sink(type='rdbms-call'): each message a statement, whose answer comes in as that of an
`http-call`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from lockstep.connectors.rdbms_call import parameters_of
from lockstep.databases.values import plain
from lockstep.events import AttributeType, FencedError, StreamSchema, UnavailableError
from lockstep.siddhiql.statements import given_attributes, pieces
from lockstep.sinks import Message, MessageRefusedError
from lockstep.store.postgres import why_away
from lockstep_services.publisher.rdbms.table_sink import Errors
from lockstep_services.publisher.sinks.requests import Answered

MAX_ROWS: Final = 10_000
"""That one answer may have."""

OK: Final = 200
RECORDS: Final = "numRecords"


class Statements(Protocol):
    """A database. `away`: errors that pass; `unfit`: those of what an app gave. A statement comes
    in parts with a value between each two."""

    away: Errors
    unfit: Errors

    async def take_over(self, *, forget: bool) -> None:
        """Shuts older publishers out; `forget`: records of changes, too."""

    async def change(
        self, call: str, parts: Sequence[str], types: Sequence[AttributeType], values: Sequence[Any]
    ) -> int:
        """Makes a change, unless it was made; how many records it changed. FencedError."""

    async def rows(
        self,
        parts: Sequence[str],
        types: Sequence[AttributeType],
        values: Sequence[Any],
        max_rows: int,
    ) -> list[tuple[Any, ...]]:
        """What a question gives, one more than so many at most; it can change nothing."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What a sink says. `gives`: the attributes of an answer, None for a change."""

    parts: tuple[str, ...]
    parameters: tuple[str, ...]
    types: tuple[AttributeType, ...]
    gives: tuple[tuple[str, AttributeType], ...] | None
    tells_empty: bool


def statement_of(options: Mapping[str, str], schema: StreamSchema) -> Statement:
    """That of a sink of a stream. ValueError for a parameter that the stream does not have."""
    names = parameters_of(options.get("parameters", ""))
    kinds = dict(zip(schema.names, schema.types, strict=True))
    for name in names:
        if kinds.get(name, AttributeType.OBJECT) is AttributeType.OBJECT:
            raise ValueError(f"'parameters': {schema.name} has no {name!r} that a database takes")
    gives = options.get("gives")
    return Statement(
        tuple(pieces(options["statement"])),
        names,
        tuple(kinds[name] for name in names),
        None if gives is None else given_attributes(gives),
        options.get("ack.empty.result.set", "").strip().lower() == "true",
    )


class StatementAsking:
    """See `Asking`. `kept`: the attributes of the stream of answers; `place`: for errors."""

    def __init__(
        self, statement: Statement, database: Statements, kept: Sequence[str], place: str
    ) -> None:
        self._statement = statement
        self._database = database
        self._kept = kept
        self._place = place
        self._is_ours = False
        self._forgets = False

    async def send(self, message: Message) -> Answered | None:
        """None where a question has no answer. Errors: UnavailableError, MessageRefusedError,
        FencedError."""
        said = self._statement
        database = self._database
        values = [message.event[name] for name in said.parameters]
        try:
            if said.gives is None:
                rows = [{RECORDS: await self._change(message.id, values)}]
            else:
                found = await database.rows(said.parts, said.types, values, MAX_ROWS)
                rows = self._answers(found, said.gives)
        except database.away as error:
            raise UnavailableError(
                f"the database is away: {why_away(error)}", where=self._place
            ) from error
        except database.unfit as error:
            raise MessageRefusedError(str(error), where=self._place) from error
        if not rows:
            return None
        asked = {name: plain(value) for name, value in message.event.items() if name in self._kept}
        body = json.dumps([{**asked, **row} for row in rows])
        return Answered(self._place, OK, {}, body.encode(), is_cut=False)

    def begin_again(self) -> None:
        """Identities come again that meant other rows."""
        self._is_ours, self._forgets = False, True

    async def close(self) -> None:
        """The connections are shared and stay."""
        self._is_ours = False

    async def _change(self, call: str, values: Sequence[Any]) -> int:
        said = self._statement
        if not self._is_ours:
            await self._database.take_over(forget=self._forgets)
            self._is_ours, self._forgets = True, False
        try:
            return await self._database.change(call, said.parts, said.types, values)
        except FencedError:
            self._is_ours = False
            raise

    def _answers(
        self, found: Sequence[tuple[Any, ...]], gives: Sequence[tuple[str, AttributeType]]
    ) -> list[dict[str, Any]]:
        if len(found) > MAX_ROWS:
            raise MessageRefusedError(
                f"the answer has more than {MAX_ROWS} rows",
                where=self._place,
                hint="let the statement give fewer: LIMIT",
            )
        if found and len(found[0]) < len(gives):
            raise MessageRefusedError(
                f"the answer has {len(found[0])} columns, 'gives' names {len(gives)} attributes",
                where=self._place,
            )
        if not found and self._statement.tells_empty:
            return [{name: None for name, _ in gives}]
        return [
            {name: self._fit(row[i], name, kind) for i, (name, kind) in enumerate(gives)}
            for row in found
        ]

    def _fit(self, value: Any, name: str, kind: AttributeType) -> Any:
        if value is None:
            return None
        try:
            return _READERS[kind](value)
        except (TypeError, ValueError, OverflowError) as error:
            raise MessageRefusedError(
                f"{name!r} is {value!r}, which is no {kind.value}", where=self._place
            ) from error


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(plain(value))


def _whole(value: Any) -> int:
    number = int(value)
    if number != value:
        raise ValueError(value)
    return number


def _number(value: Any) -> Any:
    return plain(float(value))


def _bool(value: Any) -> bool:
    if value not in (0, 1):  # MySQL's are numbers, and those of BIT are bytes
        value = int.from_bytes(value)
    return bool(value)


_READERS: Final[Mapping[AttributeType, Callable[[Any], Any]]] = {
    AttributeType.STRING: _text,
    AttributeType.INT: _whole,
    AttributeType.LONG: _whole,
    AttributeType.FLOAT: _number,
    AttributeType.DOUBLE: _number,
    AttributeType.BOOL: _bool,
}
