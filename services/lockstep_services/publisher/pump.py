"""Moves one sink's rows from the output log to the sink, in order, while this publisher may.

An unreachable sink blocks nothing but itself. After a bounded number of tries its rows go where its
`on.error` says (to the error store if it says nothing) and the sink moves on, unless it shall wait,
or its cursor lies in the unreachable place itself.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from lockstep.bus import Bus, OutputEntry, TailLostError
from lockstep.clock import Clock
from lockstep.control import AppView, Condition, ConnectorHealth, SinkStatus, sink_element
from lockstep.control.merged import ENTRY_ROWS
from lockstep.events import (
    FencedError,
    LockstepError,
    OutputRecord,
    OutputRow,
    UnavailableError,
)
from lockstep.events.outputs import NO_ROWS, RowsOfColumns, in_columns, joined
from lockstep.execute.fitting import fitted_rows
from lockstep.frame import LeaseKeeper, run_until, wait_set
from lockstep.settings import PublisherSettings
from lockstep.telemetry import NO_TRACES, Logger, Metrics, Recent, Traces
from lockstep_services.publisher.aside import MAX_REASON, Aside
from lockstep_services.publisher.contract import Batch, RefusedRow, RowsRefusedError, Sink
from lockstep_services.publisher.fleet_log import FLEET_CURSORS, FleetLog, position_of
from lockstep_services.publisher.pacing import FIRST_ROWS, Pace
from lockstep_services.publisher.patience import Patience
from lockstep_services.publisher.reading import Waiting, read_batch, read_gathered
from lockstep_services.publisher.retrying import retry_pause_ms
from lockstep_services.publisher.sharing import SharedLog, SharedReads

HELD_WAIT_MS: Final = 3_000
CURSOR_EVERY_MS: Final = 5_000


class Pump:
    """One sink's delivery. `run` in one supervised task. `source`: what all sinks of the app read,
    or the app itself, where it is a fleet."""

    def __init__(
        self,
        sink: Sink,
        bus: Bus,
        keeper: LeaseKeeper,
        clock: Clock,
        settings: PublisherSettings,
        metrics: Metrics,
        log: Logger,
        node: str,
        source: SharedReads | AppView,
        traces: Traces = NO_TRACES,
    ) -> None:
        self._traces = traces
        self.sink = sink
        self._source = source
        self._is_fleet = isinstance(source, AppView)
        self._bus = bus
        self._keeper = keeper
        self._clock = clock
        self._settings = settings
        self._metrics = metrics
        self._log = log.bind(app=sink.binding.app, sink=sink.binding.name)
        self._aside = Aside(sink.binding, bus, clock, self._log, node)
        self._pace = _pace_of(sink, settings)
        self._moved_ms = 0
        self._recent = Recent(clock.monotonic_ms())
        self._delivering = asyncio.Lock()
        self.cursor = 0
        self._condition = Condition(clock)
        self._goes = asyncio.Event()
        self._goes.set()
        self._is_between = True
        """Nothing is under way, or what failed waits until it is tried again."""
        self._waits = asyncio.Event()
        """What failed waits to be tried again; `_trouble` is why it failed."""
        self._trouble = ""
        self.is_open = False

    @property
    def is_paused(self) -> bool:
        """Somebody wants that nothing is delivered."""
        return not self._goes.is_set()

    def pause(self, *, paused: bool) -> None:
        """From now on: what is under way ends; what failed is tried again after the pause."""
        (self._goes.clear if paused else self._goes.set)()

    def health(self) -> ConnectorHealth:
        """For a heartbeat."""
        if self.is_paused and self._is_between:
            self._condition.is_paused()
        elif not self.is_paused:
            self._condition.goes_on()
        binding, now_ms = self.sink.binding, self._clock.monotonic_ms()
        per_s = self._recent.read(now_ms).per_s
        return self._condition.told(binding.app, sink_element(binding.name), per_s)

    def status(self, log_end: int) -> SinkStatus:
        """How it is doing."""
        binding = self.sink.binding
        reached = position_of(self.cursor) if self._is_fleet else self.cursor
        lately = self._recent.read(self._clock.monotonic_ms())
        trouble = self._condition.trouble
        return SinkStatus(
            binding.app, binding.name, reached, log_end, trouble and trouble[:MAX_REASON],
            lately.per_s, lately.p50_ms, lately.p99_ms,
        )  # fmt: skip

    async def run(self) -> None:
        """Delivers whenever the lease is held and it is not paused; until cancelled."""
        try:
            while True:
                if self.is_paused:
                    await self.sink.close()
                    await self._goes.wait()
                if await self._keeper.wait_held(HELD_WAIT_MS):
                    await self._deliver_while_held()
        finally:
            _tell(self._condition, sys.exception())
            self.is_open = False
            await self.sink.close()

    async def _deliver_while_held(self) -> None:
        source = self._source
        if isinstance(source, SharedReads):
            await self._deliver_from(source.for_sink())
            return
        rows = ENTRY_ROWS if self.sink.at_once is None else FIRST_ROWS
        log = FleetLog(self._bus, source, self._clock, entry_rows=rows)
        await run_until(partial(self._deliver_from, log), log.run)

    async def _deliver_from(self, log: SharedLog | FleetLog) -> None:
        try:
            await self._open(log)
            while self._may:
                waiting = await self._waiting(log)
                _look_for_gap(waiting, self.cursor, self._condition, self._log)
                while waiting and self._may:
                    batch = self._batch(waiting)
                    async with self._delivering:
                        await self._take(batch)
        except FencedError as error:
            self._log.warning("another publisher delivers", error=str(error))
        finally:
            self.is_open = False

    async def _waiting(self, log: SharedLog | FleetLog) -> Waiting:
        """What is to be delivered next."""
        most = self._settings.batch_max_rows
        gathering = self.sink.gathering
        if gathering is None:
            return await read_batch(
                log, self.cursor, self._rows, wanted_rows=self._pace.rows, max_records=most
            )
        return await read_gathered(
            log, self.cursor, self._rows, gathering,
            max_records=most, clock=self._clock, may=lambda: self._may,
        )  # fmt: skip

    async def again(self, rows: Sequence[OutputRow]) -> None:
        """Delivers rows of the error store, between batches; the cursor stays. They do not wait for
        a batch that is tried again, as that may take for ever. Errors: UnavailableError,
        RowsRefusedError, FencedError.
        """
        where = self.sink.binding.key
        if not self.sink.takes_again:
            raise RowsRefusedError(
                [RefusedRow(row, "this sink takes rows in their order alone") for row in rows],
                where=where,
            )

        async def between() -> None:
            async with self._delivering:
                if self.is_paused:
                    raise UnavailableError("the sink is paused", where=where)
                if not self.is_open:
                    raise UnavailableError("the sink is not open", where=where)
                await self.sink.deliver(Batch(self.cursor, rows))

        async def refuse_while_away() -> None:
            await self._waits.wait()
            why = "paused" if self.is_paused else f"away: {self._trouble}"
            raise UnavailableError(f"the sink is {why}", where=where)

        await run_until(between, refuse_while_away)

    async def _open(self, log: SharedLog | FleetLog) -> None:
        attempt = 0
        while True:
            try:
                self.cursor = await self.sink.open()
                break
            except UnavailableError as error:
                attempt = await self._wait(attempt + 1, error)
        if not self._is_fleet and position_of(self.cursor):
            raise UnavailableError(
                "the sink stands in the output of a fleet, which this app was or is about to be",
                where=self.sink.binding.key,
                hint="if it stays so, undeploy the app with purge and deploy it again",
            )
        tail = await log.tail()
        if self.cursor > tail.sequence:
            if self.sink.binding.since_ms:
                raise TailLostError(
                    f"the sink has got everything up to {self.cursor}, and the output log ends at"
                    f" {tail.sequence}",
                    where=self.sink.binding.key,
                    hint="the bus has lost what it had acknowledged: restore its data, or undeploy"
                    " the app with purge and deploy it again",
                )
            # Nobody noted since when it exists, so it may have been purged and begun again: its
            # sequences restarted, and so does the sink.
            self._log.warning("the output log is new", cursor=self.cursor, end=tail.sequence)
            self.cursor = 0
            await self.sink.begin_again()
        self._condition.runs()
        self.is_open = True
        self._log.info("sink open", cursor=self.cursor)

    def _rows(self, entry: OutputEntry) -> RowsOfColumns:
        """Of a record those of the sink's stream."""
        record = entry.record
        if not isinstance(record, OutputRecord):
            return NO_ROWS
        return in_columns(record.rows).of_stream(self.sink.binding.schema.name)

    def _batch(self, waiting: Waiting) -> Batch:
        """Takes whole records with as many rows as the pace allows, unless one record has more;
        all of them where they were gathered."""
        parts: list[RowsOfColumns] = []
        traces: list[str] = []
        count = door_ms = 0
        is_all = self.sink.gathering is not None
        while waiting and (is_all or not count or count + len(waiting[0][1]) <= self._pace.rows):
            entry, rows = waiting.popleft()
            parts.append(rows)
            count += len(rows)
            if rows and isinstance(entry.record, OutputRecord):
                door_ms = door_ms or entry.record.door_ms
                traces += [entry.record.trace] if entry.record.trace else []
        return Batch(entry.sequence, joined(parts), door_ms, tuple(traces))

    @property
    def _may(self) -> bool:
        return self._keeper.held and not self.is_paused

    async def _take(self, batch: Batch) -> None:
        now_ms = self._clock.monotonic_ms()
        # Rows may have been published before an upgrade.
        rows, misfits = fitted_rows(in_columns(batch.rows), self.sink.binding.schema)
        for one in misfits:
            refused = [RefusedRow(row, one.reason, one.names) for row in one.rows.rows()]
            await self._put_aside(refused)
        batch = replace(batch, rows=rows)
        if not batch.rows and now_ms - self._moved_ms < CURSOR_EVERY_MS:
            self.cursor = batch.up_to
            return
        place = {"app": self.sink.binding.app, "sink": self.sink.binding.name}
        with self._traces.follow("deliver", batch.traces, rows=len(batch.rows), **place):
            taken = await self._deliver(batch)
        self.cursor = batch.up_to
        self._moved_ms = self._clock.monotonic_ms()
        took_ms = self._moved_ms - now_ms
        self._pace.took(took_ms, len(batch.rows))
        self._metrics.observe(
            "lockstep_publisher_delivery_ms",
            took_ms,
            app=self.sink.binding.app,
            sink=self.sink.binding.name,
        )
        late_ms: int | None = None
        if batch.door_ms and taken:
            late_ms = max(0, self._clock.now_ms() - batch.door_ms)
            self._metrics.observe(
                "lockstep_latency_ms", late_ms, app=self.sink.binding.app, stage="delivered"
            )
        self._recent.passed(self._moved_ms, taken, late_ms)
        self._metrics.count(
            "lockstep_publisher_delivered_total",
            taken,
            app=self.sink.binding.app,
            sink=self.sink.binding.name,
        )

    async def _deliver(self, batch: Batch) -> int:
        """How many rows the sink has taken: none of those that were put aside."""
        patience = Patience(self._settings.retry_max_attempts)
        while True:
            try:
                self._is_between = False
                await self.sink.deliver(batch)
                self._condition.runs()
                return len(batch.rows)
            except RowsRefusedError as error:
                await self._put_aside(error.refused)
                batch = _without(batch, error.refused)
            except UnavailableError as error:
                pending = self.sink.pending(batch)
                attempt = patience.failed(error, pending)
                may_give_up = not self.is_paused and not self.sink.waits_for_ever
                if may_give_up and (spent := patience.spent(error, pending)):
                    _check(self._keeper)
                    reason = f"given up after {patience.attempts} attempts: {error}"
                    given_up = [RefusedRow(row, reason) for row in spent]
                    await self._put_aside(given_up)
                    batch = _without(batch, given_up)
                elif not await self._wait(attempt, error):
                    patience = Patience(self._settings.retry_max_attempts)
            finally:
                self._is_between = True

    async def _wait(self, attempt: int, error: UnavailableError) -> int:
        """Until it is to be tried again. How often it was tried; a pause begins the count anew."""
        self._condition.retries(str(error))
        self._is_between = True
        pause_ms = retry_pause_ms(self._settings, attempt)
        self._metrics.count(
            "lockstep_publisher_retries_total",
            app=self.sink.binding.app,
            sink=self.sink.binding.name,
        )
        self._log.warning("sink away", attempt=attempt, pause_ms=pause_ms, error=str(error))
        _check(self._keeper)
        self._trouble = str(error)
        self._waits.set()
        try:
            await self._clock.sleep_ms(pause_ms)
            if self._goes.is_set():
                return attempt
            while not await wait_set(self._goes, self._clock, HELD_WAIT_MS):
                if not self._keeper.held:
                    raise FencedError("the lease was lost while the sink was paused")
            return 0
        finally:
            self._waits.clear()

    async def _put_aside(self, refused: Sequence[RefusedRow]) -> None:
        """Before the sink's cursor moves over them."""
        await self._aside.put(refused)
        if refused:
            self._condition.erred(f"{len(refused)} rows put aside: {refused[0].reason}")
        self._metrics.count(
            "lockstep_publisher_failed_total",
            len(refused),
            app=self.sink.binding.app,
            sink=self.sink.binding.name,
        )


