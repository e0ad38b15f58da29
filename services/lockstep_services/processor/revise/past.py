"""A state that is folded from the past, beside the one that runs: what `deploy --from` and
`restore --to` go on with.

Who leads folds it, in an engine of its own, while the app goes on as it is. Then the app goes over
to that state as to any other (`upgrading.py`): nothing of it counts before the output log says so.
Whoever leads next begins anew.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Final

from msgspec import structs

from lockstep.archive.naming import Logs
from lockstep.archive.place import place_of_settings
from lockstep.bus import LogName
from lockstep.control import (
    PAST_DONE,
    PAST_FAILED,
    PAST_FOLDING,
    PAST_GOING_OVER,
    PastStatus,
)
from lockstep.events import LockstepError, OutputId, Position, TickRecord
from lockstep.events.codec import EncodedEntry, EventsHeader, encode_record
from lockstep.store import PAST_ARCHIVE, PAST_SINKS, Deployment, Past
from lockstep_services.processor.replica.leading import Lead
from lockstep_services.processor.replica.running import Running
from lockstep_services.processor.replica.site import Site
from lockstep_services.processor.revise.past_input import PastFailedError, PastInput
from lockstep_services.processor.revise.past_rows import NoRows, PastRows, SinkRows, TableRows
from lockstep_services.processor.state.engine import AppEngine
from lockstep_services.processor.state.envelope import EnvelopeError, unseal
from lockstep_services.processor.state.outbox import Outbox

CLOSE_MS: Final = 500
"""What came meanwhile took no longer than that: then the app stands still, and the rest is folded.
Positions would not tell: one may have an event or a hundred thousand."""
APPROACHES: Final = 20
"""So often it is gone after while it goes on; then it stands still, however far it is."""
WAIT_MS: Final = 250
LAST_ORDINAL: Final = 1 << 62


class PastAbandonedError(LockstepError):
    """Something else is wanted meanwhile, or somebody else leads."""

    retryable = True


class PastFold:
    """Of one desired state. `begin`, `approach`, `finish`, in this order; `close` in any case."""

    def __init__(self, site: Site, running: Running, lead: Lead, past: Past) -> None:
        self._site, self._running, self._lead = site, running, lead
        self._past = past
        self._wanted: Deployment = running.wanted.view.deployment
        app = site.name.app
        self._folding = site.make_offload(f"past-{app}")
        self._reading = site.make_offload(f"read-past-{app}")
        self._archive = place_of_settings(site.settings.archive)
        self._input = PastInput(
            site.world.bus, LogName(past.app, since_ms=past.since_ms), self._archive,
            self._reading, site.settings.processor.slice_max_bytes,
        )  # fmt: skip
        self._rows = self._rows_out()
        self._position = past.after
        self._began_ms = site.clock.monotonic_ms()
        self._engine: AppEngine | None = None
        running.past = PastStatus(
            self._wanted.life.number,
            PAST_FOLDING,
            past.after,
            self._goal,
            results=self._rows.results,
        )

    @property
    def _follows(self) -> bool:
        """The app's own log goes on where the past ends."""
        return not self._past.up_to

    @property
    def _is_own(self) -> bool:
        """It is a part of the app's own log."""
        own = self._site.name
        return (self._past.app, self._past.since_ms) == (own.app, own.since_ms)

    @property
    def _goal(self) -> Position:
        return self._past.up_to or self._running.engine.position

    def _rows_out(self) -> PastRows:
        if self._past.output == PAST_SINKS:
            return SinkRows(self._site.settings.processor.hold_back_max_outputs)
        if self._past.output != PAST_ARCHIVE or self._archive is None:
            return NoRows()
        # The tables' library is a heavy import, for whoever writes them alone.
        from lockstep.history.results import ResultTables, of_past

        logs = Logs(self._past.app, self._past.since_ms)
        results = of_past(self._archive, self._site.name.app, self._past.life)
        return TableRows(ResultTables(results, logs, "past"), self._reading)

    async def begin(self) -> None:
        """An engine of the wanted text, in the state that the past begins with. PastFailedError,
        UnavailableError, SnapshotError."""
        one, past = self._wanted, self._past
        engine = await self._site.engines.make(one.text, one.version, self._folding, origin=0)
        self._engine = engine
        if past.revision:
            try:
                contents = unseal(await self._site.world.store.revisions.load(past.revision))
            except (LookupError, EnvelopeError) as error:
                raise PastFailedError(f"revision '{past.revision}' cannot be read") from error
            await engine.restore(past.after, structs.replace(contents, rows=(), faults=()))
        excluded = {each.position for each in one.origin.exclusions}
        engine.left_out = tuple(sorted({*engine.left_out, *excluded}))

    async def approach(self) -> None:
        """Folds until the app is not far ahead. PastAbandonedError, PastFailedError,
        UnavailableError."""
        await self._app_is_there()
        for _ in range(APPROACHES):
            began_ms = self._site.clock.monotonic_ms()
            await self._fold_to(self._goal)
            if not self._follows or self._site.clock.monotonic_ms() - began_ms <= CLOSE_MS:
                break
        # Nobody publishes while the app stands still: what takes long is done before.
        await self._rows.end()
        self._tell(PAST_GOING_OVER)

    async def _app_is_there(self) -> None:
        """Until the app has folded what its new state holds: behind that it goes on."""
        there = max(self._past.after, self._past.up_to) if self._is_own else 0
        while (engine := self._running.engine).position < there:
            if engine.stopped is not None:
                raise PastFailedError(
                    f"the app has stopped at position {engine.position}, in front of {there}: "
                    f"{engine.stopped}",
                    hint="go back to a time before that",
                )
            await self._site.clock.sleep_ms(WAIT_MS)
            self._check()

    async def finish(self, published: OutputId | None) -> AppEngine:
        """The app stands still, and what it has given is published: the engine at its position,
        with the rows of the past that are to be published."""
        old, engine = self._running.engine, self._engine
        assert engine is not None
        if self._follows:
            await self._fold_to(old.position)
        await self._rows.end()
        await engine.go_on_as(old, same_log=self._follows)
        engine.left_out = tuple(each for each in engine.left_out if each > engine.position)
        if len(rows := self._rows.at(engine.position, published)):
            engine.outbox.add(engine.position, rows)
        return engine

    def done(self) -> None:
        """The output log says so: the app goes on with it."""
        self._tell(PAST_DONE)

    def failed(self, why: str) -> None:
        """It is not tried again in this desired state."""
        self._tell(PAST_FAILED, why)
        self._site.log.error("the past cannot be folded", why=why)

    def abandoned(self) -> None:
        """Nobody writes its rows here any more."""
        self._running.past = None

    async def close(self) -> None:
        """Gives back what the app does not go on with."""
        if self._engine is not None and self._engine is not self._running.engine:
            await self._engine.close()
        self._folding.close()
        self._reading.close()

    async def _fold_to(self, up_to: Position) -> None:
        async with contextlib.aclosing(self._input.slices(self._position, up_to)) as slices:
            async for found in slices:
                self._check()
                entries, ignored = self._known(found.entries)
                await self._fold(entries)
                self._count(missing=found.missing, ignored=ignored)
        self._position = max(self._position, up_to)
        self._tell(PAST_FOLDING)

    async def _fold(self, entries: Sequence[EncodedEntry]) -> None:
        engine = self._engine
        assert engine is not None
        left = entries
        while left:
            folded = await engine.fold(left)
            rows, faults = engine.outbox.rows(), engine.outbox.faults()
            engine.outbox = Outbox()
            rows = rows[rows.up_to(OutputId(self._past.quiet_to, LAST_ORDINAL)) :]
            refused = sum(len(one.events) for one in faults)
            position = folded.result.position
            await self._rows.take(rows, position)
            self._position = max(self._position, position)
            self._count(events=folded.events, rows=len(rows), refused=refused)
            if engine.poison.stopped is not None:
                raise PastFailedError(
                    f"the app stops at position {position}: {engine.poison.stopped}"
                )
            left = [one for one in left if one.position > position]
            if engine.unfoldable is not None:  # nobody has folded it: it is set aside for all
                engine.left_out = (*engine.left_out, engine.unfoldable)

    def _known(self, entries: Sequence[EncodedEntry]) -> tuple[list[EncodedEntry], int]:
        """Records of streams that the text does not have only move the clock."""
        assert self._engine is not None
        inputs = self._engine.plan.inputs
        ignored = 0
        kept: list[EncodedEntry] = []
        for entry in entries:
            header = entry.header
            if isinstance(header, EventsHeader) and header.stream not in inputs:
                ignored += header.events
                tick = encode_record(TickRecord(header.clock_ms))
                kept.append(EncodedEntry(entry.position, tick))
            else:
                kept.append(entry)
        return kept, ignored

    def _check(self) -> None:
        if not self._lead.is_active:
            raise PastAbandonedError("somebody else leads")
        if self._running.wanted.view.deployment.life != self._wanted.life:
            raise PastAbandonedError("something else is wanted")

    def _count(self, **more: int) -> None:
        past = self._running.past
        assert past is not None
        self._running.past = structs.replace(
            past, position=self._position, up_to=self._goal, took_ms=self._took_ms,
            **{name: getattr(past, name) + count for name, count in more.items()},
        )  # fmt: skip

    def _tell(self, phase: str, why: str = "") -> None:
        past = self._running.past
        assert past is not None
        self._running.past = structs.replace(
            past, phase=phase, why=why, position=self._position, took_ms=self._took_ms
        )

    @property
    def _took_ms(self) -> int:
        return self._site.clock.monotonic_ms() - self._began_ms
