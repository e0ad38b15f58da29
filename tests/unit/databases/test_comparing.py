"""Tables that are followed by comparing: what the log ends up with is what the database holds, also
when a follower that was replaced still sends."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from lockstep.clock import VirtualClock
from lockstep.databases import (
    ChangeBatch,
    DatabaseError,
    RowChange,
    TableShape,
    datasource_of_url,
)
from lockstep.databases.comparing import (
    BATCH_BYTES,
    MAX_COMPARED_ROWS,
    ComparingFollowing,
    by_key,
    differences,
    parts_of,
)
from lockstep.databases.sqlite.looking import SqliteLooking
from lockstep.events import AttributeType, UnavailableError

SHAPE = TableShape("things", ("id", "name"), (AttributeType.INT, AttributeType.STRING), ("id",))
Row = tuple[Any, ...]


class Remembered:
    """See `Memory`: never back."""

    def __init__(self) -> None:
        self.kept: dict[str, int] = {}

    async def get(self, name: str) -> int:
        return self.kept.get(name, 0)

    async def put(self, name: str, value: int) -> None:
        self.kept[name] = max(value, self.kept.get(name, 0))


class Log:
    """Takes each id once, and folds what it took as an app does: chunk by chunk."""

    def __init__(self) -> None:
        self.ids: set[str] = set()
        self.rows: dict[Any, Row] = {}
        self.taken = 0

    def append(self, batch: ChangeBatch) -> bool:
        """Whether it was there."""
        if batch.id in self.ids:
            return True
        self.ids.add(batch.id)
        rows = list(zip(*batch.columns, strict=True))
        at = 0
        for length in batch.chunks:
            for kind, row in zip(
                batch.kinds[at : at + length], rows[at : at + length], strict=True
            ):
                self._apply(kind, row)
            at += length
        return False

    def _apply(self, kind: RowChange, row: Row) -> None:
        self.taken += kind is not RowChange.NOTHING
        if kind is RowChange.ROW:
            self.rows[row[0]] = row
        elif kind is RowChange.GONE:
            del self.rows[row[0]]  # what is not there cannot go
        elif kind is RowChange.ALL_GONE:
            self.rows.clear()


class Follower:
    """One receiver's, step by step: `read` brings a batch, `send` appends it."""

    def __init__(self, file: Path, log: Log, memory: Remembered, clock: VirtualClock) -> None:
        looking = SqliteLooking(datasource_of_url("shop", f"sqlite://{file}"), SHAPE)
        following = ComparingFollowing(
            looking, SHAPE, "app/things", memory, clock, where="shop.things", poll_ms=0
        )
        self.following = following
        self._changes: AsyncIterator[ChangeBatch | None] = following.changes()
        self._log = log
        self.holds: ChangeBatch | None = None

    async def read(self) -> bool:
        """Whether there is a batch to send."""
        self.holds = await anext(self._changes)
        return self.holds is not None

    def send(self) -> None:
        """What was read."""
        assert self.holds is not None
        self.following.told(was_there=self._log.append(self.holds))
        self.holds = None

    async def settle(self) -> None:
        """All that there is, and one look more."""
        if self.holds is not None:
            self.send()
        for _ in range(2):
            while await self.read():
                self.send()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """With a table."""
    found = tmp_path / "shop.db"
    with sqlite3.connect(found) as db:
        db.execute("CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT)")
        db.execute("INSERT INTO things VALUES (1, 'a'), (2, NULL)")
    db.close()
    return found


def change(file: Path, statement: str, *values: Any) -> None:
    """As another program does it."""
    db = sqlite3.connect(file)
    db.execute("PRAGMA synchronous = OFF")
    with db:
        db.execute(statement, values)
    db.close()


def held(file: Path) -> dict[Any, Row]:
    """What the database holds."""
    db = sqlite3.connect(file)
    found = {row[0]: row for row in db.execute("SELECT id, name FROM things")}
    db.close()
    return found


async def test_only_differences_are_appended(file: Path) -> None:
    """And nothing where nothing has changed, or where it has changed back."""
    clock, log, memory = VirtualClock(), Log(), Remembered()
    follower = Follower(file, log, memory, clock)
    await follower.settle()
    assert (log.rows, log.taken) == (held(file), 3)
    change(file, "INSERT INTO things VALUES (3, 'c')")
    change(file, "UPDATE things SET name = 'b' WHERE id = 2")
    change(file, "DELETE FROM things WHERE id = 1")
    await follower.settle()
    assert (log.rows, log.taken) == (held(file), 6)
    change(file, "INSERT INTO things VALUES (9, 'x')")
    change(file, "DELETE FROM things WHERE id = 9")
    change(file, "UPDATE things SET name = 'b'")
    await follower.settle()
    assert (log.rows, log.taken) == (held(file), 7)
    await follower.following.close()


