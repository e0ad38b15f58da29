"""One replica's life: begin from a revision, then fold, publish, lead, take revisions, upgrade.

Each of these is a loop of its own; when one fails the replica begins again from the newest revision
and the log, which gives the same state (design invariants 2 and 5).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Final

from lockstep.clock import Clock, done_before
from lockstep.control import FAILING, AppView, Gathering, GroupStatus, UnitFlow, UnitView
from lockstep.control.gathering import RowsForgottenError
from lockstep.events import Position, UnavailableError, describe
from lockstep.execute.contract import StateLostError
from lockstep.frame import run_side_by_side
from lockstep.leader.protocol import facts
from lockstep.store.rules import counts_for
from lockstep_services.processor.answer.answering import Answers
from lockstep_services.processor.answer.commands import Commands
from lockstep_services.processor.answer.writing import Writes
from lockstep_services.processor.fold.folding import FoldLoop
from lockstep_services.processor.lead.leadership import Leadership
from lockstep_services.processor.publish.following import FollowLoop
from lockstep_services.processor.publish.marking import MarkLoop
from lockstep_services.processor.publish.publishing import Publishing
from lockstep_services.processor.replica.replica import Replica
from lockstep_services.processor.replica.running import Running
from lockstep_services.processor.replica.site import Site, Surroundings, labels_of
from lockstep_services.processor.replica.standby import standby_of
from lockstep_services.processor.replica.standing import RestartReplicaError
from lockstep_services.processor.revise.basing import BaseLoop
from lockstep_services.processor.revise.beginning import begin
from lockstep_services.processor.revise.ending import EndLoop
from lockstep_services.processor.revise.pacing import RevisionPace
from lockstep_services.processor.revise.revisions import RevisionLoop
from lockstep_services.processor.revise.upgrading import UpgradeLoop
from lockstep_services.processor.revise.warming import WarmLoop

FLUSH_LIMIT_MS: Final = 10_000
HEARD_MS: Final = 300
HEARD_POLL_MS: Final = 20
LAST_REVISION_LIMIT_MS: Final = 2_000
"""Whoever waits for a unit to go waits for its last revision no longer."""


@dataclass(frozen=True, slots=True)
class Farewell:
    """What units of a process that go at a time share. `giving`: so many give their lead away at a
    time, and `saving`: so many take a last revision, none of which begins later than `until_ms`."""

    giving: asyncio.Semaphore
    saving: asyncio.Semaphore
    until_ms: int


class GroupRunner:
    """A replica of one (app, group, partition) on this node. `run` in one supervised task."""

    def __init__(
        self, around: Surroundings, view: AppView, nodes: tuple[str, ...], pace: RevisionPace
    ) -> None:
        self._around = around
        self._pace = pace
        self._name = name = view.log
        self._view = view
        self._nodes = nodes
        self._log = around.log.bind(**labels_of(name))
        self._replica: Replica | None = None
        self._publishing: Publishing | None = None
        self._leadership: Leadership | None = None
        self._fold: FoldLoop | None = None
        self._revisions: RevisionLoop | None = None
        self._is_leaving = False
        self._is_over = asyncio.Event()
        self._failure: str | None = None
        self._stood: tuple[Position, Position, int] = (0, 0, 0)
        """Position, the input log's end and epoch of the replica that ran last."""

    def carries(self, view: AppView) -> bool:
        """It is the same app, at whatever version; one that was undeployed since is another."""
        return self._view.is_of(view.deployment.life)

    def want(self, view: AppView, nodes: tuple[str, ...]) -> None:
        """The desired version and placement from now on."""
        self._view, self._nodes = view, nodes
        if self._replica is not None:
            wanted = self._replica.running.wanted
            wanted.change(view, nodes)

    def status(self) -> GroupStatus | None:
        """For heartbeats; None while it begins for the first time."""
        if self._replica is not None:
            return self._replica.status()
        return None if self._failure is None else self._failing(self._failure)

    def flow(self) -> UnitFlow | None:
        """What it lets through; None unless it leads."""
        replica = self._replica
        return replica.flow(self.channel_rows) if replica and replica.lead.is_active else None

    @property
    def channel_rows(self) -> int:
        """Rows of other units that wait to be folded."""
        return 0 if self._fold is None else self._fold.channel_rows

    def look_at_lease(self) -> None:
        """The lease may have become free just now."""
        if self._replica is not None:
            self._replica.lead.offer()

    async def run(self) -> None:
        """Until cancelled or drained; errors come out after everything was given back."""
        while not self._is_leaving:
            try:
                await self._live()
            except (RestartReplicaError, RowsForgottenError, StateLostError) as error:
                self._log.info("beginning again", why=str(error))
            except Exception as error:  # whoever supervises this begins it again
                self._failure = describe(error)
                raise

    async def drain(self, farewell: Farewell, *, is_gone: bool) -> None:
        """Publishes what is folded, then gives the lead away at once, unless that many do already.
        Does not begin again: a replica that fails meanwhile has given everything back, and is not
        waited for. `is_gone`: nobody goes on."""
        self._is_leaving = True
        giving_away = self._give(farewell, is_gone=is_gone)
        await done_before(giving_away, self._is_over.wait())

    async def _give(self, farewell: Farewell, *, is_gone: bool) -> None:
        replica, publishing = self._replica, self._publishing
        if replica is None or publishing is None or self._leadership is None:
            return
        rests = await self._comes_to_rest(replica)
        has_led = replica.lead.is_active
        async with farewell.giving:
            if not rests:
                slice_ms = replica.reach.folding_ms
                self._log.warning("given away in the middle of a slice", slice_ms=slice_ms)
            elif replica.lead.is_active and not await publishing.flush(FLUSH_LIMIT_MS):
                held = len(replica.running.engine.outbox)
                self._log.warning("not everything was published", held=held)
            await self._leadership.end()
        # Nobody waits for this process then.
        if rests and (
            has_led if is_gone else await _is_last(replica, self._revisions, self._around.clock)
        ):
            async with farewell.saving:
                await self._take_last(farewell.until_ms)

    async def _take_last(self, until_ms: int) -> None:
        """Where nobody goes on with the state; of several that go together, each that has it. For a
        while: without it the log is folded again."""
        clock = self._around.clock
        left_ms = min(LAST_REVISION_LIMIT_MS, until_ms - clock.monotonic_ms())
        if left_ms <= 0 or self._revisions is None:
            return
        if not self._revisions.is_quick(left_ms):
            self._log.info("no last revision taken: the one before took too long for a stop")
            return
        await done_before(self._revisions.take_last(), clock.sleep_ms(left_ms))

    async def _comes_to_rest(self, replica: Replica) -> bool:
        """No further slice; True when the one under way has ended. A function that does not return
        stops its own app only, so no slice is waited for that has run for long. What it gives comes
        after the lead has ended, and is not published here.
        """
        if self._fold is None:
            return True
        self._fold.pause()
        left_ms = max(0, FLUSH_LIMIT_MS - replica.reach.folding_ms)
        return await done_before(self._fold.at_rest(), self._around.clock.sleep_ms(left_ms))

    def _failing(self, why: str) -> GroupStatus:
        """That it is placed here and does not run: not ready, so nobody leaves anything to it."""
        name, deployment = self._name, self._view.deployment
        position, log_end, epoch = self._stood
        return GroupStatus(
            app=name.app,
            group=name.group,
            partition=name.partition,
            version=deployment.version,
            deployed_ms=deployment.life.deployed_ms,
            role=FAILING,
            position=position,
            log_end=max(log_end, position),
            epoch=epoch,
            trouble=f"it fails, and begins again: {why}",
            standby=standby_of(self._view, self._around.settings.processor),
            ended="its replica failed",
        )

    async def _live(self) -> None:
        offload = self._around.make_offload(f"fold-{self._name.app}")
        self._is_over.clear()
        try:
            replica = await begin(self._around, self._name, self._view, self._nodes, offload)
            try:
                await self._loops(replica)
            finally:
                self._replica = None
                engine, log_end = replica.running.engine, replica.reach.log_end
                self._stood = engine.position, log_end, replica.lead.epoch
                self._is_over.set()
                await replica.running.engine.close()
        finally:
            offload.close()

    async def _loops(self, replica: Replica) -> None:
        site, running, lead = replica.site, replica.running, replica.lead
        reach, published = replica.reach, replica.published
        channels = self._gathering(replica)
        fold = FoldLoop(site, running, lead, reach, published, channels)
        revisions = RevisionLoop(site, running, lead, reach, self._pace)
        writes = Writes(site)
        answers = Answers(site, running, writes, lambda command: commands.carry_out(command))
        publishing = Publishing(site, running, lead, published, replica.trouble)
        leadership = Leadership(
            replica,
            publishing,
            before_claim=self._prepare,
            on_begin=answers.open,
            on_end=answers.close,
        )
        upgrade = UpgradeLoop(replica, fold, publishing, revisions, leadership)
        commands = Commands(site, running, fold, publishing, leadership, revisions)
        follow = FollowLoop(replica, leadership.tell)
        warm = WarmLoop(site, running, lead, reach, published, fold, leadership.tell)
        basing = BaseLoop(site, running)
        loops = [EndLoop(replica, publishing, revisions).run, fold.keep]
        if isinstance(self._view, UnitView):
            loops.append(MarkLoop(site, running, lead, published).run)
        if channels is not None:
            loops.append(channels.run)
        fold.on_writes = writes.folded
        fold.on_rows = lambda up_to: leadership.tell(facts.RowsHeld(up_to))
        if (last := running.engine.outbox.last_id) is not None:
            leadership.tell(facts.RowsHeld(last))
        self._replica, self._fold, self._publishing = replica, fold, publishing
        self._revisions = revisions
        self._failure = None
        self._leadership, self._upgrade, self._warm = leadership, upgrade, warm
        engine = running.engine
        self._log.info("folding", position=engine.position, version=engine.version)
        try:
            await run_side_by_side(
                fold.run, publishing.bury, follow.run, leadership.run, revisions.run, upgrade.run,
                warm.run, commands.run, basing.run, *loops,
            )  # fmt: skip
        finally:
            await answers.close()
            await leadership.abandon()

    def _gathering(self, replica: Replica) -> Gathering | None:
        """What other units give this one to read."""
        view, site = self._view, replica.site
        if not isinstance(view, UnitView) or not view.upstream:
            return None
        return Gathering(
            site.world.bus,
            view.upstream,
            site.clock,
            after=replica.running.engine.position,
            max_rows=site.settings.processor.hold_back_max_outputs,
            streams=frozenset(feed.stream for feed in view.group.feeds),
            patience_ms=site.settings.processor.isolation_timeout_ms,
            open_log=site.readings.open_output,
            has_newer=partial(_has_newer, site, replica.running, replica.running.engine.position),
        )

    async def _prepare(self) -> None:
        """Before a claim: an empty state is made a revision, and a warm standby goes on from the
        newest one. UnavailableError: not with this state. Whether the app has gone over to another
        state meanwhile the output log tells, when it is read and when it takes the claim.
        """
        await self._upgrade.record_beginning()
        try:
            await self._warm.take_newest()
        except UnavailableError as error:
            self._log.warning("no newer revision", error=str(error))


def _goes_on(replica: Replica) -> bool:
    """Whether another replica is there that is not about to go, too."""
    others = replica.site.others()
    return any(not beat.draining and group.role != FAILING for beat, group in others)


async def _is_last(replica: Replica, revisions: RevisionLoop | None, clock: Clock) -> bool:
    """Whether nobody goes on. Who goes at the same time says so within a moment."""
    waited_ms = 0
    while _goes_on(replica):
        if waited_ms >= HEARD_MS or revisions is None or not revisions.has_more:
            return False
        await clock.sleep_ms(HEARD_POLL_MS)
        waited_ms += HEARD_POLL_MS
    return True


async def _has_newer(site: Site, running: Running, after: Position) -> bool:
    """A verified revision of this state: other units' logs may be trimmed for it."""
    there = await site.world.store.revisions.list(*site.name.key)
    state = running.generation
    return any(counts_for(one, state) and one.position > after for one in there)
