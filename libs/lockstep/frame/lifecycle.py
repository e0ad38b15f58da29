"""The life of a process: load settings → open the world → wire → open the door → run → drain →
stop.

One service per process (`run_service`) or several behind one door (`run_together`); the steps are
the same.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Any, TypeVar

import stamina

from lockstep.clock import Clock, Randomness, SystemClock, SystemRandomness
from lockstep.events import LockstepError, UnavailableError
from lockstep.frame.accounts import AccountBook
from lockstep.frame.audit import AuditTrail
from lockstep.frame.callers import Callers, Passwords
from lockstep.frame.context import Context, Service, Wire
from lockstep.frame.footprint import UNKNOWN, FootprintMeter
from lockstep.frame.garbage import Garbage
from lockstep.frame.health import Readiness, answering
from lockstep.frame.holders import HolderWatch
from lockstep.frame.loop import run
from lockstep.frame.offload import Offload, ThreadOffload
from lockstep.frame.openid import provider_of
from lockstep.frame.process_usage import ProcessUsage
from lockstep.frame.suite import OtherSuiteError, claim_leases
from lockstep.frame.tasks import Tasks, cancelled
from lockstep.frame.waiting import once_there
from lockstep.frame.web import Door
from lockstep.frame.world import World, open_world
from lockstep.leader.roll import LeaseRoll
from lockstep.plan import Plans
from lockstep.settings import Settings, SettingsError, load_settings
from lockstep.telemetry import (
    Logger,
    LogTail,
    Metrics,
    Traces,
    configure_logging,
    get_logger,
    open_traces,
)

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_SETTINGS = 2
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Running:
    """What `on_ready` is told: the door's address and the contexts by service name."""

    url: str
    contexts: dict[str, Context]


OnReady = Callable[[Running], None]


def run_service(name: str, wire: Wire, *, clock: Clock | None = None) -> int:
    """Runs one service until SIGTERM or SIGINT; gives the exit code."""
    try:
        settings = load_settings()
    except SettingsError as error:
        sys.stderr.write(f"{error}\n")
        return EXIT_SETTINGS
    clock = clock or SystemClock()
    telemetry = settings.telemetry
    tail = tail_of(settings)
    configure_logging(
        service=name, level=telemetry.log_level, log_format=telemetry.log_format, clock=clock,
        tail=tail,
    )  # fmt: skip
    try:
        run(_until_signalled([(name, wire)], settings, clock, tail))
    except LockstepError as error:
        get_logger().error("cannot run", error=str(error))
        return EXIT_FAILED
    return EXIT_OK


def tail_of(settings: Settings) -> LogTail:
    """What keeps a process's last log lines."""
    telemetry = settings.telemetry
    return LogTail(max_lines=telemetry.log_tail_lines, max_bytes=telemetry.log_tail_bytes)


async def run_together(
    services: Sequence[tuple[str, Wire]],
    settings: Settings,
    *,
    stop: asyncio.Event,
    clock: Clock | None = None,
    randomness: Randomness | None = None,
    on_ready: OnReady | None = None,
    tail: LogTail | None = None,
) -> None:
    """Runs services in this process behind one door until `stop` is set; then drains and stops.

    While they start, too: the start ends where it is, and what has started stops in good order.
    They share one connection to each server and one node name. Logging is the caller's, who passes
    the `tail` that keeps the last lines.
    """
    # Whoever tries again says so in its own log line.
    stamina.instrumentation.set_on_retry_hooks([])
    clock = clock or SystemClock()
    randomness = randomness or SystemRandomness()
    world = await _unless(stop, open_world(settings, clock, randomness))
    if world is None:
        return
    try:
        meter = FootprintMeter(clock, ThreadOffload("footprint"))
        process = Process(settings, world, clock, randomness, meter=meter, tail=tail)
        try:
            for name, wire in services:
                process.add(name, wire)
            await _unless(stop, process.start())
            if on_ready is not None and not stop.is_set():
                on_ready(process.running)
            await _first_of(stop.wait(), process.gave_up.wait())
        finally:
            await process.stop()
        if process.error is not None:
            raise process.error
    finally:
        await world.close()


