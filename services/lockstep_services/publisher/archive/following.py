"""One log of an app into its archive, while this publisher may.

A store that is away is tried again for ever: the log keeps what the archive has not got.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol, TypeVar

from lockstep.archive.events_in import InputRows
from lockstep.archive.keeping import SideArchive
from lockstep.archive.rows_out import OutputRows
from lockstep.clock import Clock
from lockstep.control import SinkStatus
from lockstep.events import Fault, FencedError, LockstepError, UnavailableError
from lockstep.frame import LeaseKeeper, Offload
from lockstep.settings import Settings
from lockstep.store import Cursors
from lockstep.telemetry import Logger, Metrics, Recent
from lockstep_services.publisher.retrying import retry_pause_ms

READ_WAIT_MS: Final = 5_000
READ_RECORDS: Final = 4_096
HELD_WAIT_MS: Final = 3_000

Entry = TypeVar("Entry")


class AnotherArchiveError(LockstepError):
    """The folder is not the one that was written before: whatever it has not got may be gone."""

    fault = Fault.USER


class Source(Protocol[Entry]):
    """A log that is followed, record by record."""

    async def read(self, after: int, max_bytes: int, wait_ms: int) -> Sequence[Entry]:
        """What comes behind `after`; waits for the first."""

    def number(self, entry: Entry) -> int:
        """Of a record."""

    def size_bytes(self, entry: Entry) -> int:
        """About as much as it takes in memory."""

    def has_rows(self, entry: Entry) -> bool:
        """Whether there is anything to keep of it."""

    def rows(self, entries: Sequence[Entry], now_ms: int) -> InputRows | OutputRows:
        """What tables have of records; blocking."""

    async def end(self) -> int:
        """The number of the last record."""


class Following:
    """Of one log. `while_held` in a task, as long as the lease is held."""

    def __init__(
        self,
        archive: SideArchive,
        app: str,
        cursor_name: str,
        cursors: Cursors,
        keeper: LeaseKeeper,
        clock: Clock,
        settings: Settings,
        metrics: Metrics,
        log: Logger,
        offload: Offload,
    ) -> None:
        self.name = f"archive.{archive.side}"
        self._archive = archive
        self._app = app
        self._cursor_name = cursor_name
        self._cursors = cursors
        self._keeper = keeper
        self._clock = clock
        self._settings = settings
        self._metrics = metrics
        self._labels = {"app": app, "sink": self.name}
        self._log = log.bind(**self._labels)
        self._offload = offload
        self._recent = Recent(clock.monotonic_ms())
        self.cursor = 0
        self._written = 0
        self.log_end = 0
        self.trouble: str | None = None
        self.is_open = False

    def status(self) -> SinkStatus:
        """How it is doing, as a sink tells it."""
        log_end = max(self.cursor, self.log_end)
        per_s = self._recent.read(self._clock.monotonic_ms()).per_s
        return SinkStatus(self._app, self.name, self.cursor, log_end, self.trouble, per_s)

    async def while_held(self, source: Source[Entry]) -> None:
        """Until the lease is lost, or another publisher writes."""
        try:
            await self._persistently(self._open)
            self.is_open = True
            self._log.info("archive open", cursor=self.cursor)
            while self._keeper.held:
                gathered = await self._gathered(source)
                if gathered:
                    await self._keep(source, gathered)
        except FencedError as error:
            self._log.warning("another publisher archives", error=str(error))
        finally:
            self.is_open = False

    async def _open(self) -> None:
        """Where the tables are counts; the store's cursor tells whether these are the tables."""
        known = await self._cursors.get(self._cursor_name)
        self.cursor = self._written = await self._offload.run(lambda: self._reached(known))

    def _reached(self, known: int) -> int:
        """Where the tables are. Blocking; AnotherArchiveError where they have been further."""
        reached = self._archive.reached()
        if known > reached:
            raise AnotherArchiveError(
                f"the archive was at {known}, and this folder is at {reached}",
                where=self._archive.place.folder,
                hint="all publishers need the same folder; a new archive begins in a folder of "
                "another name",
            )
        return reached

    async def _gathered(self, source: Source[Entry]) -> list[Entry]:
        """What came in an interval, or as much as a batch takes; nothing when the lease is lost."""
        settings = self._settings.archive
        found: list[Entry] = []
        size, after = 0, self.cursor
        until_ms: int | None = None
        while self._keeper.held:
            now_ms = self._clock.monotonic_ms()
            left_ms = READ_WAIT_MS if until_ms is None else until_ms - now_ms
            if found and (size >= settings.batch_bytes or left_ms <= 0):
                return found
            read = await source.read(
                after, max(1, settings.batch_bytes - size), min(left_ms, READ_WAIT_MS)
            )
            if read and until_ms is None:
                until_ms = self._clock.monotonic_ms() + settings.interval_ms
            for entry in read:
                found.append(entry)
                size += source.size_bytes(entry)
                after = source.number(entry)
            self.log_end = max(self.log_end, after) if read else max(after, await source.end())
        return []

    async def _keep(self, source: Source[Entry], entries: Sequence[Entry]) -> None:
        started_ms = self._clock.monotonic_ms()
        last = source.number(entries[-1])
        kept = [entry for entry in entries if source.has_rows(entry)]
        if kept:
            now_ms = self._clock.now_ms()
            rows = await self._offload.run(lambda: source.rows(kept, now_ms))
            await self._persistently(lambda: self._offload.run(lambda: self._write(rows)))
            reached = self._written = rows.last
            await self._persistently(lambda: self._cursors.put(self._cursor_name, reached))
            counted = sum(len(table) for table in rows.streams.values())
            ended_ms = self._clock.monotonic_ms()
            self._recent.passed(ended_ms, counted)
            took_ms = ended_ms - started_ms
            self._metrics.count("lockstep_publisher_delivered_total", counted, **self._labels)
            self._metrics.observe("lockstep_publisher_delivery_ms", took_ms, **self._labels)
            self._log.debug("archived", up_to=last, rows=counted, took_ms=took_ms)
        self.cursor = last

    def _write(self, rows: InputRows | OutputRows) -> None:
        """Only where it wrote before: the folder below a mount that is gone is empty, and takes
        rows that nobody finds when the mount is back."""
        self._reached(self._written)
        repeated = self._archive.write(rows, is_begun=self._written > 0)
        if repeated:
            self._log.info("archived before", up_to=rows.last, rows=repeated)

    async def _persistently(self, work: Callable[[], Awaitable[object]]) -> None:
        attempt = 0
        while True:
            try:
                await work()
                self.trouble = None
                return
            except (UnavailableError, AnotherArchiveError) as error:
                attempt += 1
                self.trouble = str(error)
                pause_ms = retry_pause_ms(self._settings.publisher, attempt)
                self._metrics.count("lockstep_publisher_retries_total", 1, **self._labels)
                self._log.warning(
                    "archive away", attempt=attempt, pause_ms=pause_ms, error=str(error)
                )
                if not self._keeper.held:
                    raise FencedError("the lease was lost while the archive was away") from error
                await self._clock.sleep_ms(pause_ms)
