"""Asked to stop while it starts, a process ends the start and closes what it has opened."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from types import SimpleNamespace
from typing import ClassVar, NoReturn

import pytest

from lockstep.clock import SystemClock, VirtualClock, stopwatch_ns
from lockstep.events import LockstepError, UnavailableError
from lockstep.frame import Context, World, lifecycle, run_together, tasks
from lockstep.frame import world as frame_world
from lockstep.settings import Settings, load_settings
from lockstep.telemetry import LogTail, otel

PATIENCE_S = 60


class Well:
    """A service that starts at once. `said`: what all of them went through."""

    needs: ClassVar = frozenset[str]()
    said: ClassVar[list[str]] = []

    def __init__(self, _: Context) -> None:
        self.name = type(self).__name__.lower()

    async def start(self) -> None:
        """See Service."""
        self.said.append(f"{self.name} started")

    async def drain(self) -> None:
        """See Service."""
        self.said.append(f"{self.name} drained")

    async def stop(self) -> None:
        """See Service."""
        self.said.append(f"{self.name} stopped")


class Waiting(Well):
    """Its server does not answer."""

    tried: ClassVar[asyncio.Event]

    async def start(self) -> None:
        """See Service."""
        self.tried.set()
        raise UnavailableError("the store does not answer")


class Traced(Well):
    """It has a span to send."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._traces = context.traces

    async def start(self) -> None:
        """See Service."""
        with self._traces.root("receive"):
            await super().start()


class Broken(Well):
    """It cannot start."""

    async def start(self) -> None:
        """See Service."""
        raise LockstepError("broken")


@pytest.fixture
def settings() -> Settings:
    """Memory for everything."""
    Well.said, Waiting.tried = [], asyncio.Event()
    return load_settings(
        {f"LOCKSTEP_{each}__KIND": "memory" for each in ("BUS", "LEADER", "STORE")}
    )


async def test_a_server_that_a_service_waits_for_is_not_waited_for_any_more(
    settings: Settings,
) -> None:
    """However long the wait would be: this clock stands still."""
    stop = asyncio.Event()
    services = [("well", Well), ("waiting", Waiting)]
    async with asyncio.timeout(PATIENCE_S):
        running = asyncio.create_task(
            run_together(services, settings, stop=stop, clock=VirtualClock())
        )
        await Waiting.tried.wait()
        stop.set()
        await running
    assert Well.said == [
        "well started", "waiting drained", "well drained", "waiting stopped", "well stopped",
    ]  # fmt: skip
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_who_cannot_start_stops_in_order_and_says_why(settings: Settings) -> None:
    """Those before it are stopped, too."""
    with pytest.raises(LockstepError, match="broken"):
        await run_together(
            [("well", Well), ("broken", Broken)], settings, stop=asyncio.Event(),
            clock=SystemClock(),
        )  # fmt: skip
    assert Well.said == [
        "well started", "broken drained", "well drained", "broken stopped", "well stopped",
    ]  # fmt: skip
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_an_opening_that_loses_its_cancellation_ends(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked again."""
    began, lost = asyncio.Event(), []

    async def stubborn(*_: object) -> World:
        began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            lost.append("once")
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(lifecycle, "open_world", stubborn)
    monkeypatch.setattr(tasks, "CANCEL_AGAIN_S", 0.01)
    stop = asyncio.Event()
    async with asyncio.timeout(PATIENCE_S):
        running = asyncio.create_task(run_together([("well", Well)], settings, stop=stop))
        await began.wait()
        stop.set()
        await running
    assert lost == ["once"]
    assert Well.said == []


class Bus:
    """It notes that it is closed, which takes a moment."""

    is_closed = False

    async def close(self) -> None:
        """See Bus."""
        await asyncio.sleep(0)
        self.is_closed = True


@pytest.mark.parametrize("how", ["asked", "cancelled"])
async def test_servers_that_were_reached_are_left_when_others_do_not_answer(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Before the process ends."""
    bus, waiting, stop = Bus(), asyncio.Event(), asyncio.Event()

    async def open_bus(*_: object, **__: object) -> Bus:
        return bus

    async def open_store(_: Settings) -> None:
        waiting.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(frame_world, "open_bus", open_bus)
    monkeypatch.setattr(frame_world, "open_store", open_store)
    async with asyncio.timeout(PATIENCE_S):
        running = asyncio.create_task(run_together([("well", Well)], settings, stop=stop))
        await waiting.wait()
        if how == "asked":
            stop.set()
        else:
            running.cancel()
        await asyncio.wait([running])
    assert bus.is_closed
    assert running.cancelled() is (how == "cancelled")
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_signal_stops_a_process_that_cannot_tell_it(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end comes first, the line after it."""
    waiting = asyncio.Event()

    async def serve(*_: object, stop: asyncio.Event, **__: object) -> None:
        waiting.set()
        await stop.wait()

    def full(*_: object, **__: object) -> NoReturn:
        raise OSError("no room")

    monkeypatch.setattr(lifecycle, "run_together", serve)
    monkeypatch.setattr(lifecycle, "get_logger", lambda: SimpleNamespace(info=full))
    tail = LogTail(max_lines=1, max_bytes=1)
    async with asyncio.timeout(PATIENCE_S):
        running = asyncio.create_task(lifecycle._until_signalled([], settings, SystemClock(), tail))
        await waiting.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        await running


async def test_a_collector_that_hangs_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not once for each service of the process."""
    monkeypatch.setattr(otel, "CLOSE_LIMIT_S", 0.5)
    stop, Well.said = asyncio.Event(), []
    with socket.create_server(("127.0.0.1", 0)) as collector:
        settings = load_settings(
            {
                **{f"LOCKSTEP_{each}__KIND": "memory" for each in ("BUS", "LEADER", "STORE")},
                "LOCKSTEP_TELEMETRY__TRACE_RATIO": "1",
                "LOCKSTEP_TELEMETRY__OTLP_URL": f"http://127.0.0.1:{collector.getsockname()[1]}/",
            }
        )
        times_ns: list[int] = []

        class Last(Traced):
            async def stop(self) -> None:
                """See Service. The one that starts last stops first."""
                times_ns.append(stopwatch_ns())
                await super().stop()

        services = [*((f"traced-{number}", Traced) for number in range(5)), ("last", Last)]
        async with asyncio.timeout(PATIENCE_S):
            await run_together(services, settings, stop=stop, on_ready=lambda _: stop.set())
        assert stopwatch_ns() - times_ns[0] < 2_000_000_000
    assert len(Well.said) == 18
