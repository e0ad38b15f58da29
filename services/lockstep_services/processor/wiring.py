"""Builds the processor from its context: a runner for every app that is placed on this node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from lockstep.control import (
    Beating,
    Catalogue,
    FlowTold,
    GroupStatus,
    HeartbeatWatch,
    answer_flows,
    place_of,
)
from lockstep.execute.contract import Executor
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.frame import Context, HostCpu, Service, SharedThreads, all_of
from lockstep.functions.geo import addresses
from lockstep.operators.limits import Limits, put_in_force
from lockstep.plan import AppPlan
from lockstep.settings import LimitsSettings, Settings
from lockstep.telemetry import Logger
from lockstep_services.processor.contact import Contact
from lockstep_services.processor.lead.leasing import LEASE_NUDGE
from lockstep_services.processor.presence import Presence
from lockstep_services.processor.replica.hearing import LogHearing
from lockstep_services.processor.replica.looking import LookPace
from lockstep_services.processor.replica.reading import SharedReadings
from lockstep_services.processor.replica.site import MakeOffload, Surroundings, labels_of
from lockstep_services.processor.revise.pacing import RevisionPace
from lockstep_services.processor.runner import Farewell, GroupRunner
from lockstep_services.processor.showing import show
from lockstep_services.processor.state.engine import Engines, MakeExecutor
from lockstep_services.processor.state.poison import PoisonLimit

if TYPE_CHECKING:
    from lockstep_services.processor.state.spark import SparkExecutors

HEAP_EVERY_MS: Final = 10_000
GIVE_AT_A_TIME: Final = 32
SAVE_AT_A_TIME: Final = 4
"""So many leads are given away at a time: each is a request to the lease server, on a connection of
its own."""

LAST_REVISIONS_MS: Final = 5_000
"""All units that go at a time begin their last revisions within that: a thousand would hold up the
stop of a process."""


class Processor:
    """All replicas of this node. `spark` is what executors share, where they share something."""

    needs: ClassVar = frozenset({"bus"})

    def __init__(
        self,
        context: Context,
        make_executor: MakeExecutor,
        make_offload: MakeOffload,
        spark: SparkExecutors | None = None,
        cpu_percent: Callable[[], int] = lambda: 0,
    ) -> None:
        settings, bus = context.settings, context.world.bus
        self._spark = spark
        self._context = context
        self._catalogue = Catalogue.of(context)
        self._beating = Beating(context, groups=self._statuses, cpu_percent=cpu_percent)
        self._watch = HeartbeatWatch(
            bus.topics, context.clock, context.log,
            max_retry=settings.coordinator.heartbeat_max_retry, said=self._beating.said,
        )  # fmt: skip
        self._presence = Presence(
            context, self._beating, lambda: self._watch.heard(context.service, context.node)
        )
        self._contact = Contact(
            self._reaches_anybody, context.clock, context.log,
            limit_ms=settings.processor.isolation_timeout_ms,
            on_lost=self._let_go, on_back=self._assign,
        )  # fmt: skip
        self._assigning = asyncio.Lock()
        engines = Engines(
            context.plans, make_executor, settings.processor.dedup_max_ids,
            PoisonLimit(settings.limits.stop_after, settings.limits.stop_within_positions),
            context.log,
        )  # fmt: skip
        self._leases = context.leases
        self._hearing = LogHearing(
            bus.healthy, context.clock, ask_after_ms=settings.leader.lease_ttl_ms
        )
        readings = SharedReadings(bus, context.clock, settings.processor.shared_input_max_bytes)
        self._around = Surroundings(
            context.node, context.world, context.holders, settings, context.clock,
            context.randomness, context.metrics, context.traces, context.log, self._watch,
            self._beating, engines, make_offload, self._leases, self._hearing, readings,
            LookPace(),
        )  # fmt: skip
        self._pace = RevisionPace()
        self._runners: dict[str, GroupRunner] = {}
        self._giving = asyncio.Semaphore(GIVE_AT_A_TIME)
        self._saving = asyncio.Semaphore(SAVE_AT_A_TIME)
        context.metrics.look(self._show)

    async def start(self) -> None:
        """Knows the apps, then carries those placed here. NodeTakenError."""
        await self._presence.take()
        if self._spark is not None:
            await asyncio.to_thread(self._spark.open)
        await self._catalogue.refresh()
        tasks = self._context.tasks
        self._catalogue.start(tasks)
        tasks.supervise("heartbeats", self._watch.run)
        tasks.supervise("heartbeat", self._beating.run)
        tasks.supervise("presence", self._presence.mind)
        tasks.supervise("contact", self._contact.run)
        tasks.supervise("lease-nudges", self._hear_nudges)
        tasks.supervise("hearing", self._hearing.run)
        tasks.supervise("assignments", self._follow)
        told = partial(flows_told, self._runners)
        topics, node = self._context.world.bus.topics, self._context.node
        tasks.supervise("flows", partial(answer_flows, topics, self._context.service, node, told))
        if self._spark is not None:
            tasks.supervise("heap", partial(self._show_heap, self._spark))

    async def drain(self) -> None:
        """Gives every lead away; a standby takes over without waiting for the lease to run out."""
        await self._context.tasks.stop("assignments")
        await self._context.tasks.stop("contact")
        await self._beating.leave()
        await self._presence.leave()
        farewell = self._farewell()
        await all_of(self._end(key, farewell, is_gone=False) for key in self._runners)

    async def stop(self) -> None:
        """Says goodbye."""
        await self._beating.farewell()
        if self._spark is not None:
            await asyncio.to_thread(self._spark.close)

    async def _follow(self) -> None:
        await self._catalogue.follow(self._assign)

    async def _assign(self) -> None:
        async with self._assigning:
            if not self._contact.is_lost:
                await self._carry()

    async def _carry(self) -> None:
        units = {
            unit.key: unit for view in self._catalogue.views for unit in (*view.former, *view.units)
        }
        mine = {key for key in units if self._context.node in self._catalogue.nodes(key)}
        farewell = self._farewell()
        await all_of(
            self._end(key, farewell, is_gone=not (key in units and one.carries(units[key])))
            for key, one in self._runners.items()
            if key not in mine or not one.carries(units[key])
        )
        for key in sorted(mine):
            view, nodes = units[key], self._catalogue.nodes(key)
            runner = self._runners.get(key)
            if runner is not None:
                runner.want(view, nodes)
                continue
            runner = self._runners[key] = GroupRunner(self._around, view, nodes, self._pace)
            self._context.tasks.supervise(f"replica-{key}", runner.run, **labels_of(view.log))

    async def _reaches_anybody(self) -> bool:
        if self._watch.alive("coordinator"):
            return True
        silent_ms = self._context.clock.monotonic_ms() - self._leases.contact_ms
        asked_lately = silent_ms < self._context.settings.leader.lease_ttl_ms
        return asked_lately or await self._context.world.leases.healthy()

    async def _let_go(self) -> None:
        """Stops all units where they are: nobody can be told, and what they hold is elsewhere."""
        async with self._assigning:
            await all_of(map(self._stop_unit, self._runners))

    def _farewell(self) -> Farewell:
        until_ms = self._context.clock.monotonic_ms() + LAST_REVISIONS_MS
        return Farewell(self._giving, self._saving, until_ms)

    async def _end(self, key: str, farewell: Farewell, *, is_gone: bool) -> None:
        try:
            await self._runners[key].drain(farewell, is_gone=is_gone)
        finally:  # whatever could not be given away: it does not go on here
            await self._stop_unit(key)
        await self._context.world.bus.topics.publish(LEASE_NUDGE, key.encode())
        await self._beating.say()

    async def _stop_unit(self, key: str) -> None:
        async with self._giving:  # it may give a lease back, too
            await self._context.tasks.stop(f"replica-{key}")
        if self._runners.pop(key, None) is not None:
            name = place_of(key)
            self._context.metrics.forget_all(
                "lockstep_", app=name.app, group=name.group, partition=name.partition
            )

    async def _hear_nudges(self) -> None:
        subscription = await self._context.world.bus.topics.subscribe(LEASE_NUDGE)
        try:
            async for _, payload in subscription:
                runner = self._runners.get(payload.decode(errors="replace"))
                if runner is not None:
                    runner.look_at_lease()
        finally:
            await subscription.close()

    def _statuses(self) -> tuple[GroupStatus, ...]:
        found = (runner.status() for runner in self._runners.values())
        return tuple(status for status in found if status is not None)

    async def _show_heap(self, spark: SparkExecutors) -> None:
        while True:
            await asyncio.to_thread(spark.show_heap)
            await self._context.clock.sleep_ms(HEAP_EVERY_MS)

    def _show(self) -> None:
        most = self._context.settings.processor.state_max_rows
        self._context.metrics.set("lockstep_processor_state_max_rows", most)
        found = ((runner.status(), runner.channel_rows) for runner in self._runners.values())
        show(self._context.metrics, ((s, rows) for s, rows in found if s is not None))


def wire(context: Context) -> Service:
    """The processor."""
    settings = context.settings
    put_in_force(limits_of(settings.limits))
    addresses.put_in_force(settings.places.folder)
    threads = SharedThreads(settings.processor.max_threads)
    if settings.processor.executor == "reference":
        make = partial(make_reference, settings)
        return Processor(context, make, threads.offload, cpu_percent=HostCpu().percent)
    # PySpark is a heavy import, and no business of processors that run without it.
    from lockstep_services.processor.state.spark import SparkExecutors

    spark = SparkExecutors(settings, context.metrics, context.log)
    return Processor(context, spark.make, threads.offload, spark, HostCpu().percent)


async def flows_told(runners: Mapping[str, GroupRunner], app: str) -> FlowTold:
    """What the units of an app let through that are led here."""
    found = (one.flow() for key, one in runners.items() if place_of(key).app == app)
    return FlowTold(units=tuple(one for one in found if one is not None))


def limits_of(settings: LimitsSettings) -> Limits:
    """What an event may bring."""
    return Limits(
        settings.event_rows,
        settings.feedback_depth,
        settings.function_steps,
        settings.value_size,
        settings.group_rows,
        settings.function_bytes,
    )


def make_reference(settings: Settings, plan: AppPlan, _log: Logger) -> Executor:
    """An executor in this process."""
    return ReferenceExecutor(plan, dedup_ids_max=settings.processor.dedup_max_ids)