def _without(batch: Batch, gone: Sequence[RefusedRow]) -> Batch:
    """The rest of it: the cursor moves behind all of it."""
    ids = {one.row.id for one in gone}
    return Batch(batch.up_to, [row for row in batch.rows if row.id not in ids])


def _look_for_gap(waiting: Waiting, cursor: int, condition: Condition, log: Logger) -> None:
    """The log waits for the sinks that there are: what is missing was forgotten while this one was
    taken out of the text. A new one has no cursor yet. Positions of a fleet do not tell, as not
    each has a record."""
    if not waiting or not cursor or waiting[0][0].sequence >= FLEET_CURSORS:
        return
    missing = waiting[0][0].sequence - cursor - 1
    if missing:
        condition.erred(
            f"{missing} records of the output log were forgotten before this sink had got them"
        )
        log.error(
            "the output log has forgotten what the sink had not got", cursor=cursor,
            records=missing, hint="it was taken out for longer than the log keeps records: "
            "publisher.keep_records, publisher.keep_bytes",
        )  # fmt: skip


def _check(keeper: LeaseKeeper) -> None:
    if not keeper.held:
        raise FencedError("the lease was lost while the sink was away")


def _tell(condition: Condition, error: BaseException | None) -> None:
    """What stops a delivery that nobody has cancelled. Who supervises it logs it and goes on. Of
    what is no error of ours the kind alone: it may repeat a secret."""
    if isinstance(error, LockstepError):
        (condition.retries if error.retryable else condition.fails)(str(error))
    elif isinstance(error, Exception):
        condition.fails(f"{type(error).__name__}: the publisher's log has more of it")


def _pace_of(sink: Sink, settings: PublisherSettings) -> Pace:
    limit, at_once = settings.batch_max_rows, sink.at_once
    return Pace(
        limit_rows=limit,
        target_ms=settings.batch_target_ms,
        least_rows=limit if at_once is None else at_once,
    )
