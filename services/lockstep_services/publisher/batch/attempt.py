"""One run, step by step: begun, computed, kept, sent. Each step is noted in the store by who has
seen the one before; rows are kept once by the table, and sent once by their ids.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from lockstep.archive.place import Place
from lockstep.batch import steps
from lockstep.batch.book import ScriptBook, UnknownScriptError
from lockstep.batch.fitting import NoRowsError
from lockstep.batch.header import Header
from lockstep.batch.marks import marks_of
from lockstep.batch.model import Run, State, Version
from lockstep.batch.outputs import ToSink, ToTable
from lockstep.batch.results import Results, formed, shape_of
from lockstep.batch.rows_out import misfit
from lockstep.batch.run_book import RunBook, Seen
from lockstep.batch.running import Workplace
from lockstep.clock import Clock
from lockstep.events import FencedError, LockstepError, UnavailableError
from lockstep.frame import Offload
from lockstep.settings import Settings
from lockstep.telemetry import Logger, Metrics
from lockstep_services.publisher.batch.delivering import Outlets


class OvertakenError(LockstepError):
    """Somebody else has written of this run."""


class RowsGoneError(LockstepError):
    """Rows of a run that were kept are not there any more: to send what is left helps nobody."""


class Attempts:
    """Of the process that holds the lease."""

    def __init__(
        self,
        node: str,
        place: Place,
        scripts: ScriptBook,
        runs: RunBook,
        workplace: Workplace,
        outlets: Outlets,
        offload: Offload,
        clock: Clock,
        settings: Settings,
        metrics: Metrics,
        log: Logger,
    ) -> None:
        self._node = node
        self._place = place
        self._scripts = scripts
        self._runs = runs
        self._workplace = workplace
        self._outlets = outlets
        self._offload = offload
        self._clock = clock
        self._settings = settings
        self._metrics = metrics
        self._log = log
        self._sent_in_vain: dict[str, int] = {}

    async def make(self, script: str, due_ms: int) -> None:
        """The next attempt of a run, if it is open. UnavailableError."""
        seen = await self._runs.get(script, due_ms)
        if seen is None or not seen.run.is_open:
            return
        log = self._log.bind(script=script, version=seen.run.version, due_ms=due_ms)
        try:
            await self._through(seen, log)
        except (OvertakenError, FencedError) as error:
            log.warning("another publisher has this run", error=str(error))

    async def _through(self, seen: Seen, log: Logger) -> None:
        run = seen.run
        try:
            version = await self._scripts.version(run.script, run.version)
        except UnknownScriptError as error:
            await self._end(seen, steps.failed(run, str(error), self._clock.now_ms()), log)
            return
        header = version.header
        results = Results(self._place, header)
        if not run.is_kept:
            seen = await self._kept(seen, version, header, results, log)
        if seen.run.state is State.SENDING:
            seen = await self._sent(seen, header, results, log)
        await self._runs.forget(run.script)
        if seen.run.is_kept and not seen.run.is_open:
            await self._look_after(run.script, results, header, log)

    # --- to the table --------------------------------------------------------------------------

    async def _kept(
        self, seen: Seen, version: Version, header: Header, results: Results, log: Logger
    ) -> Seen:
        seen = await self._begun(seen)
        run = seen.run
        log.info("batch run begins", attempt=run.attempts, taken_over=run.deaths)
        if run.shape and await self._offload.run(results.reached) >= run.due_ms:
            rows = len(await self._offload.run(lambda: results.rows(run)))
            log.info("batch run was kept before", rows=rows)
            return await self._note(seen, header, rows, run.log, log)
        if steps.is_hopeless(run):
            error = f"{run.deaths} publishers have died with it"
            return await self._end(seen, steps.failed(run, error, self._clock.now_ms()), log)
        limit_ms = header.time_limit_ms or self._settings.batch.time_limit_ms
        outcome = await self._workplace.outcome(run, version, limit_ms)
        if outcome.rows is None:
            return await self._failed(seen, header, outcome.error, outcome.log, log)
        try:
            rows = formed(outcome.rows, run)
        except NoRowsError as error:  # it would give the same types again
            closed = await self._closed(run, header)
            after = steps.failed(closed, str(error), self._clock.now_ms(), outcome.log)
            return await self._end(seen, after, log)
        shape = shape_of(rows)
        wrong = _misfit(rows, header)
        if run.shape not in ("", shape):
            wrong = "it gives other columns than in an earlier attempt"
        if wrong is not None:
            return await self._failed(seen, header, wrong, outcome.log, log)
        seen = await self._written(seen, replace(run, shape=shape))
        noted = seen.run
        count = len(rows)
        try:
            if not await self._offload.run(lambda: results.keep(rows, noted)):
                count = len(await self._offload.run(lambda: results.rows(noted)))
        except UnavailableError as error:
            return await self._failed(seen, header, str(error), outcome.log, log)
        if not count and len(rows):
            lost = "its rows are not kept: a later due time of the script is settled already"
            after = steps.failed(noted, lost, self._clock.now_ms(), outcome.log)
            return await self._end(seen, after, log)
        return await self._note(seen, header, count, outcome.log, log)

    async def _begun(self, seen: Seen) -> Seen:
        earlier = [one for one in await self._runs.of(seen.run.script) if one.is_kept]
        before = next((one for one in earlier if one.due_ms < seen.run.due_ms), None)
        up_to = await self._offload.run(lambda: marks_of(self._place))
        now_ms = self._clock.now_ms()
        return await self._written(seen, steps.begun(seen.run, self._node, now_ms, before, up_to))

    async def _note(
        self, seen: Seen, header: Header, rows: int, lines: tuple[str, ...], log: Logger
    ) -> Seen:
        self._metrics.count("lockstep_batch_rows_total", rows, script=seen.run.script)
        after = steps.kept(seen.run, header, rows, self._clock.now_ms(), lines)
        return await self._end(seen, after, log)

    async def _failed(
        self, seen: Seen, header: Header, error: str, lines: tuple[str, ...], log: Logger
    ) -> Seen:
        settings = self._settings.batch
        after = steps.tried(seen.run, header, error, self._clock.now_ms(), settings, lines)
        if after.state is State.FAILED:
            after = await self._closed(after, header)
        return await self._end(seen, after, log)

    async def _closed(self, run: Run, header: Header) -> Run:
        """Whoever else still believes to run it keeps no rows any more; if somebody did in the
        meantime, they count."""
        if run.is_kept or not run.shape:
            return run
        results = Results(self._place, header)
        is_empty = await self._offload.run(lambda: results.close(run))
        return run if is_empty else replace(run, is_kept=True)

    async def cancel(self, script: str, due_ms: int) -> None:
        """What somebody wants cancelled; nothing of it runs any more."""
        seen = await self._runs.get(script, due_ms)
        if seen is None or not seen.run.is_open:
            return
        try:
            version = await self._scripts.version(script, seen.run.version)
        except UnknownScriptError:  # it is being removed
            return
        run = await self._closed(seen.run, version.header)
        log = self._log.bind(script=script, version=run.version, due_ms=due_ms)
        try:
            await self._end(seen, steps.cancelled(run, self._clock.now_ms()), log)
        except OvertakenError:
            log.info("not cancelled yet: it goes on elsewhere")

    async def give_back(self, script: str, due_ms: int) -> None:
        """This process stops in good order: another one begins anew, and that was no attempt."""
        seen = await self._runs.get(script, due_ms)
        if seen is not None and seen.run.is_open and seen.run.holder == self._node:
            await self._runs.write(seen, steps.given_back(seen.run))

    # --- to a stream or a sink -----------------------------------------------------------------

    async def _sent(self, seen: Seen, header: Header, results: Results, log: Logger) -> Seen:
        run, output = seen.run, header.output
        assert not isinstance(output, ToTable)
        settings = self._settings.batch
        try:
            rows = await self._offload.run(lambda: results.rows(run))
            if len(rows) != run.rows:
                raise RowsGoneError(
                    f"its table has {len(rows)} of the {run.rows} rows that were kept of it",
                    hint="`lockstep batch run` computes them anew",
                )
            await self._outlets.send(rows, run, output)
        except FencedError:
            raise
        except (ValueError, OverflowError) as error:  # rows of an older release, as of the year 0
            told = f"its rows are kept, and cannot be sent: {error}"
            return await self._end(seen, steps.failed(run, told, self._clock.now_ms()), log)
        except LockstepError as error:
            now_ms = self._clock.now_ms()
            if not error.retryable:
                return await self._end(seen, steps.failed(run, str(error), now_ms), log)
            tries = self._sent_in_vain[run.identity] = self._sent_in_vain.get(run.identity, 0) + 1
            log.warning("batch rows not sent yet", output=str(output), error=str(error))
            return await self._written(seen, steps.unsent(run, str(error), tries, now_ms, settings))
        self._sent_in_vain.pop(run.identity, None)
        return await self._end(seen, steps.succeeded(run, self._clock.now_ms()), log)

    # --- notes ---------------------------------------------------------------------------------

    async def _written(self, seen: Seen, run: Run) -> Seen:
        found = await self._runs.write(seen, run)
        if found is None:
            raise OvertakenError("it was written meanwhile")
        return found

    async def _end(self, seen: Seen, run: Run, log: Logger) -> Seen:
        found = await self._written(seen, run)
        if run.is_open:
            if run.state is State.DUE:
                self._metrics.count(
                    "lockstep_batch_runs_total", script=run.script, outcome="tried again"
                )
                log.warning("batch run will be tried again", error=run.error)
            return found
        outcome = str(run.state)
        self._metrics.count("lockstep_batch_runs_total", script=run.script, outcome=outcome)
        took_ms = (run.ended_ms or 0) - (run.begun_ms or run.ended_ms or 0)
        self._metrics.observe("lockstep_batch_run_ms", took_ms, script=run.script)
        said = {"outcome": outcome, "rows": run.rows, "took_ms": took_ms, "error": run.error}
        (log.info if run.state is State.SUCCEEDED else log.warning)("batch run ended", **said)
        return found

    async def _look_after(self, script: str, results: Results, header: Header, log: Logger) -> None:
        archive, now_ms = self._settings.archive, self._clock.now_ms()
        # Runs that are open may still have to send what is kept of them.
        open_ms = [
            one.run.due_ms for one in await self._runs.open()
            if one.run.script == script and one.run.shape
        ]  # fmt: skip
        needed_ms = min(open_ms, default=None)
        try:
            await self._offload.run(
                lambda: results.look_after(header.keep_ms, now_ms, needed_ms, archive)
            )
        except LockstepError as error:
            log.warning("batch results are looked after later", error=str(error))


def _misfit(rows: pa.Table, header: Header) -> str | None:
    """Found before anything is kept."""
    return misfit(rows, header.output) if isinstance(header.output, ToSink) else None
