"""Follows the output logs of all apps into the read models, the listeners and the presenter topics.

One task per app and version. Reading starts at the log's first kept record, so a restarted
presenter shows what the last one showed. The next version goes on with the models of what it shows
alike. The logs of a fleet are read as one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

import msgspec

from lockstep.bus import Bus, OutputEntry, OutputLog, presenter_subject
from lockstep.clock import Clock, wait_set
from lockstep.control import OWN_LOG, AppView, Catalogue, FlowTold, MergedOutputs
from lockstep.control.gathering import complete_behind
from lockstep.events import OutputId, OutputRecord, Position, UnavailableError
from lockstep.events.outputs import first_id, in_columns, joined
from lockstep.frame import LeaseKeeper, Tasks, run_until
from lockstep.settings import PresenterSettings
from lockstep.siddhiql import ast
from lockstep.telemetry import NO_TRACES, Metrics, Recent, Traces
from lockstep_services.presenter.listeners import Listeners
from lockstep_services.presenter.models import Fresh, StreamModel, TableModel

READ_MAX_RECORDS: Final = 500
READ_MAX_BYTES: Final = 8_388_608
READ_WAIT_MS: Final = 10_000
HISTORY_READ_WAIT_MS: Final = 3_000
"""While history is read. If a fleet's brings nothing for so long, which is many times what lies
between two marks, there is no more for now: one of its units may be away."""

END_WITHIN_S: Final = 0.5
"""Whoever looks at a flow waits for a second at most."""

READING: Final = (
    "Rows may be missing: the presenter still reads the app's output log. Look again in a moment."
)

TOPIC_MAX_ROWS: Final = 500  # of a stream at once; one reading brings a slice or a few


class AppModels:
    """The read models of one app at one version.

    Of a fleet, `sequence` and all that is told by it are positions.

    `history_end`: where its output log ended when it was first looked at; what stands behind is
    new, and goes to the presenter topics. None: not looked at yet. `told`: up to where listeners
    are told nothing: of history, and of what the models of the version `before` have told them.
    `caught_up` is set once all that is read. `lately`: how late new rows could be seen. `end`: asks
    where its log ends.

    Models of `before` go on here where they are alike. Then only those that are new (`_made`) may
    lack rows that were trimmed up to `_known_to`.
    """

    def __init__(
        self,
        view: AppView,
        settings: PresenterSettings,
        now_ms: int,
        before: AppModels | None = None,
    ) -> None:
        self.view = view
        self.streams = {
            name: StreamModel(schema, settings.history_rows, settings.sse_queue_events)
            for name, schema in view.exported.items()
        }
        self.tables = {
            name: TableModel(schema, primary_key(view, name), settings.table_rows)
            for name, schema in view.stored.items()
        }
        self.lately = Recent(now_ms)
        self.sequence = 0
        self.told: int | None = None
        self.history_end: int | None = None
        self.caught_up = asyncio.Event()
        self.end: Callable[[], Awaitable[int]] | None = None
        self._made = self._all
        self._known_to = 0
        if before is None or before.told is None or not _same_log(before.view, view):
            return
        if (before.view.fleet is None) == (view.fleet is None):
            self._take_over(before, before.told)
        elif before.caught_up.is_set():
            self.told = self.history_end = before.last_position

    def _take_over(self, before: AppModels, told: int) -> None:
        self.told, self.history_end = max(told, before.sequence), before.history_end
        self.streams |= {
            name: one
            for name, one in before.streams.items()
            if name in self.streams and one.schema == self.streams[name].schema
        }
        self.tables |= {
            name: one
            for name, one in before.tables.items()
            if name in self.tables and one.is_like(self.tables[name])
        }
        self._made = [one for one in self._all if one not in before._all]
        self._known_to = before.sequence
        if not self._made:
            self.sequence = before.sequence
            self.look()

    @property
    def _all(self) -> list[StreamModel | TableModel]:
        return [*self.streams.values(), *self.tables.values()]

    @property
    def edition(self) -> str:
        """Differs when the app's text, or the app itself, is another one."""
        deployment = self.view.deployment
        return f"{deployment.version}.{deployment.life.deployed_ms}"

    async def begin(self) -> None:
        """Learns where its history ends. UnavailableError."""
        if self.told is None and self.end is not None:
            self.told = self.history_end = await self.end()
        self.look()

    def look(self) -> None:
        """Whether all that listeners are not told of was read."""
        if self.told is not None and self.sequence >= self.told:
            self.caught_up.set()

    def end_history(self) -> None:
        """A unit of a fleet is away: what is still to come of it is told as it comes."""
        if not self.caught_up.is_set():
            self.told = self.sequence
            self.caught_up.set()

    def missing(self, table: TableModel) -> str | None:
        """Why rows of one of its tables may be missing, for people to read. None: none is."""
        return table.missing if self.caught_up.is_set() else READING

    def cut(self, kept_from: OutputId, trimmed_to: int) -> None:
        """What stood up to there was trimmed before it was read."""
        for one in self._all if trimmed_to > self._known_to else self._made:
            one.cut(kept_from)

    @property
    def last_position(self) -> Position:
        """Of the newest row of its streams: where a fleet goes on, whose log counts positions."""
        ids = (one.last_id for one in self.streams.values())
        return max((one.position for one in ids if one is not None), default=0)


