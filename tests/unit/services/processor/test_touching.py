"""A state that lives elsewhere is touched before it is taken for forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, TypeVar

from lockstep.clock import VirtualClock
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.plan import Plans, plan_of
from lockstep.settings import load_settings
from lockstep_services.processor.fold.folding import TOUCH_EVERY_MS, FoldLoop
from lockstep_services.processor.state.engine import AppEngine, Engines

T = TypeVar("T")


class Engine:
    """Counts touches."""

    def __init__(self) -> None:
        self.touched = 0

    async def touch(self) -> None:
        """One more."""
        self.touched += 1


def fold_loop(clock: VirtualClock, engine: Engine, *, may_fold: bool = True) -> FoldLoop:
    """Of a replica that has nothing else."""
    nothing: Any = None
    site: Any = SimpleNamespace(settings=load_settings({}), clock=clock)
    running: Any = SimpleNamespace(engine=engine, wanted=SimpleNamespace(view=None))
    reach: Any = SimpleNamespace(may_fold=may_fold)
    return FoldLoop(site, running, nothing, reach, nothing)


async def test_an_idle_state_is_touched_again_and_again() -> None:
    """Once each time that long has passed, not sooner."""
    clock, engine = VirtualClock(0), Engine()
    loop = fold_loop(clock, engine)
    for count in range(3):
        await loop.touch()
        assert engine.touched == count
        await clock.advance_ms(TOUCH_EVERY_MS - 1)
        await loop.touch()
        assert engine.touched == count
        await clock.advance_ms(1)
        await loop.touch()
        assert engine.touched == count + 1


async def test_nobody_touches_what_is_paused_or_folds_nothing() -> None:
    """The state may just be replaced, or there is none to speak of; afterwards at once."""
    clock, engine = VirtualClock(0), Engine()
    warm, paused = fold_loop(clock, engine, may_fold=False), fold_loop(clock, engine)
    paused.pause()
    await clock.advance_ms(TOUCH_EVERY_MS)
    await warm.touch()
    await paused.touch()
    assert engine.touched == 0
    paused.resume()
    await paused.touch()
    assert engine.touched == 1


async def test_whoever_keeps_a_state_touches_it_however_long_its_reader_waits() -> None:
    """Well within the minute after which Spark ends an idle worker."""
    clock, engine = VirtualClock(0), Engine()
    keeping = asyncio.create_task(fold_loop(clock, engine).keep())
    for count in range(1, 4):
        await clock.advance_ms(TOUCH_EVERY_MS)
        assert engine.touched == count
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)


class Elsewhere(ReferenceExecutor):
    """Whose worker others use, or forget."""

    forgotten = False
    touches = 0

    def is_forgotten(self) -> bool:
        """As it is told."""
        return self.forgotten

    def touch(self) -> None:
        """Counted."""
        self.touches += 1


class Threads:
    """Runs work at once, and counts it."""

    def __init__(self) -> None:
        self.runs = 0

    async def run(self, work: Callable[[], T]) -> T:
        """See Offload."""
        self.runs += 1
        return work()

    def close(self) -> None:
        """Nothing to close."""


async def test_a_thread_is_taken_only_for_what_is_forgotten() -> None:
    """All states of a worker live as long as anybody asks it for something: a thousand quiet apps
    need no thread to find that out."""
    plan, threads = plan_of("define stream S (a int); from S select a insert into T;"), Threads()
    executor = Elsewhere(plan)
    engines = Engines(Plans(), lambda *_: executor, 10)
    engine = AppEngine(plan, "v", executor, threads, 0, engines)
    await engine.touch()
    assert (executor.touches, threads.runs) == (0, 0)
    executor.forgotten = True
    await engine.touch()
    assert (executor.touches, threads.runs) == (1, 1)
