"""An app in execution: the executor on its own thread, and the outbox that belongs to its state.

Folding, snapshots and questions exclude one another, so that a snapshot and the held-back rows
taken with it belong to the same position.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import structs

from lockstep.control import AppView, UnitView
from lockstep.events import Position
from lockstep.events.codec import EncodedEntry
from lockstep.events.outputs import RowsOfColumns, in_columns
from lockstep.execute.contract import (
    CountsRows,
    EventFault,
    Executor,
    LivesElsewhere,
    LooksAhead,
    QueryWork,
    SliceResult,
    TakesBases,
    TellsWork,
)
from lockstep.execute.sends import SendMemory
from lockstep.execute.sieve import Sieved, sieve
from lockstep.execute.succession import Succeeded, succeed
from lockstep.execute.undoing import UNFOLDABLE, whole, without
from lockstep.fleet.units import Unit
from lockstep.frame import Offload
from lockstep.operators.errors import SnapshotError
from lockstep.operators.state import moved
from lockstep.plan import AppPlan, Plans
from lockstep.telemetry import Logger, get_logger
from lockstep_services.processor.state.envelope import Contents
from lockstep_services.processor.state.making import Making
from lockstep_services.processor.state.outbox import Outbox
from lockstep_services.processor.state.poison import (
    DEFAULT_POISON_LIMIT,
    PoisonCount,
    PoisonLimit,
)
from lockstep_services.processor.state.unit_fold import UnitFold, unit_fold

MakeExecutor = Callable[[AppPlan, Logger], Executor]
"""Builds an executor of an app, whose lines go to the log; blocking."""


@dataclass(frozen=True, slots=True)
class Engines:
    """Makes engines. `max_sends`: how many sends one remembers that begins without a state. `log`:
    bears of which unit they are."""

    plans: Plans
    make_executor: MakeExecutor
    max_sends: int
    poison: PoisonLimit = DEFAULT_POISON_LIMIT
    log: Logger = field(default_factory=get_logger)

    async def make(
        self,
        text: str,
        version: str,
        offload: Offload,
        *,
        origin: Position,
        view: AppView | None = None,
    ) -> AppEngine:
        """A fresh engine that begins behind `origin`; SiddhiQLError, UnavailableError. `view`: of
        which unit of a fleet, if it is one."""
        plan = await offload.run(lambda: self.plans.of(text))
        unit = None
        if isinstance(view, UnitView):
            unit = await offload.run(lambda: unit_fold(view, self.plans))
        making = Making(lambda: self.make_executor(plan, self.log))
        try:
            executor = await offload.run(making.make)
        except BaseException:  # a cancelled call leaves its thread at work
            making.give_up()
            raise
        return AppEngine(plan, version, executor, offload, origin, self, unit)


@dataclass(frozen=True, slots=True)
class Folded:
    """A slice's result, how many events it folded, and how many were there before."""

    result: SliceResult
    events: int
    repeated: int


