"""Runs what is due, as long as this publisher holds the lease: at each look it makes the runs that
there shall be, begins those that may begin, and ends those that nobody wants any more."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final

from lockstep.batch import steps
from lockstep.batch.book import ScriptBook, UnknownScriptError
from lockstep.batch.header import Header, ScriptError
from lockstep.batch.model import Run, Script
from lockstep.batch.run_book import RunBook
from lockstep.clock import Clock
from lockstep.events import UnavailableError
from lockstep.frame import LeaseKeeper
from lockstep.frame.tasks import Tasks
from lockstep.settings import BatchSettings
from lockstep.telemetry import Logger, Metrics
from lockstep_services.publisher.batch.attempt import Attempts

HELD_WAIT_MS: Final = 3_000
MAX_HEADERS: Final = 2_000
RESOURCE: Final = "batch"
"""Of the lease."""
FORGET_MS: Final = 60_000
"""For so long series of a removed script are forgotten: a run of it that just ends counts, too."""


class Scheduler:
    """`run` in a supervised task; runs are tasks beside it."""

    def __init__(
        self,
        scripts: ScriptBook,
        runs: RunBook,
        attempts: Attempts,
        keeper: LeaseKeeper,
        tasks: Tasks,
        clock: Clock,
        settings: BatchSettings,
        metrics: Metrics,
        log: Logger,
    ) -> None:
        self._scripts = scripts
        self._runs = runs
        self._attempts = attempts
        self._keeper = keeper
        self._tasks = tasks
        self._clock = clock
        self._settings = settings
        self._metrics = metrics
        self._log = log
        self._under_way: dict[str, int] = {}
        self._left: dict[str, int] = {}
        self._headers: dict[tuple[str, int, str], Header] = {}
        self._counted: dict[str, int | None] = {}
        """Scripts that have series here, and since when they are not there any more."""

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            if not await self._keeper.wait_held(HELD_WAIT_MS):
                if self._counted:
                    await self._look_once()
                continue
            try:
                while self._keeper.held:
                    await self._look_once()
                    await self._keeper.wait_lost(self._settings.look_ms)
            finally:
                await self._leave()

    async def _look_once(self) -> None:
        try:
            if self._keeper.held:
                await self.look()
            else:  # what it counted while it held the lease
                self._forget_removed(await self._scripts.scripts())
        except UnavailableError as error:
            self._log.warning("scripts are looked at later", error=str(error))

    async def look(self) -> None:
        """Once. UnavailableError."""
        now_ms = self._clock.now_ms()
        there = await self._scripts.scripts()
        self._forget_removed(there)
        for script in there:
            await self._plan(script, now_ms)
        found = [seen.run for seen in await self._runs.open()]
        for run in found:
            if run.is_unwanted:
                await self._cancel(run)
        self._ended()
        await self._end_removed()
        startable = steps.startable([one for one in found if not one.is_unwanted], now_ms)
        for run in startable:
            if len(self._under_way) >= self._settings.max_abreast:
                break
            if run.script not in self._under_way:
                self._begin(run)
        self._show(startable, now_ms)

    async def _plan(self, script: Script, now_ms: int) -> None:
        try:
            header = await self._header(script)
            found = steps.planned(script, header, now_ms, self._settings.max_missed)
            for run in found.runs:
                if await self._runs.plan(run):
                    self._log.info(
                        "batch run is due", script=script.name, due_ms=run.due_ms,
                        missed=run.missed,
                    )  # fmt: skip
            if found.up_to_ms != script.from_ms:
                await self._scripts.passed(script, found.up_to_ms)
        except (UnknownScriptError, ScriptError) as error:  # removed, or of another release
            self._log.warning("a script cannot be planned", script=script.name, error=str(error))

    async def _header(self, script: Script) -> Header:
        """Read once for each version."""
        key = (script.name, script.version, script.digest)
        if key not in self._headers:
            if len(self._headers) > MAX_HEADERS:
                self._headers.clear()
            version = await self._scripts.version(script.name, script.version)
            self._headers[key] = version.header
        return self._headers[key]

    def _forget_removed(self, there: Iterable[Script]) -> None:
        names, now_ms = {one.name for one in there}, self._clock.monotonic_ms()
        for script, since_ms in list(self._counted.items()):
            if script in names:
                self._counted[script] = None
                continue
            self._metrics.forget_all("lockstep_batch_", script=script)
            self._counted[script] = since_ms = now_ms if since_ms is None else since_ms
            if now_ms - since_ms > FORGET_MS:
                del self._counted[script]

    def _begin(self, run: Run) -> None:
        self._counted[run.script] = None
        self._under_way[run.script] = run.due_ms
        self._tasks.supervise(
            _task_of(run.script), partial(self._attempts.make, run.script, run.due_ms)
        )

    def _ended(self) -> None:
        names = self._tasks.names
        for script in list(self._under_way):
            if _task_of(script) not in names:
                del self._under_way[script]

    async def _end_removed(self) -> None:
        """Runs whose script was removed: nobody can cancel them any more."""
        for script, due_ms in list(self._under_way.items()):
            if await self._runs.get(script, due_ms) is None:
                self._log.info("a run ends as its script was removed", script=script, due_ms=due_ms)
                await self._stop(script)

    async def _stop(self, script: str) -> None:
        await self._tasks.stop(_task_of(script))
        del self._under_way[script]

    async def _cancel(self, run: Run) -> None:
        if self._under_way.get(run.script) == run.due_ms:
            await self._stop(run.script)
        self._counted[run.script] = None
        await self._attempts.cancel(run.script, run.due_ms)

    async def _leave(self) -> None:
        """The lease is lost, or this process stops: what runs is ended, and whoever is next takes
        it up."""
        self._left, self._under_way = self._under_way, {}
        for script in self._left:
            await self._tasks.stop(_task_of(script))

    async def stop(self) -> None:
        """In good order: what is under way is given back."""
        if self._under_way:
            await self._leave()
        try:
            for script, due_ms in self._left.items():
                await self._attempts.give_back(script, due_ms)
        except UnavailableError as error:
            self._log.info("runs are left to be taken over", error=str(error))
        await self._keeper.release()

    def _show(self, startable: list[Run], now_ms: int) -> None:
        waiting = [one for one in startable if one.script not in self._under_way]
        late_ms = max((now_ms - one.due_ms for one in waiting), default=0)
        self._metrics.set("lockstep_batch_running", len(self._under_way))
        self._metrics.set("lockstep_batch_late_ms", late_ms)


def _task_of(script: str) -> str:
    return f"batch-run-{script}"
