"""From one state of an app to another, at one position for all replicas: an upgrade to another
version, a restore of a revision, or going on without what no worker can fold.

The old state is folded and published up to a position that the leader chooses; there the new one
begins: with what fits of the old version's state, or with the revision's. The beginning
is a revision itself; the leader claims the output log for it, and standbys that see the claim
restore it and go on from there.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Final

from msgspec import structs

from lockstep.events import Generation, Life, Position, UnavailableError
from lockstep.frame import wait_set
from lockstep.leader.protocol import facts
from lockstep.operators.errors import SnapshotError
from lockstep.siddhiql import SiddhiQLError
from lockstep.store import Deployment, Revision
from lockstep.store.rules import counts_for
from lockstep_services.processor.fold.folding import FoldLoop
from lockstep_services.processor.lead.claiming import Begun
from lockstep_services.processor.lead.leadership import Leadership
from lockstep_services.processor.publish.publishing import Publishing
from lockstep_services.processor.replica.replica import Replica
from lockstep_services.processor.replica.standing import RestartReplicaError
from lockstep_services.processor.revise.past import PastAbandonedError, PastFold
from lockstep_services.processor.revise.past_input import PastFailedError
from lockstep_services.processor.revise.revisions import RevisionLoop
from lockstep_services.processor.state.engine import AppEngine
from lockstep_services.processor.state.envelope import Contents, EnvelopeError, unseal

LOOK_EVERY_MS: Final = 250
QUIET_LOOK_MS: Final = 60_000
STORE_PAUSE_MS: Final = 2_000
FLUSH_LIMIT_MS: Final = 10_000


class UpgradeLoop:
    """`run` in one task."""

    def __init__(
        self,
        replica: Replica,
        fold: FoldLoop,
        publishing: Publishing,
        revisions: RevisionLoop,
        leadership: Leadership,
    ) -> None:
        self._site, self._running = replica.site, replica.running
        self._lead, self._published = replica.lead, replica.published
        self._trouble = replica.trouble
        self._fold = fold
        self._publishing = publishing
        self._revisions = revisions
        self._leadership = leadership
        self._clock = self._site.clock
        self._log = self._site.log

    async def run(self) -> None:
        """Until cancelled; RestartReplicaError when only beginning again tells what runs."""
        while True:
            if self._running.is_settled:
                await wait_set(self._running.wanted.changed, self._clock, QUIET_LOOK_MS)
                self._running.wanted.changed.clear()
                continue
            await self._clock.sleep_ms(LOOK_EVERY_MS)
            try:
                if self._running.is_old and self._lead.is_active:
                    await self._go_over()
            except (UnavailableError, PastAbandonedError) as error:
                self._log.warning("upgrade waits", error=str(error))
                await self._clock.sleep_ms(STORE_PAUSE_MS)

    async def record_beginning(self) -> None:
        """An empty state is there as a revision before the log is claimed for it.

        So whoever starts during an upgrade, however early, finds the version that the others run.
        """
        beginning = self._running.unrecorded
        if beginning is None:
            return
        saved = await self._revisions.store(
            beginning.position,
            beginning.contents,
            self._running.engine.version,
            self._running.generation,
        )
        if saved is None:
            raise UnavailableError("somebody has led since: to be looked at again")
        await self._site.world.store.revisions.mark_verified(saved.id)
        self._running.unrecorded = None

    async def _go_over(self) -> None:
        wanted, running = self._running.wanted.view.deployment, self._running
        past = wanted.origin.past_for(running.generation.life)
        if past is None:
            await self._cut_over(wanted)
            return
        if running.past is not None and running.past.has_failed_in(wanted.life.number):
            return
        fold = PastFold(self._site, running, self._lead, past, self._revisions)
        try:
            # It takes long, and the app goes on meanwhile.
            await fold.begin()
            await fold.approach()
            await self._cut_over(wanted, fold)
        except (PastFailedError, SnapshotError, SiddhiQLError) as error:
            fold.failed(str(error))
        except PastAbandonedError:
            fold.abandoned()
            raise
        finally:
            await fold.close()

    async def _cut_over(self, wanted: Deployment, past: PastFold | None = None) -> None:
        async with contextlib.AsyncExitStack() as made:
            # What takes long and needs no rest comes first: nobody publishes while folding is
            # paused.
            if past is None:
                begun = await self._fresh(wanted, made)
            else:
                begun = self._running.engine
            was_stopped = self._running.engine.stopped is not None
            is_ending = False
            self._fold.pause()
            paused_ms = self._clock.monotonic_ms()
            try:
                await self._fold.at_rest()
                if not await self._may_leave_the_old_state(wanted):
                    return
                if self._lead.permit is None or not await self._publishing.flush(FLUSH_LIMIT_MS):
                    return
                lost: tuple[str, ...] = ()
                if past is not None:
                    begun = self._closing(await past.finish(self._published.last_id), made)
                else:
                    position, contents = await self._running.engine.contents()
                    contents = structs.replace(contents, left_out=_left_out(wanted, position))
                    begun, lost = await self._begin(wanted, begun, contents, made)
                generation = Generation(wanted.life, begun.position)
                if await self._made_count(begun, generation, is_past=past is not None):
                    if past is not None:
                        past.done()
                    await self._running.change(begun, generation, began_empty=lost)
                    if (last := begun.outbox.last_id) is not None:
                        self._leadership.tell(facts.RowsHeld(last))
                    paused_for_ms = self._clock.monotonic_ms() - paused_ms
                    self._log.info("begun", version=begun.version[:12], position=begun.position,
                                   paused_ms=paused_for_ms)  # fmt: skip
                    if was_stopped:  # what it has read ahead is not what comes next
                        raise RestartReplicaError("the state before had stopped")
            except RestartReplicaError:
                is_ending = True
                raise
            finally:
                if not is_ending:
                    self._fold.resume()

    def _closing(self, engine: AppEngine, made: contextlib.AsyncExitStack) -> AppEngine:
        """It is closed with the others that were made, unless it is the one that runs by then."""

        async def close() -> None:
            if engine is not self._running.engine:
                await engine.close()

        made.push_async_callback(close)
        return engine

    async def _may_leave_the_old_state(self, wanted: Deployment) -> bool:
        """Once it has come to its last row and to all that is stored of it: a new leader may be in
        front of that still, with nothing held back. What a revision holds the log may have
        forgotten, and who goes back to it does not fold it again."""
        engine, last = self._running.engine, self._published.last_id
        stored = await self._stored()
        if engine.position < self._stored_up_to(stored):
            if engine.stopped is not None:
                raise RestartReplicaError("another replica has folded what is next")
            return False
        if last is not None and engine.position < last.position:
            return False
        # Who stops in front of what that state holds goes on with its own.
        return engine.stopped is not None or not self._is_ahead(wanted, stored)

    async def _stored(self) -> Sequence[Revision]:
        return await self._site.world.store.revisions.list(*self._site.name.key)

    def _is_ahead(self, wanted: Deployment, stored: Sequence[Revision]) -> bool:
        """The state that is to be gone back to has folded more than the present one."""
        to, position = wanted.origin.restoration, self._running.engine.position
        return any(to and one.id == to.revision and one.position > position for one in stored)

    def _stored_up_to(self, stored: Sequence[Revision]) -> Position:
        """How far the furthest revision of the present state has come that counts."""
        state = self._running.generation
        ours = (one.position for one in stored if counts_for(one, state))
        return max(ours, default=0)

    async def _made_count(self, begun: AppEngine, generation: Generation, *, is_past: bool) -> bool:
        """Stores the beginning as a verified revision; then the output log goes over to it if this
        replica still leads. The log's word decides: only from then on the revision counts. A past
        that was called off while it was stored does not begin: PastAbandonedError.
        """
        revisions = self._site.world.store.revisions
        if self._lead.permit is None:
            return False
        saved = await self._revisions.save(begun, generation)
        if saved is None:
            if self._revisions.outdone_by > self._lead.epoch:
                # Who has stopped publishes nothing, so the log does not tell it. It would keep the
                # lease from those that go on.
                raise RestartReplicaError("another replica has led since")
            return False
        await revisions.mark_verified(saved.id)
        there = await self._stored()
        if not any(one.id == saved.id and one.verified for one in there):
            return False  # somebody who has not heard of it has made room meanwhile
        if self._stored_up_to(there) > begun.position:
            return False  # or has stored what is behind it
        if is_past and await self._is_unwanted(generation.life):
            # It is of a later life than what runs, and would keep revisions from making room.
            await revisions.delete([saved.id])
            raise PastAbandonedError("something else is wanted")
        match await self._leadership.begin(generation):
            case Begun.STANDS:
                return True
            case Begun.UNKNOWN:
                # Going on with the old state might publish behind the new one's beginning.
                raise RestartReplicaError("whether the new state has begun is unknown")
            case Begun.REFUSED | Begun.NOT_NOW:
                return False

    async def _is_unwanted(self, life: Life) -> bool:
        """The store is asked, as word of it may still be on its way."""
        there = await self._site.world.store.deployments.get(self._site.name.app)
        return there is None or there.life != life

    async def _begin(
        self,
        wanted: Deployment,
        begun: AppEngine,
        contents: Contents,
        made: contextlib.AsyncExitStack,
    ) -> tuple[AppEngine, tuple[str, ...]]:
        """The wanted version behind the old state's position, with what fits of the first state
        that can be used; and what begins empty."""
        lost: tuple[str, ...] = ()
        async for found in self._states(wanted, contents):
            carried = structs.replace(contents, text=found.text, snapshot=found.snapshot)
            try:
                lost = await begun.take_over(self._running.engine, carried)
            except (SnapshotError, SiddhiQLError) as error:
                lost = (f"everything ({error.message})",)
                self._log.warning("a state does not fit", reason=error.message)
                await begun.close()
                begun = await self._fresh(wanted, made)
            else:
                if lost:
                    self._log.warning("a part of the state does not fit", lost=lost)
                return begun, lost
        self._log.warning("no state fits: the new version begins empty")
        begun.remember(contents)
        return begun, lost

    async def _states(self, wanted: Deployment, contents: Contents) -> AsyncIterator[Contents]:
        """Of the revision that is to be restored, if one is, then what is there now."""
        restoration = wanted.origin.restoration
        if restoration is not None and self._running.generation.life < restoration.life:
            try:
                store = self._site.world.store
                found = unseal(await store.revisions.load(restoration.revision))
                self._log.warning("restoring", revision=restoration.revision)
                yield found
            except (LookupError, EnvelopeError) as error:
                self._trouble.text = f"revision {restoration.revision} cannot be restored: {error}"
                self._log.error("not restored", revision=restoration.revision, error=str(error))
        yield contents

    async def _fresh(self, wanted: Deployment, made: contextlib.AsyncExitStack) -> AppEngine:
        engine, around = self._running.engine, self._site
        beside = around.make_offload(f"begin-{wanted.app}")
        try:
            fresh = await engine.successor(wanted.text, wanted.version, beside)
        finally:
            beside.close()
        return self._closing(fresh, made)


def _left_out(wanted: Deployment, position: Position) -> tuple[Position, ...]:
    """What was excluded and is to come."""
    return tuple(one.position for one in wanted.origin.exclusions if one.position > position)