async def test_another_file_in_the_place_of_the_first_is_seen(file: Path) -> None:
    """As when a program writes a new one and renames it. One that is missing is waited for."""
    clock, log, memory = VirtualClock(), Log(), Remembered()
    follower = Follower(file, log, memory, clock)
    await follower.settle()
    other = file.with_name("other.db")
    other.write_bytes(file.read_bytes())
    change(other, "DELETE FROM things WHERE id = 1")
    other.replace(file)
    await follower.settle()
    assert log.rows == held(file) == {2: (2, None)}
    file.rename(other)
    with pytest.raises(UnavailableError, match="away"):
        await follower.settle()
    assert log.rows == {2: (2, None)}
    await follower.following.close()
    again = Follower(file, log, memory, clock)
    with pytest.raises(UnavailableError):
        await again.read()
    assert log.rows == {2: (2, None)}  # nothing is appended before the table can be read
    await again.following.close()


@pytest.mark.parametrize("seed", range(25))
async def test_whoever_is_replaced_cannot_set_the_copy_back(file: Path, seed: int) -> None:
    """Followers stop anywhere, with a batch that they have read and not sent; others begin; then
    the first ones send. The last follower's table is the database's."""
    chance = random.Random(seed)
    clock, log, memory = VirtualClock(), Log(), Remembered()
    paused: list[Follower] = []
    current = Follower(file, log, memory, clock)
    everybody = [current]
    for step in range(80):
        what = chance.random()
        if what < 0.4:
            change(
                file,
                "INSERT INTO things VALUES (?, ?) ON CONFLICT DO UPDATE SET name = excluded.name",
                chance.randrange(8), f"v{step}",
            )  # fmt: skip
        elif what < 0.5:
            change(file, "DELETE FROM things WHERE id = ?", chance.randrange(8))
        elif what < 0.8:
            try:
                if current.holds is not None:
                    current.send()
                await current.read()
            except UnavailableError:  # replaced by one that was replaced: it begins again
                current = Follower(file, log, memory, clock)
                everybody.append(current)
        elif what < 0.9:
            paused.append(current)
            current = Follower(file, log, memory, clock)
            everybody.append(current)
        elif what < 0.95 and paused:
            back = paused.pop(chance.randrange(len(paused)))
            paused.append(current)
            current = back  # its lease came back before it had looked
        elif paused:
            late = paused.pop(chance.randrange(len(paused)))
            if late.holds is not None:
                late.send()  # its lease has run out: it looks at that behind each batch
    while True:
        try:
            await current.settle()
            break
        except UnavailableError:
            current = Follower(file, log, memory, clock)
            everybody.append(current)
    for late in paused:
        if late.holds is not None:
            late.send()
    assert log.rows == held(file)
    for one in everybody:
        await one.following.close()


def test_large_differences_are_cut_for_records() -> None:
    """By rows and by bytes; a row that is larger stands alone."""
    rows = [(RowChange.ROW, (number, "x" * 1_000)) for number in range(1_000)]
    parts = list(parts_of(rows))
    assert [one for part in parts for one in part] == rows
    assert all(len(part) * 1_016 <= BATCH_BYTES for part in parts)
    assert len(parts) == 8
    large = (RowChange.ROW, (1, "x" * BATCH_BYTES))
    assert [len(part) for part in parts_of([rows[0], large, rows[1]])] == [1, 1, 1]


def test_rows_that_no_key_tells_apart_are_refused() -> None:
    """And more than may be compared."""
    for rows, said in (
        ([(1, "a"), (1, "b")], r"two rows have id=\(1,\)"),
        ([(None, "a")], "id of a row is null"),
        ([(number, "") for number in range(MAX_COMPARED_ROWS + 1)], "more than 100000 rows"),
    ):
        with pytest.raises(DatabaseError, match=said):
            by_key(rows, SHAPE, "shop.things")
    assert differences({(1,): (1, "a")}, {}, SHAPE) == [(RowChange.GONE, (1, None))]
