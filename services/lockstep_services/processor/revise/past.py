"""A state that is folded from the past, beside the one that runs: what `deploy --from` and
`restore --to` go on with.

Who leads folds it, in an engine of its own, while the app goes on as it is. Then the app goes over
to that state as to any other (`upgrading.py`): nothing of it counts before the output log says so.
What it has come to is kept from time to time, and whoever leads next goes on from there
(`past_progress.py`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Final

from msgspec import structs

from lockstep.archive.place import place_of_settings
from lockstep.bus import LogName
from lockstep.control import (
    PAST_DONE,
    PAST_FAILED,
    PAST_FOLDING,
    PAST_GOING_OVER,
    PastStatus,
)
from lockstep.events import LockstepError, OutputId, Position
from lockstep.events.codec import EncodedEntry
from lockstep.events.outputs import RowsOfColumns
from lockstep.operators.errors import SnapshotError
from lockstep.store import Deployment, Past
from lockstep_services.processor.replica.leading import Lead
from lockstep_services.processor.replica.running import Running
from lockstep_services.processor.replica.site import Site
from lockstep_services.processor.revise.past_account import PastAccount
from lockstep_services.processor.revise.past_input import PastFailedError, PastInput, known
from lockstep_services.processor.revise.past_progress import PastProgress
from lockstep_services.processor.revise.past_rows import rows_out
from lockstep_services.processor.revise.revisions import RevisionLoop
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

    def __init__(
        self, site: Site, running: Running, lead: Lead, past: Past, revisions: RevisionLoop
    ) -> None:
        self._site, self._running, self._lead = site, running, lead
        self._past = past
        self._wanted: Deployment = running.wanted.view.deployment
        app, settings = site.name.app, site.settings.processor
        self._folding = site.make_offload(f"past-{app}")
        self._reading = site.make_offload(f"read-past-{app}")
        archive = place_of_settings(site.settings.archive)
        self._input = PastInput(
            site.world.bus, LogName(past.app, since_ms=past.since_ms), archive,
            self._reading, settings.slice_max_bytes,
        )  # fmt: skip
        self._rows = rows_out(past, app, archive, self._reading, settings.hold_back_max_outputs)
        self._progress = PastProgress(site, revisions, self._wanted, past)
        self._position = past.after
        self._engine: AppEngine | None = None
        begun = PastStatus(
            self._wanted.life.number, PAST_FOLDING, past.after, self._goal,
            results=self._rows.results,
        )  # fmt: skip
        self._account = PastAccount(running, site.clock, begun)

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

    async def begin(self) -> None:
        """An engine of the wanted text, in the state that the past begins with, or that a leader
        before has come to. PastFailedError, UnavailableError, SnapshotError."""
        engine = await self._gone_on() or await self._begun()
        excluded = {each.position for each in self._wanted.origin.exclusions}
        engine.left_out = tuple(sorted({*engine.left_out, *excluded}))

    async def _fresh(self) -> AppEngine:
        one = self._wanted
        self._engine = await self._site.engines.make(one.text, one.version, self._folding, origin=0)
        return self._engine

    async def _begun(self) -> AppEngine:
        engine, past = await self._fresh(), self._past
        if past.revision:
            try:
                contents = unseal(await self._site.world.store.revisions.load(past.revision))
            except (LookupError, EnvelopeError) as error:
                raise PastFailedError(f"revision '{past.revision}' cannot be read") from error
            await engine.restore(past.after, structs.replace(contents, rows=(), faults=()))
        return engine

    async def _gone_on(self) -> AppEngine | None:
        async for kept in self._progress.found():
            running = self._running.engine
            if self._is_own and running.stopped and running.position < kept.position:
                continue  # the app would have to come there first
            engine = await self._fresh()
            try:
                await engine.restore(
                    kept.position, structs.replace(kept.contents, rows=(), faults=())
                )
            except SnapshotError as error:
                self._site.log.warning(
                    "a past cannot go on", revision=kept.revision, why=str(error)
                )
                await engine.close()
                self._engine = None
                continue
            engine.next_due_ms = kept.next_due_ms
            self._position = kept.position
            self._rows.go_on(kept.contents.rows)
            self._account.go_on(kept.status, kept.position)
            self._site.log.info(
                "a past goes on", position=kept.position, up_to=self._goal,
                events=kept.status.events, revision=kept.revision,
            )  # fmt: skip
            return engine
        return None

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
        self._account.tell(PAST_GOING_OVER, self._position)

    async def _app_is_there(self) -> None:
        """Until the app has folded what its new state holds: behind that it goes on."""
        there = max(self._past.after, self._past.up_to, self._position) if self._is_own else 0
        while (engine := self._running.engine).position < there:
            if engine.stopped is not None:
                if there == self._position:
                    raise PastAbandonedError("the app stops in front of what was folded before")
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
            engine.outbox = held_alone(engine.position, rows)
        return engine

    def done(self) -> None:
        """The output log says so: the app goes on with it."""
        self._account.tell(PAST_DONE, self._position)

    def failed(self, why: str) -> None:
        """It is not tried again in this desired state."""
        self._account.tell(PAST_FAILED, self._position, why)
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
        past = self._running.past
        if past is not None and past.phase == PAST_DONE:
            await self._progress.forget()

    async def _fold_to(self, up_to: Position) -> None:
        assert self._engine is not None
        inputs = self._engine.plan.inputs
        async with contextlib.aclosing(self._input.slices(self._position, up_to)) as slices:
            async for found in slices:
                self._check()
                entries, ignored = known(found.entries, inputs)
                await self._fold(entries)
                self._account.count(
                    self._position, self._goal, missing=found.missing, ignored=ignored
                )
                if self._progress.is_due:
                    await self._keep()
        self._position = max(self._position, up_to)
        self._account.tell(PAST_FOLDING, self._position)

    async def _keep(self) -> None:
        assert self._engine is not None
        # Rows first: whoever goes on from that state gives none of them again.
        await self._rows.end()
        said, at = self._account.status, self._position
        if await self._progress.keep(at, self._engine, self._rows.held, said):
            self._account.keep(at)

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
            self._account.count(
                self._position, self._goal, events=folded.events, rows=len(rows), refused=refused
            )
            if engine.poison.stopped is not None:
                raise PastFailedError(
                    f"the app stops at position {position}: {engine.poison.stopped}"
                )
            left = [one for one in left if one.position > position]
            if engine.unfoldable is not None:  # nobody has folded it: it is set aside for all
                engine.left_out = (*engine.left_out, engine.unfoldable)

    def _check(self) -> None:
        if not self._lead.is_active:
            raise PastAbandonedError("somebody else leads")
        if self._running.wanted.view.deployment.life != self._wanted.life:
            raise PastAbandonedError("something else is wanted")


def held_alone(position: Position, rows: RowsOfColumns) -> Outbox:
    """These rows of a position are to be published, and all before them are. So the position is not
    settled yet, as it would be behind an empty slice of it."""
    outbox = Outbox()
    outbox.add(position, rows)
    return outbox
