"""The database behind the database sink: transactions, a lock per cursor, the sink's own SQL.

It knows the statements of `lockstep_services.publisher.rdbms.sql` and nothing else, so that the
sink's real code runs against it. A transaction whose client is silent too long is rolled back.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from lockstep_services.publisher.rdbms.sql import CREATE_CURSORS, MOVE, TAKE_OVER
from tests.simulation.loop import Host, VirtualLoop
from tests.simulation.network import Answer, Network, Serve

DATABASE: Final = "database"
TIMEOUT_MS: Final = 1_500
IDLE_LIMIT_MS: Final = 3_000

Row = tuple[Any, ...]
_CREATE = re.compile(r'CREATE TABLE IF NOT EXISTS "([^"]+)" \((.*)\)$', re.DOTALL)
_INSERT = re.compile(r'INSERT INTO "([^"]+)" .*?(ON CONFLICT .*)?$', re.DOTALL)
_DELETE = re.compile(r'DELETE FROM "([^"]+)" AS t USING')


@dataclass
class Table:
    """`key` are the key's columns; without a key rows stand in a list."""

    columns: tuple[str, ...]
    key: tuple[str, ...]
    rows: list[Row] = field(default_factory=list)

    def key_of(self, row: Row) -> Row:
        """The key's values."""
        return tuple(row[self.columns.index(name)] for name in self.key)

    def insert(self, columns: tuple[list[Any], ...], *, upsert: bool) -> None:
        """Rows as columns."""
        for row in zip(*columns, strict=True):
            if upsert:
                self.rows = [old for old in self.rows if self.key_of(old) != self.key_of(row)]
            self.rows.append(row)

    def delete(self, columns: tuple[list[Any], ...]) -> None:
        """Keys as columns."""
        gone = set(zip(*columns, strict=True))
        self.rows = [row for row in self.rows if self.key_of(row) not in gone]


class Transaction:
    """Changes that are to happen together, and the cursor that it has locked."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.changes: list[Callable[[], None]] = []
        self.locked: str | None = None
        self.over = False
        self.touched_ms = 0


@dataclass
class Database:
    """Tables and cursors (sink → epoch, sequence)."""

    loop: VirtualLoop
    tables: dict[str, Table] = field(default_factory=dict)
    cursors: dict[str, tuple[int, int]] = field(default_factory=dict)
    locks: dict[str, Transaction] = field(default_factory=dict)
    waiting: dict[str, deque[tuple[Transaction, Callable[[], None]]]] = field(default_factory=dict)

    def locked(self, transaction: Transaction, sink: str, work: Callable[[], None]) -> None:
        """Runs `work` once the transaction has the cursor's row for itself."""
        holder = self.locks.get(sink)
        if holder is None or holder is transaction:
            self.locks[sink] = transaction
            transaction.locked = sink
            work()
        else:
            self.waiting.setdefault(sink, deque()).append((transaction, work))

    def end(self, transaction: Transaction, *, commit: bool) -> None:
        """All changes or none; the next one in the queue goes on."""
        if transaction.over:
            return
        transaction.over = True
        if commit:
            for change in transaction.changes:
                change()
        sink = transaction.locked
        if sink is None:
            return
        del self.locks[sink]
        queue = self.waiting.get(sink, deque())
        while queue and sink not in self.locks:
            waiter, work = queue.popleft()
            if not waiter.over:
                self.locked(waiter, sink, work)

    def watch(self, transaction: Transaction) -> None:
        """Rolls it back when its client has been silent too long."""
        if transaction.over:
            return
        if self.loop.now_ms - transaction.touched_ms >= IDLE_LIMIT_MS:
            self.end(transaction, commit=False)
        else:
            self.loop.call_later(IDLE_LIMIT_MS / 1000, self.watch, transaction)

    def execute(self, transaction: Transaction, sql: str, args: Row, answer: Answer) -> None:
        """One statement."""
        transaction.touched_ms = self.loop.now_ms
        if transaction.over:
            answer(ConnectionError("the transaction was rolled back"))
        elif sql == TAKE_OVER:
            self.locked(transaction, args[0], lambda: self._take_over(transaction, args, answer))
        elif sql == MOVE:
            self.locked(transaction, args[0], lambda: self._move(transaction, args, answer))
        else:
            self._change(transaction, sql, args)
            answer("DONE")

    def _take_over(self, transaction: Transaction, args: Row, answer: Answer) -> None:
        epoch, sequence = self.cursors.get(args[0], (0, 0))
        self._later(transaction, self.cursors.__setitem__, args[0], (epoch + 1, sequence))
        answer({"epoch": epoch + 1, "sequence": sequence})

    def _move(self, transaction: Transaction, args: Row, answer: Answer) -> None:
        sink, epoch, believed, sequence = args
        if not self.may_move(self.cursors.get(sink), epoch, believed):
            answer("UPDATE 0")
            return
        self._later(transaction, self.cursors.__setitem__, sink, (epoch, sequence))
        answer("UPDATE 1")

    def may_move(self, found: tuple[int, int] | None, epoch: int, believed: int) -> bool:
        """Whether the row that MOVE names is there."""
        return found == (epoch, believed)

    def _change(self, transaction: Transaction, sql: str, args: Row) -> None:
        if sql == CREATE_CURSORS or "pg_advisory_xact_lock" in sql:
            return
        if created := _CREATE.match(sql):
            body, _, key = created[2].partition(", PRIMARY KEY ")
            columns = tuple(re.findall(r'"([^"]+)" [a-z]', body))
            table = Table(columns, tuple(re.findall(r'"([^"]+)"', key)))
            self.tables.setdefault(created[1], table)
        elif inserted := _INSERT.match(sql):
            table, upsert = self.tables[inserted[1]], inserted[2] is not None
            transaction.changes.append(lambda: table.insert(args, upsert=upsert))
        elif deleted := _DELETE.match(sql):
            table = self.tables[deleted[1]]
            self._later(transaction, table.delete, args)
        else:
            raise AssertionError(f"an unknown statement: {sql}")

    def _later(self, transaction: Transaction, change: Callable[..., None], *args: Any) -> None:
        transaction.changes.append(lambda: change(*args))


