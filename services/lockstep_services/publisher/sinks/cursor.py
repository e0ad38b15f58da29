"""A sink whose destinations cannot keep the cursor: it lies in the store and moves after delivery.

One cursor, one or several destinations (`@distribution`); each row goes where the strategy says. A
crash between delivery and move repeats the batch: at least once, with stable ids, to the same
destinations as before.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from lockstep.events import OutputId, OutputRow, UnavailableError
from lockstep.mapping import Distribution
from lockstep.schemas import SchemaUser
from lockstep.sinks.objects import Gathering
from lockstep.store import Cursors
from lockstep_services.publisher.contract import Batch, RefusedRow, RowsRefusedError, SinkBinding
from lockstep_services.publisher.sinks.lanes import Lane, chunks, side_by_side


class StoredCursorSink:
    """Sends by its lanes; its cursor is one for all."""

    def __init__(
        self,
        binding: SinkBinding,
        cursors: Cursors,
        distribution: Distribution,
        lanes: Sequence[Lane],
        *,
        waits_for_ever: bool = False,
    ) -> None:
        self.binding = binding
        self.waits_for_ever = waits_for_ever
        self._cursors = cursors
        self._distribution = distribution
        self._lanes = lanes
        self._routes: dict[OutputId, set[int]] = {}
        self._turn = 0  # as the store has it

    @property
    def takes_again(self) -> bool:
        """See Sink."""
        return all(lane.takes_again for lane in self._lanes)

    @property
    def at_once(self) -> int | None:
        """See Sink: the lanes' together."""
        found = [one for lane in self._lanes if (one := lane.at_once) is not None]
        return sum(found) if found else None

    @property
    def gathering(self) -> Gathering | None:
        """See Sink: as its destinations want it, which are all of one type."""
        found = [one for lane in self._lanes if (one := lane.gathering) is not None]
        if not found:
            return None
        return Gathering(max(one.rows for one in found), min(one.interval_ms for one in found))

    @property
    def schema_users(self) -> Sequence[SchemaUser]:
        """Who of the lanes wants schemas of a registry."""
        return [user for lane in self._lanes if (user := lane.schema_user) is not None]

    async def open(self) -> int:
        self._routes.clear()
        for lane in self._lanes:
            await lane.open()
        self._turn = self._distribution.turn = await self._cursors.get(self._turn_key)
        return await self._cursors.get(self.binding.key)

    async def deliver(self, batch: Batch) -> None:
        """Sends, then moves the cursor.

        The turn is kept behind the cursor: a crash in between begins the next batch with an older
        turn, but never sends a batch again by a newer one, to somebody else.
        """
        if batch.rows:
            await self._send(batch)
        if not any(lane.is_ahead for lane in self._lanes):
            await self._cursors.put(self.binding.key, batch.up_to)
        self._routes.clear()
        for lane in self._lanes:
            lane.forget()
        if self._distribution.turn != self._turn:
            self._turn = self._distribution.turn
            await self._cursors.put(self._turn_key, self._turn)

    def pending(self, batch: Batch) -> Sequence[OutputRow]:
        return [
            row
            for row in batch.rows
            if not all(self._lanes[number].has(row) for number in self._routes.get(row.id, {0}))
        ]

    async def begin_again(self) -> None:
        for lane in self._lanes:
            lane.begin_again()

    async def close(self) -> None:
        for lane in self._lanes:
            await lane.close()

    @property
    def _turn_key(self) -> str:
        return f"{self.binding.key}/turn"

    async def _send(self, batch: Batch) -> None:
        """Every lane gets its share, whatever happens to the others."""
        self._route([row for row in batch.rows if row.id not in self._routes])
        refused, away = await self._share_out(batch, set())
        if away and self._distribution.moves_on and (takers := self._takers(set(away))):
            self._route(self.pending(batch), takers)
            again, still = await self._share_out(batch, set(away))
            refused, away = refused + again, still
        if away:
            raise next(iter(away.values()))
        if refused:
            raise RowsRefusedError(refused, where=self.binding.key)

    def _takers(self, away: set[int]) -> set[int]:
        """Who may get the rows of those. Not a destination that knows the last identity alone: it
        has had later rows, and would take these for repetitions."""
        lanes = enumerate(self._lanes)
        return {number for number, lane in lanes if number not in away and lane.takes_again}

    async def _share_out(
        self, batch: Batch, skipped: set[int]
    ) -> tuple[list[RefusedRow], dict[int, UnavailableError]]:
        """What the lanes refused, and which of them are away; they do not wait for one another."""
        refused: list[RefusedRow] = []
        away: dict[int, UnavailableError] = {}

        async def share(number: int) -> None:
            lane = self._lanes[number]
            mine = [
                row for row in batch.rows if number in self._routes[row.id] and not lane.has(row)
            ]
            try:
                refused.extend(await lane.send(mine) if mine else ())
            except UnavailableError as error:
                away[number] = error

        numbers = [number for number in range(len(self._lanes)) if number not in skipped]
        await side_by_side([share(number) for number in numbers])
        return refused, away

    def _route(self, rows: Sequence[OutputRow], takers: Collection[int] | None = None) -> None:
        active = [takers is None or number in takers for number in range(len(self._lanes))]
        for together, events in chunks(rows):
            by_event = {id(event): row for row, event in zip(together, events, strict=True)}
            routes: dict[OutputId, set[int]] = {row.id: set() for row in together}
            for number, part in self._distribution.route(events, active):
                for event in part:
                    if number is not None:
                        routes[by_event[id(event)].id].add(number)
            self._routes.update(routes)
