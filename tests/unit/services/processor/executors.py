"""Executors that say what becomes of them."""

from __future__ import annotations

import asyncio
import threading

from lockstep.execute.contract import Executor
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.operators.errors import SnapshotError
from lockstep.plan import AppPlan
from lockstep.telemetry import Logger


class Executors:
    """Those that were made, and how they fare."""

    def __init__(self) -> None:
        self.made: list[Counted] = []
        self.closed: list[Counted] = []
        self.logs: list[Logger] = []
        self.refuses = 0
        self.may_be_made, self.may_restore = threading.Event(), threading.Event()
        self.may_be_made.set()
        self.may_restore.set()

    def make(self, plan: AppPlan, log: Logger) -> Executor:
        """Blocking, as long as none may be made."""
        assert self.may_be_made.wait(10)
        self.logs.append(log)
        self.made.append(Counted(plan, self))
        return self.made[-1]

    async def until_made(self, number: int) -> None:
        """So many were made, on another thread."""
        async with asyncio.timeout(10):
            while len(self.made) < number:
                await asyncio.sleep(0.005)

    @property
    def left(self) -> int:
        """How many are open."""
        assert len(set(self.closed)) == len(self.closed), "one was closed twice"
        return len(self.made) - len(self.closed)


class Counted(ReferenceExecutor):
    """Says when it is closed."""

    def __init__(self, plan: AppPlan, all_: Executors) -> None:
        super().__init__(plan, dedup_ids_max=10)
        self._all = all_

    def restore(self, snapshot: bytes | memoryview) -> None:
        """As many as are told to refuse it."""
        assert self._all.may_restore.wait(10)
        if self._all.refuses:
            self._all.refuses -= 1
            raise SnapshotError("does not fit", hint="make it fit")
        super().restore(snapshot)

    def close(self) -> None:
        """Counted."""
        self._all.closed.append(self)