class SimConnections:
    """Stands in for `lockstep.databases.postgres.connections.Connections`: a pool of one host."""

    def __init__(self, network: Network, host: Host, database: Database) -> None:
        self._network = network
        self._host = host
        self._database = database

    async def pool(self) -> SimConnections:
        """Itself."""
        return self

    async def close(self) -> None:
        """Nothing stays open."""

    def acquire(self) -> SimConnection:
        """A connection for one `async with`."""
        return SimConnection(self._network, self._host, self._database)


class SimConnection:
    """One connection with one transaction."""

    def __init__(self, network: Network, host: Host, database: Database) -> None:
        self._network = network
        self._host = host
        self._database = database
        self._transaction = Transaction(host)

    async def __aenter__(self) -> SimConnection:
        return self

    async def __aexit__(self, *_error: object) -> None:
        """Closing the connection ends what is open on it, if the server hears of it."""

        def serve(_answer: Answer) -> None:
            self._database.end(self._transaction, commit=False)

        self._network.send(self._host, DATABASE, serve, lambda _: None, ConnectionError)

    def transaction(self) -> SimScope:
        """For one `async with`."""
        return SimScope(self)

    async def execute(self, sql: str, *args: Any) -> Any:
        """The status of a statement."""
        return await self.call(
            lambda answer: self._database.execute(self._transaction, sql, args, answer)
        )

    async def fetchrow(self, sql: str, *args: Any) -> Any:
        """The row that a statement returns."""
        return await self.execute(sql, *args)

    async def begin(self) -> None:
        """Opens the transaction."""

        def serve(answer: Answer) -> None:
            self._transaction.touched_ms = self._database.loop.now_ms
            self._database.watch(self._transaction)
            answer(None)

        await self.call(serve)

    async def commit(self) -> None:
        """All or, if it has been rolled back meanwhile, an error."""

        def serve(answer: Answer) -> None:
            if self._transaction.over:
                answer(ConnectionError("the transaction was rolled back"))
                return
            self._database.end(self._transaction, commit=True)
            answer(None)

        await self.call(serve)

    async def call(self, serve: Serve) -> Any:
        """A request to the database."""
        return await self._network.call(
            self._host, DATABASE, serve, timeout_ms=TIMEOUT_MS, error=ConnectionError
        )


class SimScope:
    """`async with connection.transaction()`."""

    def __init__(self, connection: SimConnection) -> None:
        self._connection = connection

    async def __aenter__(self) -> None:
        await self._connection.begin()

    async def __aexit__(self, kind: object, *_error: object) -> None:
        if kind is None:
            await self._connection.commit()