class Process:
    """Wired services behind one door. `world` stays the caller's to close."""

    def __init__(
        self,
        settings: Settings,
        world: World,
        clock: Clock,
        randomness: Randomness,
        *,
        offload: Offload | None = None,
        make_door: Callable[..., Door] = Door,
        meter: FootprintMeter | None = None,
        tail: LogTail | None = None,
    ) -> None:
        self._meter = meter
        self._offload = offload or ThreadOffload("blocking")
        self._plans = Plans()
        self._settings = settings
        self._world = world
        self._clock = clock
        self._randomness = randomness
        self._metrics = Metrics()
        self._metrics.set("lockstep_process_start_time_seconds", clock.now_ms() / 1000)
        usage = ProcessUsage()
        self._metrics.look(lambda: usage.show(self._metrics))
        if world.strangers is not None:
            world.strangers.count = lambda why: self._metrics.count(
                "lockstep_control_unproven_total", why=why
            )
        self.node = settings.server.node or f"{socket.gethostname()}-{randomness.uuid_hex()[:6]}"
        self._log = get_logger(node=self.node)
        self._readiness = Readiness(self._log)
        if tail is not None:
            tail.count_lost = partial(self._metrics.count, "lockstep_log_lines_lost_total")
        rights = settings.rights
        self._accounts = AccountBook(world.store.accounts, clock, rights, self._log)
        self._hashing = offload or ThreadOffload("passwords")
        self._provider = provider_of(settings.oidc, clock, self._log)
        self._callers = Callers(
            settings.server.token.get_secret_value(),
            clock,
            self._accounts,
            Passwords(self._accounts, clock, randomness, rights, self._hashing),
            self._provider,
        )
        self._trail = AuditTrail(world.store.audit, clock, rights, self._metrics, self._log)
        self._door = make_door(
            settings.server, self._readiness, self._metrics, clock, self._log,
            max_body_bytes=settings.receiver.max_body_bytes, node=self.node,
            callers=self._callers, trail=self._trail, tail=tail,
        )  # fmt: skip
        self._accounts.looked.append(self._door.look_again)
        self._door.before_metrics = self._show_ready
        self._tasks = Tasks(clock, self._log)
        self._holders = HolderWatch(world.leases, clock, settings.leader, self._metrics, self._log)
        leader = settings.leader
        self._leases = LeaseRoll(
            world.leases, self.node, clock, self._log,
            ttl_ms=leader.lease_ttl_ms, ttl_max_ms=leader.lease_ttl_max_ms,
            renew_ms=leader.renew_ms, retry_ms=leader.retry_ms,
        )  # fmt: skip
        self._contexts: dict[str, Context] = {}
        self._services: list[tuple[str, Service]] = []
        self._started: list[tuple[str, Service]] = []
        self.error: LockstepError | None = None
        self.gave_up = asyncio.Event()
        self._readiness.spare("bus", answering(world.bus.healthy, "the bus"))
        self._readiness.spare("leases", answering(world.leases.healthy, "the lease server"))
        self._readiness.spare("store", answering(world.store.healthy, "the store"))

    @property
    def running(self) -> Running:
        """Address and contexts."""
        return Running(self._door.url, dict(self._contexts))

    def give_up(self, error: LockstepError) -> None:
        """Whoever runs this process shall stop it, and say why; the first error counts."""
        self.error = self.error or error
        self.gave_up.set()

    def add(self, name: str, wire: Wire) -> Service:
        """Wires a service; before `start` only."""
        log = get_logger(node=self.node, part=name)
        context = Context(
            service=name,
            node=self.node,
            settings=self._settings,
            clock=self._clock,
            randomness=self._randomness,
            world=self._world,
            holders=self._holders,
            leases=self._leases,
            router=self._door.application.router,
            describe=partial(self._door.describe, name),
            url=lambda: self._door.url,
            readiness=self._readiness,
            metrics=self._metrics,
            traces=self._traces_of(name),
            tasks=Tasks(self._clock, log),
            log=log,
            offload=self._offload,
            accounts=self._accounts,
            callers=self._callers,
            plans=self._plans,
            give_up=self.give_up,
            footprint=lambda: UNKNOWN if self._meter is None else self._meter.last,
        )
        service = wire(context)
        self._contexts[name] = context
        self._services.append((name, service))
        self._readiness.need(service.needs)
        return service

    def _traces_of(self, name: str) -> Traces:
        telemetry = self._settings.telemetry
        return open_traces(
            ratio=telemetry.trace_ratio, url=telemetry.otlp_url, service=name, node=self.node,
            clock=self._clock, randomness=self._randomness,
        )  # fmt: skip

    async def start(self) -> None:
        """Opens the door and starts the services in order; `stop` ends also what this could not, or
        what was cancelled."""
        await self._accounts.begin()
        await self._door.open()
        self._log.info("listening", url=self._door.url)
        self._tasks.supervise("accounts", self._accounts.run)
        self._tasks.supervise("audit", self._trail.run)
        if self._provider is not None:
            self._tasks.supervise("openid", self._provider.run)
        if self._meter is not None:
            self._tasks.supervise("footprint", self._meter.run)
        self._tasks.supervise("holders", self._holders.run)
        self._tasks.supervise("leases", self._leases.run)
        if self._world.suite:
            self._tasks.supervise("suite", self._claim_leases)
        for name, service in self._services:
            self._started.append((name, service))
            await once_there(
                f"a server that the {name} needs",
                partial(self._begin, name, service),
                self._clock,
            )
        self._readiness.open()
        for name, _ in self._services:
            self._metrics.set("lockstep_build_info", 1, service=name, version=version("lockstep"))
        self._log.info("ready", url=self._door.url, services=[name for name, _ in self._services])

    async def _claim_leases(self) -> None:
        """Once. A process whose lease server is another suite's ends."""
        try:
            await claim_leases(self._world.leases, self._world.suite, self._settings, self._clock)
        except OtherSuiteError as error:
            self.give_up(error)

    async def _show_ready(self) -> None:
        """As `/readyz` has it at this moment."""
        report = await self._readiness.report()
        is_ready = all(reason is None for reason in report.values())
        for name, _ in self._services:
            self._metrics.set("lockstep_ready", is_ready, service=name)

    async def _begin(self, name: str, service: Service) -> None:
        try:
            await service.start()
        except UnavailableError:
            await self._contexts[name].tasks.stop_all()
            raise

    async def stop(self) -> None:
        """Drains within the limit, stops in reverse order, closes the door; idempotent."""
        self._readiness.refuse("draining")
        started, self._started = self._started[::-1], []
        try:
            async with asyncio.timeout(self._settings.server.drain_timeout_ms / 1000):
                for name, service in started:
                    await self._step(name, "drain", service.drain)
        except TimeoutError:
            self._log.warning(
                "draining took too long", limit_ms=self._settings.server.drain_timeout_ms
            )
        for name, service in started:
            await self._contexts[name].tasks.stop_all()
            await self._step(name, "stop", service.stop)
            self._contexts[name].traces.end()
        for name, _ in started:  # they send side by side, so that their limits do not add up
            await self._offload.run(self._contexts[name].traces.close)
        await self.vanish()
        self._offload.close()
        self._hashing.close()

    async def vanish(self) -> None:
        """Closes the door and what tells that this process lives: the end of `stop`, or all there
        is after a crash."""
        await self._tasks.stop_all()
        await self._door.close()

    async def _step(self, name: str, what: str, work: Callable[[], Awaitable[None]]) -> None:
        """One service's trouble must not keep the others from ending well."""
        try:
            await work()
        except LockstepError as error:
            self._log.warning(f"{what} failed", part=name, error=str(error))
        except Exception:
            self._log.exception(f"{what} failed", part=name)


async def _until_signalled(
    services: Sequence[tuple[str, Wire]], settings: Settings, clock: Clock, tail: LogTail
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    log: Logger = get_logger()

    def asked(number: signal.Signals) -> None:
        stop.set()
        log.info("stopping", signal=number.name)

    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, asked, number)
    await run_together(
        services, settings, stop=stop, clock=clock, tail=tail,
        on_ready=lambda _: Garbage(clock).begin(),
    )  # fmt: skip


async def _first_of(*waits: Coroutine[None, None, object]) -> None:
    """Until one of them is over."""
    tasks = [asyncio.ensure_future(one) for one in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


async def _unless(stop: asyncio.Event, work: Coroutine[Any, Any, T]) -> T | None:
    """What the work gives; None when asked to stop before it was done: it has ended then."""
    doing, asked = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({doing, asked}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        asked.cancel()
        await cancelled([doing])
    if doing.cancelled() or (stop.is_set() and doing.exception() is not None):
        return None
    return doing.result()