class AppEngine:
    """One version of an app. `position` is the last folded position, `origin` before the first.

    `left_out`: positions behind it that are folded without their events. `unfoldable`: the next
    position, which ends whatever folds it: nothing is folded until it has been decided about.
    """

    def __init__(
        self,
        plan: AppPlan,
        version: str,
        executor: Executor,
        offload: Offload,
        origin: Position,
        engines: Engines,
        unit: UnitFold | None = None,
    ) -> None:
        self.plan = plan
        self._unit = unit
        self.version = version
        self.outbox = Outbox()
        self.sends = SendMemory(engines.max_sends)
        self.next_due_ms: int | None = None
        self._engines = engines
        self._executor = executor
        # Asked in every heartbeat or slice, and finding out what an executor can do takes long.
        self._counting = executor if isinstance(executor, CountsRows) else None
        self._looking = executor if isinstance(executor, LooksAhead) else None
        self._telling = executor if isinstance(executor, TellsWork) else None
        self._offload = offload
        self._origin = origin
        self._lock = asyncio.Lock()
        self.poison = PoisonCount(engines.poison)
        self.left_out: tuple[Position, ...] = ()
        self.unfoldable: Position | None = None

    async def successor(self, text: str, version: str, beside: Offload) -> AppEngine:
        """A fresh engine of another version where this one stands, on the same thread; made on
        another one, `beside`, so that this one folds on.
        """
        engine = await self._engines.make(text, version, beside, origin=self.position)
        engine._offload = self._offload
        return engine

    @property
    def unit(self) -> Unit | None:
        """Which unit of a fleet it is, if it is one."""
        return None if self._unit is None else self._unit.unit

    @property
    def position(self) -> Position:
        return max(self._origin, self._executor.position)

    @property
    def has_started(self) -> bool:
        """It has folded something."""
        return self._executor.position > 0

    async def fold(
        self,
        entries: Sequence[EncodedEntry],
        upstream: Sequence[RowsOfColumns] = (),
        following: Sequence[EncodedEntry] = (),
    ) -> Folded:
        """Folds entries; their outputs are in the outbox when it returns. `upstream`: the rows of
        their positions of each other unit that this one reads. `following`: what is folded next,
        unless something else comes; it may be made ready meanwhile."""
        async with self._lock:
            # What a unit folds of them hangs on rows that are not there yet.
            if self._looking is not None and self._unit is None and not self.left_out:
                self._looking.expect(following)
            sieved, result = await self._offload.run(lambda: self._fold(entries, upstream))
            self.next_due_ms = result.next_due_ms
            self.poison.take(result)
            self.unfoldable = result.unfoldable
            refused = sieved.faults
            if result.has_rest:
                self.sends.go_back(result.position)
                refused = [each for each in refused if each.position <= result.position]
            self.outbox.add(result.position, result.rows, _merged(refused, result.faults))
            return Folded(result, sieved.events, sieved.repeated)

    def _fold(
        self, entries: Sequence[EncodedEntry], upstream: Sequence[RowsOfColumns]
    ) -> tuple[Sieved, SliceResult]:
        unit = self._unit
        if unit is not None:
            sieved = sieve(entries, unit.unit.plan.fleet.app.schemas, self.sends)
            merged = unit.entries(sieved.entries, upstream)
            result = unit.placed(self._run(merged.entries), merged)
            return replace(sieved, faults=unit.reported(sieved.faults)), result
        sieved = sieve(entries, self.plan.schemas, self.sends)
        result = self._run(sieved.entries)
        # Rows that are no columns yet become columns here, not on the event loop.
        return sieved, replace(result, rows=in_columns(result.rows, self.plan.schemas))

    def _run(self, entries: Sequence[EncodedEntry]) -> SliceResult:
        if not self.left_out:
            return self._executor.run_encoded(entries)
        kept, faults = without(entries, self.left_out)
        result = self._executor.run_encoded(kept)
        self.left_out = tuple(each for each in self.left_out if each > result.position)
        return whole([result], [each for each in faults if each.position <= result.position])

    @property
    def stopped(self) -> str | None:
        """Why it folds nothing more, for people."""
        if self.unfoldable is None:
            return self.poison.stopped
        return (
            f"cannot fold position {self.unfoldable}: {UNFOLDABLE}. A coordinator decides that it "
            "is set aside"
        )

    async def contents(self) -> tuple[Position, Contents]:
        """The position and all that a revision of it holds."""
        async with self._lock:
            snapshot = await self._offload.run(self._executor.snapshot)
            outbox = self.outbox
            contents = Contents(
                self.plan.text, snapshot, outbox.rows(), outbox.faults(), self.sends.snapshot(),
                self.left_out,
            )  # fmt: skip
            return self.position, contents

    async def restore(self, position: Position, contents: Contents) -> None:
        """Takes over a revision of this text (or one that fits); SnapshotError when it does not."""
        async with self._lock:
            self.next_due_ms = await self._offload.run(
                lambda: _restored(self._executor, contents.snapshot)
            )
            if self._unit is not None:
                self._unit.merger.clock_ms = None
            self._origin, self.unfoldable = position, None
            self.poison = PoisonCount(self._engines.poison)
            self.outbox = Outbox()
            self.outbox.add(position, contents.rows, contents.faults)
            self.remember(contents)

    async def go_on_as(self, old: AppEngine, *, same_log: bool) -> None:
        """Takes another engine's place at its position, whatever this one has folded: behind that
        it folds the same log, on the same thread. `same_log`: it has folded that up to there, so it
        may know of more sends than the other one."""
        if self._executor.position > old.position:
            _, contents = await self.contents()
            snapshot = moved(contents.snapshot, old.position)
            await self.restore(old.position, structs.replace(contents, snapshot=snapshot))
        if not same_log or len(old.sends) >= len(self.sends):
            sends = old.sends.snapshot()
            self.sends = SendMemory.restored(sends, default_limit=self._engines.max_sends)
        self._origin, self._offload = old.position, old._offload
        self.poison = PoisonCount(self._engines.poison)

    async def take_over(self, old: AppEngine, contents: Contents) -> tuple[str, ...]:
        """Goes on where another engine stands, with what fits of its state or an earlier one, whose
        rows are published; gives what does not fit and begins empty. SnapshotError, SiddhiQLError.
        """
        succeeded = await self._offload.run(lambda: self._succeed(contents))
        fitting = structs.replace(
            contents, text=self.plan.text, snapshot=succeeded.snapshot, rows=(), faults=()
        )
        await self.restore(old.position, fitting)
        if self.position > old.position:
            raise SnapshotError(f"it has folded up to {self.position}, the app to {old.position}")
        return succeeded.lost

    def _succeed(self, contents: Contents) -> Succeeded:
        return succeed(self._engines.plans.of(contents.text), contents.snapshot, self.plan)

    async def touch(self) -> None:
        """Where the state is it stays, though nothing is folded; StateLostError."""
        executor = self._executor
        if isinstance(executor, LivesElsewhere):
            async with self._lock:
                # Hardly ever: a thread for each of a thousand quiet apps would cost more than all
                # else that they do.
                if executor.is_forgotten():
                    await self._offload.run(executor.touch)

    @property
    def state_rows(self) -> int:
        """How much the executor holds, as far as it counts."""
        return 0 if self._counting is None else self._counting.state_rows

    def take_work(self) -> QueryWork:
        """What its queries did since the last call, as far as the executor tells."""
        return {} if self._telling is None else self._telling.take_work()

    @property
    def base_bytes(self) -> int:
        """What the executor keeps to rebuild a lost state from."""
        return self._executor.base_bytes if isinstance(self._executor, TakesBases) else 0

    async def rebase(self, contents: Contents) -> None:
        """A revision of what this engine has folded: a lost state is rebuilt from it."""
        async with self._lock:
            if isinstance(self._executor, TakesBases):
                self._executor.rebase(contents.snapshot)

    def remember(self, contents: Contents) -> None:
        """Takes over which sends the log has brought up to a revision, and what is left out."""
        self.left_out = contents.left_out
        self.sends = SendMemory.restored(contents.sends, default_limit=self._engines.max_sends)

    async def on_demand(self, text: str) -> tuple[Position, list[tuple[Any, ...]]]:
        """An on-demand query's rows and the position they hold for; SiddhiQLError."""
        async with self._lock:
            rows = await self._offload.run(lambda: self._executor.on_demand(text))
            return self.position, rows

    async def close(self) -> None:
        """Gives the executor back; what still runs in it is waited for by nobody, and goes then."""
        self._executor.close()


def _restored(executor: Executor, snapshot: bytes | memoryview) -> int | None:
    """Takes over a snapshot; when a timer of it is due. An app in which nothing happens gets no
    slice that would tell, and its windows, absences and triggers would wait for ever."""
    executor.restore(snapshot)
    return executor.run_encoded(()).next_due_ms


def _merged(sieved: Sequence[EventFault], folded: Sequence[EventFault]) -> tuple[EventFault, ...]:
    return tuple(sorted([*sieved, *folded], key=lambda fault: fault.position))
