"""A MySQL or MariaDB table, loaded as of one moment and followed by the binary log from there.

The server keeps its log for everybody. So nothing has to be made there, and nothing to be given
back. What the log cannot tell, or does not have any more, has the table loaded anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from lockstep.clock import Clock
from lockstep.databases.contract import (
    ChangeBatch,
    Memory,
    RowChange,
    TableShape,
    batch_of,
)
from lockstep.databases.datasources import Datasource
from lockstep.databases.listening import PlaceGoneError, place_is_gone
from lockstep.databases.mysql.binlog import (
    FileTold,
    Pump,
    UnreadableError,
    file_and_position,
    own_server_id,
)
from lockstep.databases.mysql.loading import Load
from lockstep.databases.mysql.table import Look, look_at
from lockstep.databases.mysql.transactions import Assembler, Transaction, check_key
from lockstep.events import UnavailableError

ROWS_AT_ONCE: Final = 8_192
CHANGES_AT_ONCE: Final = 10_000
"""A batch ends behind the transaction that reaches it."""
MOVE_EVERY_MS: Final = 1_000
LOOK_MS: Final = 50
AGAIN_MS: Final = 30_000
"""Within which the log tells again what it has told before."""

GENERATION: Final = "load"
LIFE: Final = "life"
_Told = Transaction | FileTold


class RemadeError(Exception):
    """The log does not tell what the table is now: it has to be read."""


class MysqlFollowing:
    """See `Following`. `name`: of this app and table; `life`: of the app, in each the table is
    loaded anew."""

    def __init__(
        self,
        datasource: Datasource,
        shape: TableShape,
        name: str,
        memory: Memory,
        clock: Clock,
        *,
        poll_ms: int,
        life: int,
    ) -> None:
        self._datasource = datasource
        self._shape = shape
        self._name = name
        self._memory = memory
        self._clock = clock
        self._poll_ms = poll_ms
        self._life = life
        self._where = f"{datasource.name}.{shape.table}"
        self._pump: Pump[_Told] | None = None
        self._load: Load | None = None
        self._held: Transaction | None = None
        self._read_to = 0

    async def changes(self) -> AsyncIterator[ChangeBatch | None]:
        """See `Following`."""
        is_lost = False
        while True:
            look = await look_at(self._datasource, self._shape)
            generation = await self._memory.get(GENERATION)
            if is_lost or not await self._is_loaded(look, generation):
                generation += 1
                await self._memory.put(GENERATION, generation)
                async for batch in self._loaded(generation):
                    yield batch
                look = await look_at(self._datasource, self._shape)
            try:
                async for one in self._followed(look, generation):
                    yield one
            except UnreadableError:
                pump = self._pump
                if pump is None or pump.broke_at >= look.end:
                    raise
                is_lost = True  # from before the table and the server were as they are
            except (RemadeError, PlaceGoneError):
                is_lost = True
            await self.close()

    def told(self, *, was_there: bool) -> None:
        """See `Following`. A second look at the log gets the same under the same id."""

    async def forget(self) -> None:
        """See `Following`. The server keeps nothing for anybody."""
        await self.close()

    async def close(self) -> None:
        """See `Following`."""
        self._held = None
        pump, self._pump = self._pump, None
        load, self._load = self._load, None
        if load is not None:
            await asyncio.to_thread(load.close)
        if pump is not None:
            pump.stop()
            await asyncio.to_thread(pump.wait)

    async def _is_loaded(self, look: Look, generation: int) -> bool:
        """In this life, and from this server."""
        if not generation or await self._memory.get(LIFE) != self._life:
            return False
        if await self._memory.get(f"server.{generation}") != look.server:
            return False
        return bool(await self._memory.get(f"at.{generation}"))

    # --- the load --------------------------------------------------------------------------------

    async def _loaded(self, generation: int) -> AsyncIterator[ChangeBatch]:
        """All rows as of one moment. The table is looked at behind that moment: what is made of it
        later, the log tells."""
        load = self._load = Load(self._datasource, self._shape.table)
        place = await asyncio.to_thread(load.begin)
        look = await look_at(self._datasource, self._shape)
        await asyncio.to_thread(load.ask, look.fields)
        number, none = 0, tuple(None for _ in self._shape.columns)
        while True:
            rows = await asyncio.to_thread(load.rows, ROWS_AT_ONCE)
            is_last = len(rows) < ROWS_AT_ONCE
            if is_last:  # whoever alters the table waits for that
                await asyncio.to_thread(load.close)
            for row in rows:
                check_key([row[one] for one in self._shape.key_places], self._where)
            first = [] if number else [[(RowChange.ALL_GONE, none)]]
            chunk = [(RowChange.ROW, row) for row in rows]
            id_ = f"{self._name}/{generation}/{place}/{number}"
            yield batch_of(id_, [*first, chunk], len(none), None)
            number += 1
            if is_last:
                break
        await self._memory.put(f"server.{generation}", look.server)
        await self._memory.put(f"at.{generation}", place)
        await self._memory.put(LIFE, self._life)

    # --- what follows ----------------------------------------------------------------------------

    async def _followed(self, look: Look, generation: int) -> AsyncIterator[ChangeBatch | None]:
        """What comes together is noted before it goes out. So after a crash in between the same
        comes together again, under the same id."""
        at = self._read_to = await self._memory.get(f"at.{generation}")
        noted = await self._memory.get(f"noted.{generation}")
        file, position = file_and_position(at, look.logs, self._where)
        assembler = Assembler(self._shape, look.fields, look.table, self._where)
        pump = self._pump = Pump(
            self._datasource, look.table, own_server_id(self._name), file, position,
            assembler.transactions,
        )  # fmt: skip
        moved_ms = self._clock.monotonic_ms()
        while True:
            again = noted > at
            found = await self._gathered(pump, generation, noted if again else None)
            if not found:
                if self._read_to > at and self._clock.monotonic_ms() - moved_ms >= MOVE_EVERY_MS:
                    at, moved_ms = self._read_to, self._clock.monotonic_ms()
                    await self._memory.put(f"at.{generation}", at)
                yield None
                continue
            end = found[-1].end
            if not again:
                await self._memory.put(f"noted.{generation}", end)
                noted = end
            chunks = [chunk for one in found for chunk in one.chunks]
            id_ = f"{self._name}/{generation}/{found[0].end}/{end}"
            yield batch_of(id_, chunks, len(self._shape.columns), end)
            await self._memory.put(f"at.{generation}", end)
            at = self._read_to = end

    async def _gathered(
        self, pump: Pump[_Told], generation: int, until: int | None
    ) -> list[Transaction]:
        """What changes the table and comes within the interval, or all `until` there, which was
        told before."""
        found: list[Transaction] = []
        count = 0
        wait_ms = self._poll_ms if until is None else AGAIN_MS
        end_ms = self._clock.monotonic_ms() + wait_ms
        while count < CHANGES_AT_ONCE or until is not None:
            one = await self._next(pump, generation, end_ms)
            if one is None:
                break
            if one.is_remade:
                if not found:
                    raise RemadeError
                self._held = one
                break
            if not one.chunks:
                self._read_to = self._read_to if found else max(self._read_to, one.end)
                continue
            found.append(one)
            count += sum(map(len, one.chunks))
            if until is not None and one.end >= until:
                break
        if until is not None and (not found or found[-1].end != until):
            if (found and found[-1].end > until) or self._held is not None:
                raise place_is_gone(self._where, "the binary log is another one")
            raise UnavailableError("the binary log does not go on", where=self._where)
        return found

    async def _next(self, pump: Pump[_Told], generation: int, end_ms: int) -> Transaction | None:
        """The next one, if it comes in time."""
        held, self._held = self._held, None
        if held is not None:
            return held
        while True:
            one = pump.next(0)
            if isinstance(one, FileTold):
                await self._check_file(one, generation)
                return Transaction(one.place)
            left_ms = end_ms - self._clock.monotonic_ms()
            if one is not None or left_ms <= 0:
                return one
            await self._clock.sleep_ms(min(left_ms, LOOK_MS))

    async def _check_file(self, told: FileTold, generation: int) -> None:
        """A file with the number of another one is of another server, or of another log."""
        known = await self._memory.get(f"file.{generation}")
        file, made = told.place >> 32, (told.place >> 32 << 32) | told.made_s
        if known >> 32 == file and known != made:
            raise place_is_gone(self._where, f"the binary log {file:06d} is another one")
        if made > known:
            await self._memory.put(f"file.{generation}", made)