class Feed:
    """All apps' models, kept up to date."""

    def __init__(
        self,
        bus: Bus,
        catalogue: Catalogue,
        listeners: Listeners,
        keeper: LeaseKeeper,
        tasks: Tasks,
        clock: Clock,
        settings: PresenterSettings,
        metrics: Metrics,
        traces: Traces = NO_TRACES,
    ) -> None:
        self._traces = traces
        self._bus = bus
        self._catalogue = catalogue
        self._listeners = listeners
        self._keeper = keeper
        self._tasks = tasks
        self._clock = clock
        self._settings = settings
        self._metrics = metrics
        self._models: dict[str, AppModels] = {}
        self._following = asyncio.Lock()

    def models(self, app: str) -> AppModels | None:
        """The models of an app that is known to be deployed."""
        return self._models.get(app)

    async def flow(self, app: str) -> FlowTold:
        """How much of each stream is shown lately, how late, and what waits."""
        models = self._models.get(app)
        if models is None:
            return FlowTold()
        now_ms = self._clock.monotonic_ms()
        lately = models.lately.read(now_ms)
        shown = {name: one.rate_per_s(now_ms) for name, one in models.streams.items()}
        waits = await self._waits(models)
        return FlowTold(
            shown=shown, waits=waits, latency_p50_ms=lately.p50_ms, latency_p99_ms=lately.p99_ms
        )

    async def has_read(self, models: AppModels, wait_ms: int) -> bool:
        """Whether the app's history has been read, or is in so long. Who looked into a model before
        that would miss the rest of it."""
        app, until_ms = models.view.name, self._clock.monotonic_ms() + wait_ms
        while not (models := self._models.get(app, models)).caught_up.is_set():
            left_ms = until_ms - self._clock.monotonic_ms()
            if left_ms <= 0:
                return False
            await wait_set(models.caught_up, self._clock, left_ms)
        return True

    async def _waits(self, models: AppModels) -> int | None:
        if models.end is None:
            return None
        try:
            async with asyncio.timeout(END_WITHIN_S):
                return max(0, await models.end() - models.sequence)
        except (UnavailableError, TimeoutError):
            return None

    async def find(self, app: str) -> AppModels | None:
        """The models of a deployed app; looks into the store when it is not known yet."""
        if app not in self._models and await self._catalogue.find(app) is not None:
            await self.follow_catalogue()
        return self._models.get(app)

    async def run(self) -> None:
        """Starts and stops a task per app as the catalogue changes."""
        await self._catalogue.follow(self.follow_catalogue)

    async def follow_catalogue(self) -> None:
        """Brings the tasks in line with what is deployed now."""
        async with self._following:
            await self._follow_catalogue()

    async def _follow_catalogue(self) -> None:
        views = {view.name: view for view in self._catalogue.views}
        replaced: dict[str, AppModels] = {}
        for app in list(self._models):
            if app not in views or not views[app].is_same_app(self._models[app].view.deployment):
                await self._tasks.stop(f"feed-{app}")
                replaced[app] = self._models.pop(app)
        for app, view in views.items():
            if app not in self._models:
                now_ms = self._clock.monotonic_ms()
                models = AppModels(view, self._settings, now_ms, replaced.get(app))
                self._models[app] = models
                self._tasks.supervise(f"feed-{app}", partial(self._follow, models))
        for app, models in replaced.items():
            models.caught_up.set()  # who waits for it looks at the one that is there now
            self._listeners.wake(app)  # who listens to what is not there any more

    async def _follow(self, models: AppModels) -> None:
        if models.view.fleet is None:
            log = await self._bus.output_log(models.view.log, make=False)
            models.end = partial(_end_of, log)
            await models.begin()
            await self._read(models, log)
            return
        merged = MergedOutputs(self._bus, models.view, self._clock)
        models.end = merged.last
        await models.begin()
        merged.stop_at(models.told or 0, models.history_end or 0)
        trimmed_to = await _trimmed_to(self._bus, merged)
        if trimmed_to > models.sequence:
            models.cut(OutputId(trimmed_to + 1, 0), trimmed_to)
        await run_until(partial(self._read, models, merged), merged.run)

    async def _read(self, models: AppModels, log: OutputLog | MergedOutputs) -> None:
        """Until cancelled."""
        history_end = models.history_end or 0
        while True:
            is_history = not models.caught_up.is_set()
            entries = await log.read(
                models.sequence,
                max_records=READ_MAX_RECORDS,
                max_bytes=READ_MAX_BYTES,
                wait_ms=HISTORY_READ_WAIT_MS if is_history else READ_WAIT_MS,
            )
            if not entries:
                if isinstance(log, MergedOutputs):
                    models.end_history()
                continue
            await _note_trimmed(models, log, entries)
            models.sequence = entries[-1].sequence
            # Listeners get what is new, not the history again after a restart.
            told = sum(entry.sequence <= (models.told or 0) for entry in entries)
            old = max(told, sum(entry.sequence <= history_end for entry in entries))
            self._take(models, entries[:told], is_history=True)
            models.look()
            self._tell_listeners(models, self._take(models, entries[told:old]))
            with self._traces.follow("present", _traces_in(entries[old:]), app=models.view.name):
                fresh = self._take(models, entries[old:])
                self._reached(models, entries[old:], sum(one.count for _, one in fresh))
                self._tell_listeners(models, fresh)
                if self._keeper.held:
                    for model, some in fresh:
                        await self._publish(models.view.name, model, some)

    def _reached(self, models: AppModels, entries: Sequence[OutputEntry], rows: int) -> None:
        """So many new rows can be seen."""
        records = (entry.record for entry in entries)
        times = (one.door_ms for one in records if isinstance(one, OutputRecord) and one.door_ms)
        if door_ms := next(times, 0):
            took_ms = max(0, self._clock.now_ms() - door_ms)
            models.lately.passed(self._clock.monotonic_ms(), rows, took_ms)
            app = models.view.name
            self._metrics.observe("lockstep_latency_ms", took_ms, app=app, stage="presented")

    def _take(
        self, models: AppModels, entries: Sequence[OutputEntry], *, is_history: bool = False
    ) -> list[tuple[StreamModel, Fresh]]:
        """Shows rows to who asks; gives those of streams."""
        rows = joined(
            in_columns(entry.record.rows)
            for entry in entries
            if isinstance(entry.record, OutputRecord)
        )
        now_ms = None if is_history else self._clock.monotonic_ms()
        taken: list[tuple[StreamModel, Fresh]] = []
        for name in dict.fromkeys(each.stream for each in rows.columns):
            some = rows.of_stream(name)
            if name in models.tables:
                models.tables[name].add(some)
            elif name in models.streams:
                taken.append((models.streams[name], models.streams[name].add(some, now_ms)))
        return taken

    def _tell_listeners(
        self, models: AppModels, taken: Sequence[tuple[StreamModel, Fresh]]
    ) -> None:
        app = models.view.name
        for model, fresh in taken:
            name = model.schema.name
            self._listeners.push(app, name, fresh)
            self._metrics.count(
                "lockstep_presenter_events_total", fresh.count, app=app, stream=name
            )

    async def _publish(self, app: str, model: StreamModel, fresh: Fresh) -> None:
        """A message per row; more at once than anybody could look at are told by their number."""
        subject = presenter_subject(app, model.schema.name)
        left_out = fresh.skipped + max(0, len(fresh.rows) - TOPIC_MAX_ROWS)
        if left_out:
            await self._bus.topics.publish(subject, msgspec.json.encode({"skipped": left_out}))
        for row in fresh.rows[-TOPIC_MAX_ROWS:]:
            payload = msgspec.json.encode(row.as_json(model.schema.names))
            await self._bus.topics.publish(subject, payload)


