"""Tables of a real PostgreSQL: how fast a copy is loaded and joined, and how many keys a second are
looked up."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import asyncpg
import numpy as np
import pyarrow as pa

from lockstep.clock import SystemClock, SystemRandomness
from lockstep.databases import datasource_of_url, open_asking, open_following
from lockstep.embedded import PostgresServer
from lockstep.events.codec import EncodedEntry, encode_batch
from lockstep.execute.columnar.executor import ColumnarExecutor
from lockstep.plan.plans import plan_of
from lockstep_services.receiver.copies import draft_of, shape_of

APP: Final = """
define stream Orders (id long, customer int);
@store(type='rdbms', mode='copy', table.name='customers') @PrimaryKey('id')
define table Customers (id int, name string, credit double);
from Orders join Customers on Orders.customer == Customers.id
select Orders.id as id, Customers.name as name, Customers.credit as credit insert into Found;
"""
EVENTS_PER_RECORD: Final = 8_192
RECORDS: Final = 60
KEYS: Final = {"one key a question": 1, "100 keys a question": 100, "1,000 keys a question": 1_000}


class _Memory(dict[str, int]):
    """What a follower remembers, in this process."""

    async def get(self, name: str) -> int:  # type: ignore[override]
        return super().get(name, 0)

    async def put(self, name: str, value: int) -> None:
        self[name] = value


def external_figures(rows: int, runs: int) -> list[dict[str, Any]]:
    """Of a table of so many rows."""
    with TemporaryDirectory() as directory:
        return asyncio.run(_measured(Path(directory), rows, runs))


async def _measured(directory: Path, rows: int, runs: int) -> list[dict[str, Any]]:
    server = PostgresServer(
        directory, clock=SystemClock(), randomness=SystemRandomness(), durable=False
    )
    await server.start()
    try:
        connection = await asyncpg.connect(server.url)
        await connection.execute(
            "CREATE TABLE customers (id int PRIMARY KEY, name text, credit float8)"
        )
        await connection.execute(
            "INSERT INTO customers SELECT g, 'customer ' || g, g FROM generate_series(1, $1) g",
            rows,
        )
        await connection.close()
        found = await _copied(server.url, rows, runs)
        return found + await _looked_up(server.url, rows, runs)
    finally:
        await server.stop()


async def _copied(url: str, rows: int, runs: int) -> list[dict[str, Any]]:
    plan = plan_of(APP)
    [table] = plan.checked.external
    schema = plan.schemas[table.changes]
    reads, folds, joins = [], [], []
    for run in range(runs):
        following = open_following(
            datasource_of_url("bench", url), shape_of(table), f"bench_{run}", _Memory(),
            SystemClock(), poll_ms=10, life=1, publication=None,
        )  # fmt: skip
        entries: list[EncodedEntry] = []
        begun = time.perf_counter()
        async for batch in following.changes():
            if batch is None:
                break
            payload = draft_of(schema, batch).encoded(1)
            entries.append(EncodedEntry(len(entries) + 1, payload))
        reads.append(rows / (time.perf_counter() - begun))
        await following.close()
        await following.forget()
        executor = ColumnarExecutor(plan)
        folds.append(rows / _seconds(executor, entries))
        orders = _orders(plan.schemas["Orders"], rows, len(entries))
        joins.append(RECORDS * EVENTS_PER_RECORD / _seconds(executor, orders))
    return [
        _row(f"copy: read {rows:,} rows into records, rows/s", reads),
        _row(f"copy: fold {rows:,} rows, rows/s", folds),
        _row(f"copy: join with {rows:,} rows, events/s", joins),
    ]


def _orders(schema: Any, rows: int, after: int) -> list[EncodedEntry]:
    chosen = np.random.default_rng(7)
    entries = []
    for number in range(RECORDS):
        ids = pa.array(np.arange(EVENTS_PER_RECORD, dtype=np.int64))
        customers = pa.array(chosen.integers(1, rows + 1, EVENTS_PER_RECORD).astype(np.int32))
        batch = pa.RecordBatch.from_arrays([ids, customers], names=["id", "customer"])
        payload = encode_batch(schema, batch, [EVENTS_PER_RECORD], 1)
        entries.append(EncodedEntry(after + 1 + number, payload))
    return entries


def _seconds(executor: ColumnarExecutor, entries: Sequence[EncodedEntry]) -> float:
    begun = time.perf_counter()
    for at in range(0, len(entries), 10):
        executor.run_encoded(entries[at : at + 10])
    return time.perf_counter() - begun


async def _looked_up(url: str, rows: int, runs: int) -> list[dict[str, Any]]:
    [table] = plan_of(APP).checked.external
    asking = open_asking(datasource_of_url("bench", url))
    chosen = np.random.default_rng(7)
    found = []
    for name, count in KEYS.items():
        rates = []
        for _ in range(runs):
            questions = max(20, 500 // count)
            begun = time.perf_counter()
            for _ in range(questions):
                keys = [(int(key),) for key in chosen.integers(1, rows + 1, count)]
                await asking.rows(shape_of(table), ["id"], keys)
            rates.append(questions * count / (time.perf_counter() - begun))
        found.append(_row(f"lookup: {name}, keys/s", rates))
    await asking.close()
    return found


def _row(name: str, rates: Sequence[float]) -> dict[str, Any]:
    row = {"name": name, "median": round(statistics.median(rates)), "runs": len(rates)}
    print(f"{row['name']:<52} {row['median']:>12,}")
    return row