def _traces_in(entries: Sequence[OutputEntry]) -> list[str]:
    records = (entry.record for entry in entries)
    return [one.trace for one in records if isinstance(one, OutputRecord) and one.trace]


def _same_log(before: AppView, view: AppView) -> bool:
    """An app that was removed with its logs and is deployed anew has others."""
    return before.is_of(view.deployment.life)


def primary_key(view: AppView, table: str) -> tuple[str, ...]:
    """The attributes of a table's @PrimaryKey, or none."""
    definition = view.definition(table)
    annotations: Sequence[ast.Annotation] = () if definition is None else definition.annotations
    for annotation in annotations:
        if annotation.name.lower() == "primarykey":
            return annotation.positional
    return ()


async def _note_trimmed(
    models: AppModels, log: OutputLog | MergedOutputs, entries: Sequence[OutputEntry]
) -> None:
    """Records in front of these that were trimmed before they were read. Rows are kept from the
    first of these on, or from behind the log's last one. UnavailableError."""
    trimmed_to = entries[0].sequence - 1
    if isinstance(log, MergedOutputs) or trimmed_to <= models.sequence:
        return
    records = (entry.record for entry in entries)
    ids = (first_id(one.rows) for one in records if isinstance(one, OutputRecord) and one.rows)
    if (first := next(ids, None)) is not None:
        models.cut(first, trimmed_to)
    elif (last := (await log.tail()).last_id) is not None:
        models.cut(OutputId(last.position, last.ordinal + 1), trimmed_to)


async def _trimmed_to(bus: Bus, merged: MergedOutputs) -> Position:
    """Up to which position a fleet's logs may have forgotten rows; 0: none. UnavailableError."""
    begun = (
        one for one in await merged.layouts() if one.number == OWN_LOG or one.begin is not None
    )
    first = next(begun, None)
    if first is None:
        return 0
    logs = [await bus.output_log(name, make=False) for name in first.tails]
    behind = [await complete_behind(log) for log in logs]
    return max(first.begin or 0, *behind)


async def _end_of(log: OutputLog) -> int:
    return (await log.tail()).sequence
